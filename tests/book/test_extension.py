"""The extension inside Sphinx: quotes, tables, figures, the board; and what stops a
build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbayes.figures.typeset import formatted
from dpbayes.mechanisms import REGISTRY
from dpbayes.record import PROVENANCE, read_json
from dpbayes.runner.results import only_one
from dpbook import build as building
from dpbook.board import Claim, order, read_claims
from dpbook.build import build
from dpbook.figures import inlined, themed
from tests.tiny_notebooks import write_tiny

EXTENSION = Path(__file__).parents[2] / "book" / "_ext"
PLOT = """from matplotlib.figure import Figure
figure = Figure(figsize=(6.4, 4))
figure.subplots().set(xlabel="records", ylabel="more")
record.figure("line", figure, alt="A 'line'.", caption="It rises to $n$.")"""
BOARD = "claims/claims.yml"
QUOTED = (
    '<a class="result" href="results/part/tiny.html#at-double"'
    ' title="{} records · What is twice n?">{}</a>'
)


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


def add(project: Path, text: str) -> None:
    index = project / "book" / "index.md"
    index.write_text(
        index.read_text().replace("```{toctree}", f"{text}\n\n```{{toctree}}")
    )


def test_pages_show_results_and_follow_them(project: Path) -> None:
    write_tiny(project / "notebooks", "part/tiny", PLOT)
    options = ":::{mechanism-options}\n:::"
    shown = ":::{result-figure} part/tiny::line\n:::\n\n:::{certificate}\n:::"
    add(project, f"{shown}\n\n{options}")
    first = sphinx(project)
    assert first.returncode == 0, first.stderr
    for name, spec in REGISTRY.items():  # every option that is declared, with words
        for option, declared in spec.options.items():
            row = rf"<td[^>]*>(<p>)?{name}</p>.*?{option}.*?{re.escape(declared.words)}"
            assert re.search(row, page(project), re.S), (name, option)
    assert "[1/1] part/tiny " in first.stdout
    assert "0 of 0 numbers agree with the reference" in first.stdout
    shown = page(project)
    assert f"Twice n is {QUOTED.format(3, 6)}" in shown
    assert "There are 3 records, fewer than 5." in shown
    for words in (
        "Table 1",
        "a third of its square",
        "1.33",
        "squares.csv",
        "It rises to",
        "part/tiny: there is no reference",
        "1 notebooks in",
    ):
        assert words in shown, words
    assert 'aria-label="A &#x27;line&#x27;."' in shown
    result = page(project, "results/part/tiny")
    order = [
        "There are 3 records",
        'class="drawn"',
        "Change it",
        "Parameters</summary>",
    ]
    assert sorted(order, key=result.index) == order
    assert list((project / "site" / "_downloads").rglob("tiny.ipynb"))

    (project / "notebooks" / "parameters.yml").write_text("tiny: {n: '4'}\n")
    second = sphinx(project)
    assert second.returncode == 0, second.stderr
    assert "(new parameters)" in second.stdout
    assert f"Twice n is {QUOTED.format(4, 8)}" in page(project)
    third = sphinx(project)
    assert "notebooks: 0 run, 1 in all" in third.stdout


def test_values_are_those_that_are_written(project: Path) -> None:
    folder = project / "notebooks"
    (folder / "parameters.yml").write_text("tiny: {n: 070, label: no}\n")
    build(folder, project / "results")
    made = read_json(project / "results" / "part" / "tiny" / PROVENANCE)
    assert made["parameters"] == {"n": 70, "label": "no"}


def test_a_claim_or_a_check_that_fails_stops_a_strict_build(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(
        building.logger, "warning", lambda text, *words: said.append(text % words)
    )
    cells = (
        "record.check('roads', 'Both agree.', n < 3)",
        "record.claim('a', 'A.', n < 3)",
    )
    write_tiny(project / "notebooks", "part/tiny", *cells)
    for _ in range(2):  # also where nothing runs
        said.clear()
        build(project / "notebooks", project / "results")
        assert said == [
            "part/tiny: the claim 'a' does not hold: A.",
            "part/tiny: the check 'roads' does not hold: Both agree.",
        ]
    said.clear()
    (project / "notebooks" / "parameters.yml").write_text("tiny: {n: 4}\n")
    build(project / "notebooks", project / "results")
    assert said == []  # other parameters than the book's


def test_one_build_at_a_time(project: Path) -> None:
    with only_one(project / "book" / "results", "a build"):
        done = sphinx(project)
    assert done.returncode != 0
    assert f"another build is at work in {project}" in done.stderr
    assert f"process {os.getpid()} on " in done.stderr
    assert not list((project / "book" / "results").glob("part"))


@pytest.mark.parametrize("damage", ["", "null", "{}"])
def test_damaged_results_are_made_again(project: Path, damage: str) -> None:
    folder = project / "results" / "part" / "tiny"
    build(project / "notebooks", project / "results")
    (folder / PROVENANCE).write_text(damage)
    (folder / "gone.csv").write_text("n\n1\n")
    build(project / "notebooks", project / "results")
    assert read_json(folder / PROVENANCE)["parameters"] == {"n": 3, "label": "a"}
    assert not (folder / "gone.csv").exists()
    (folder / "squares.csv").unlink()
    build(project / "notebooks", project / "results")
    assert (folder / "squares.csv").is_file()


WRONG = {
    "{result}`part/tiny::triple:d`": "part/tiny has no 'triple' in numbers.json",
    "{result}`part/none::double:d`": "no notebook has recorded part/none/numbers.json",
    "{result}`double`": "write notebook::name",
    "{result}`part/tiny::bare:d`": "it has no setting: record it with given=",
    "{evidence}`part/tiny::many`": "evidence 'part/tiny::many': the claim does not",
    "{claim}`part/tiny::many`": "the claim does not hold: There are many",
    ":::{result-table} part/tiny::cubes\n:::": (
        "no notebook has recorded part/tiny/cubes.csv"
    ),
    ":::{result-table} part/tiny::squares\n:columns: j\n:::": "has no column 'j'",
    ":::{result-figure} part/tiny::line\n:::": (
        "part/tiny records no figure 'line' with a caption"
    ),
}


def test_what_cannot_be_shown_stops_a_strict_build(project: Path) -> None:
    write_tiny(
        project / "notebooks",
        "part/tiny",
        "record.number('bare', n)\nrecord.claim('many', 'There are many.', n > 9)",
    )
    add(project, "\n\n".join(WRONG))
    done = sphinx(project)
    assert done.returncode != 0
    for text, said in WRONG.items():
        assert said in done.stderr, text


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("part/tiny: {n: 0}", "n must be at least 1, got 0"),
        ("part/tiny: {m: 1}", "no parameter 'm'"),
        ("part/tinny: {n: 1}", "did you mean part/tiny"),
        ("part/tiny: 3", "valid dictionary"),
        ("- 3", "valid dictionary"),
        ("tiny: {n: 1}\ntiny: {n: 2}", "line 2: 'tiny' comes a second time"),
        ("tiny: {n: 1, label: a, n: 2}", "line 1: 'n' comes a second time"),
        ("tiny: {n: 1}\npart/tiny: {n: 2}", "part/tiny comes a second time"),
        ("tiny: {n: 1", "parameters.yml: "),
    ],
)
def test_parameters_are_refused_before_anything_runs(
    project: Path, parameters: str, said: str
) -> None:
    (project / "notebooks" / "parameters.yml").write_text(parameters)
    with pytest.raises(ValueError, match=said):
        build(project / "notebooks", project / "results")
    assert not (project / "results").exists()


@pytest.mark.slow
def test_a_failing_notebook_stops_the_build_and_the_others_are_kept(
    project: Path,
) -> None:
    write_tiny(project / "notebooks", "part/bad", "1 / 0")
    done = sphinx(project)
    assert done.returncode != 0
    assert "part/bad" in done.stderr
    assert "In[3], line 1" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert (project / "book" / "results" / "part" / "tiny" / "numbers.json").is_file()


def test_numbers_are_formatted() -> None:
    for value, form, shown in (
        (0.6353, ".2f up", "0.64"),
        (0.6353, ".2f down", "0.63"),
        (0.6353, ".1% up", "63.6%"),
        (12345.6, ",.0f", "12,346"),
        (12345.2, ",.0f up", "12,346"),
        (5, "d", "5"),
        (9.001e-5, ".1e up", "9.1 × 10⁻⁵"),
        (-0.5, ".1f", "−0.5"),
        (0.3 - 0.1, ".1f up", "0.2"),
        (11019.0, ",d", "11,019"),
        (0.001234, ".2g up", "0.0013"),
    ):
        assert formatted(value, form) == shown


def test_a_drawing_takes_the_colours_of_the_page() -> None:
    svg = (
        '<?xml version="1.0"?><svg width="96pt" viewBox="0 0 96'
        ' 60"><title>a</title><desc>b</desc><style>*{}</style><g id="figure_1"><g'
        ' id="text_1"><g transform="translate(1.23456 2) scale(0.11 -0.11)"><path'
        ' id="a" d="M 10.123456 0" style="fill: #000000"/><use'
        ' xlink:href="#a"/></g></g><path style="stroke: #1B6CA8; fill: #ffffff"'
        ' clip-path="url(#p1)"/></g></svg>'
    )
    shown = inlined(svg, "d0-", 'a "line"')
    assert 'aria-label="a &quot;line&quot;"' in shown
    assert 'id="d0-a" d="M 10.123 0" style="fill: currentColor"' in shown  # of 96
    assert 'href="#d0-a"' in shown
    assert "url(#d0-p1)" in shown
    assert "scale(0.11 -0.11)" in shown
    assert "color-mix(in srgb,#1b6ca8 var(--drawn-colour,100%),#fff)" in shown
    assert "aspect-ratio:96/60" in shown
    assert "<title>" not in shown  # it would pop up under the mouse
    assert themed("#ffffff") == "var(--pst-color-background,#fff)"
    assert themed("#808080").startswith("color-mix(in srgb,currentColor 50%")


def test_marks_of_one_look_share_it_and_their_frame() -> None:
    mark = (
        '<g clip-path="url(#p1)"><use xlink:href="#a" x="{}" y="3.5" style="fill:'
        ' #1B6CA8"/></g>'
    )
    marks = "".join(map(mark.format, (1.25, 2, 4.0625)))
    text = '<g id="text_1"><use xlink:href="#b"/></g>'
    shown = inlined(
        '<svg width="96pt" viewBox="0 0 96 60"><g id="figure_1">'
        f"{marks}{text}{mark.format(7)}</g></svg>", "d0-", ""
    )  # fmt: skip
    assert shown.count("clip-path") == 2
    assert shown.count("#1b6ca8") == 2
    assert [one in shown for one in ('x="1.25"', 'x="2"', 'x="4.062"', 'x="7"')] == [
        True
    ] * 4
    assert shown.count("<g") == shown.count("</g>")


CLAIM: dict[str, Any] = {
    "id": "D-C4",
    "source": "D, section 7.1, Table 1",
    "claim": "It holds.",
    "verdict": "holds corrected",
    "finding": "It holds away from $0$.",
    "evidence": ["part/tiny::double"],
    "test": "tests/test_claims.py::test_d_c4",
}


def board(project: Path, *claims: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    (project / "book" / "claims").mkdir()
    (project / "book" / "claims" / "claims.yml").write_text(
        yaml.safe_dump(list(claims))
    )
    text = (
        "# D\n\n:::{claims-summary}\n:::\n\n:::{document-claims} D\n:::\n\n:::{claims}"
        " D\n:::\n"
    )
    (project / "book" / "claims" / "claims.md").write_text(text)
    add(project, "```{toctree}\nclaims/claims\n```")
    return sphinx(project)


@pytest.mark.slow
def test_the_board_shows_claims_and_their_evidence(project: Path) -> None:
    done = board(project, CLAIM, {**CLAIM, "id": "A-C1", "source": "A, Theorem 4.1"})
    assert done.returncode == 0, done.stderr
    shown = page(project, "claims/claims")
    card = re.search(r'<details class="([^"]*)" id="claim-d-c4">', shown)
    assert card is not None
    assert set(card[1].split()) == {"claim", "document-d", "verdict-holds-corrected"}
    assert "claim-a-c1" not in shown
    assert 'href="#claim-d-c4"' in shown
    assert "the full paper (D)" in shown
    assert "results/part/tiny.html" in shown


def test_a_broken_claim_is_named() -> None:
    for said, change in {
        "evidence.0": {"evidence": ["double"]}, "at least 1 item": {"evidence": []},
        "note": {"note": "x"}, "string_pattern_mismatch.*wrong": {"verdict": "wrong"},
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=f"(?s)D-C4.*{said}"):
            read_claims(yaml.safe_dump([{**CLAIM, **change}]))
    names = [
        one.id for one in read_claims((EXTENSION.parent / BOARD).read_text("utf-8"))
    ]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_a_claim_without_evidence_stops_the_build(project: Path) -> None:
    wrong = {"evidence": ["part/tiny::none", "part/none::x"], "errata": ["err-x"]}
    done = board(project, {**CLAIM, **wrong})
    assert done.returncode != 0
    for said in ("no notebook has recorded part/tiny::none", "recorded part/none::x",
                 "D-C4: no misprint err-x"):  # fmt: skip
        assert said in done.stderr


def test_claims_are_ordered_by_section() -> None:
    where = {
        "A, section 5; D, section 7.2.2": (7, 2, 2),
        "D, Theorem 4.1": (4, 1),
        "D, end": (99,),
    }
    for source, place in where.items():
        assert order(Claim(**{**CLAIM, "source": source})) == place
