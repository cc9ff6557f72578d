"""The extension inside Sphinx: quoted numbers and tables, and what stops a strict build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpbayes.cli import main
from tests.tiny_notebooks import write_tiny

EXTENSION = Path(__file__).parents[2] / "book" / "_ext"


def sphinx(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-b", "html"]
    return subprocess.run(
        [*command, "book", "site"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(EXTENSION), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def page(project: Path, name: str = "index") -> str:
    return (project / "site" / f"{name}.html").read_text(encoding="utf-8")


QUOTED = '<span class="result" data-quote="part/tiny::double:d">'


def test_pages_follow_the_results_they_quote(project: Path) -> None:
    first = sphinx(project)
    assert first.returncode == 0, first.stderr
    assert "run part/tiny: it has not been run yet" in first.stdout
    assert f"Twice n is {QUOTED}6</span>" in page(project)
    assert "Table 1" in page(project)
    assert "a third of its square" in page(project)
    assert "1.33" in page(project)
    assert page(project).count("squares.csv") >= 1
    assert "Parameters of this run" in page(project, "results/part/tiny")
    assert list((project / "site/_downloads").rglob("provenance.json"))

    (project / "parameters.yml").write_text("part/tiny: {n: 4}\n")
    second = sphinx(project)
    assert second.returncode == 0, second.stderr
    assert "run part/tiny: parameter n: 3 -> 4" in second.stdout
    assert f"Twice n is {QUOTED}8</span>" in page(project)
    assert "3.00" in page(project)


STATING = """
figure = __import__('matplotlib.figure').figure.Figure()
record.figure('d', figure, 'a blank', f'Drawn for $n$ = {n}.')
record.finding('even', n % 2 == 0, true='$n$ is even: {n}.', false='$n$ is odd: {n}.', n=n)
"""


def test_findings_and_captions_follow_the_parameters(project: Path) -> None:
    write_tiny(project / "notebooks", "part/tiny", *STATING.strip().splitlines())
    quoting = "# A book\n\nSo: {finding}`part/tiny::even` See {numref}`fig-tiny`.\n"
    toctree = "```{toctree}\nresults/part/tiny\n```\n"
    (project / "book/index.md").write_text(quoting + toctree)
    for n, outcome in ((3, "odd"), (4, "even")):
        (project / "parameters.yml").write_text(f"part/tiny: {{n: {n}}}\n")
        done = sphinx(project)
        assert done.returncode == 0, done.stderr
        assert f"is {outcome}: {n}." in page(project)
        assert 'title="fig-tiny"' in page(project) or "Fig. 1" in page(project)
        tiny = page(project, "results/part/tiny")
        assert f"is {outcome}: {n}." in tiny
        assert f"= {n}." in tiny.partition("<figcaption>")[2]
        assert 'alt="a blank"' in tiny


def test_a_figure_is_shown_where_it_is_talked_about_and_follows_the_parameters(
    project: Path,
) -> None:
    write_tiny(project / "notebooks", "part/tiny", *STATING.strip().splitlines())
    shown = "# A book\n\n:::{result-figure} part/tiny::d\n:::\n\n"
    shown += ":::{result-figure} part/tiny::d\n:name: fig-mine\nIn other words.\n:::\n"
    toctree = "```{toctree}\nresults/part/tiny\n```\n"
    (project / "book/index.md").write_text(shown + toctree)
    for n in (3, 4):
        (project / "parameters.yml").write_text(f"part/tiny: {{n: {n}}}\n")
        done = sphinx(project)
        assert done.returncode == 0, done.stderr
        figure, _, other = page(project).partition("<figure")[2].partition("</figure>")
        assert 'alt="a blank"' in figure
        assert f"= {n}." in figure
        assert 'href="results/part/tiny.html"' in figure
        assert "In other words." in other
        assert "caption-number" in other.partition("</figure>")[0]
        assert "caption-number" not in figure
        assert f"= {n}." not in other
        assert list((project / "site/_images").glob("d*.svg"))


TWICE = """
from dpbayes.figures.lines import Curve, Panel, lines
figure, alt = lines('n', 'd', [Panel([Curve('lapMech', [1.0, n], [1.0, 2.0])])])
record.figure('d', figure, alt, 'A curve.')
"""


def test_a_figure_comes_with_its_narrow_drawing_wherever_it_is_shown(project: Path) -> None:
    write_tiny(project / "notebooks", "part/tiny", TWICE.strip())
    shown = "# A book\n\n:::{result-figure} part/tiny::d\n:::\n\n"
    (project / "book/index.md").write_text(shown + "```{toctree}\nresults/part/tiny\n```\n")
    configuration = project / "book" / "conf.py"
    configuration.write_text(configuration.read_text() + "\nextensions.append('dpdrawn')\n")
    done = sphinx(project)
    assert done.returncode == 0, done.stderr
    for name in ("index", "results/part/tiny"):
        _, wide, narrow = page(project, name).split('<svg class="drawn"')
        assert "--wide:614px" in wide
        assert "--wide:336px" in narrow
    assert list((project / "site/_downloads").rglob("d.narrow.svg"))


def test_a_site_is_verified_against_its_results(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sphinx(project).returncode == 0
    site, results = str(project / "site"), str(project / "book/results")
    assert main(["verify", site, "--results", results]) == 0
    assert "1 results, 2 files, 1 quoted numbers: all agree" in capsys.readouterr().out
    index = project / "site/index.html"
    index.write_text(index.read_text().replace(f"{QUOTED}6<", f"{QUOTED}7<"))
    (download,) = (project / "site/_downloads").glob("*/squares.csv")
    download.write_text("i,square\n0,1\n")
    (project / "book/results/part/tiny/numbers.json").write_text("{}")
    assert main(["verify", site, "--results", results]) == 1
    complaint = capsys.readouterr().err
    assert "3 disagree" in complaint
    assert "index.html: shows 7 for part/tiny::double:d, recorded is 6" in complaint
    assert "part/tiny/squares.csv: no download has the hash" in complaint
    assert "part/tiny/numbers.json: the site was built from another result" in complaint
    assert main(["verify", str(project)]) == 2


WRONG = {
    "{finding}`part/tiny::odd`": "no notebook has recorded part/tiny/findings.json",
    "{finding}`::odd`": "only a notebook's own page may leave out its name",
    "{finding}`part/tiny`": "write notebook::finding",
    "{result}`part/tiny::triple:d`": "records no number 'triple'; it records double",
    "{result}`part/nobody::double:d`": "no notebook has recorded part/nobody/numbers.json",
    "{result}`part/tiny::double`": "write notebook::number:format",
    "{result}`part/tiny::double:q`": "Unknown format code 'q'",
    ":::{result-table} part/tiny::nobody\nx\n:::": "no notebook has recorded part/tiny/nobody.csv",
    ":::{result-table} part/tiny::squares\n:columns: x\n\nx\n:::": "has no column 'x'",
    ":::{result-figure} part/tiny::squares\n:::": "has recorded part/tiny/squares.svg",
    ":::{result-figure} part/tiny\n:::": "write notebook::figure",
    ":::{result-table} squares\nx\n:::": "write notebook::table",
}


def test_every_wrong_quote_is_a_warning_and_stops_a_strict_build(project: Path) -> None:
    (project / "book/index.md").write_text("# Wrong\n\n" + "\n\n".join(WRONG))
    done = sphinx(project)
    assert done.returncode != 0
    for problem in WRONG.values():
        assert [line for line in done.stderr.splitlines() if problem in line and "index.md" in line]


def test_a_failing_notebook_stops_the_build(project: Path) -> None:
    path = project / "notebooks/part/tiny.ipynb"
    path.write_text(path.read_text().replace("2 * n", "2 / 0"))
    done = sphinx(project)
    assert done.returncode != 0
    assert "part/tiny: the code cell with execution count" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert not (project / "site/index.html").exists()


def test_text_on_standard_error_stops_a_strict_build(project: Path) -> None:
    path = project / "notebooks/part/tiny.ipynb"
    warn = "__import__('warnings').warn('oh')"
    path.write_text(path.read_text().replace("record.number(", warn + "\\nrecord.number("))
    done = sphinx(project)
    assert done.returncode != 0
    assert "stderr was found in the cell outputs" in done.stderr


def test_the_extension_waits_for_neither_scipy_nor_matplotlib() -> None:
    script = (
        "import sys; import dpbook; "
        "slow = {'numpy', 'scipy', 'matplotlib', 'papermill'} & sys.modules.keys(); "
        "sys.exit(' '.join(slow) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(EXTENSION)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
