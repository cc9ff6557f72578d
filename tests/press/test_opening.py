"""The record knows its notebook, whoever runs it, and refuses parameters nobody has checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpbayes.press import open_record
from dpbayes.press.html import html_page
from tests.tiny_notebooks import code, notebook

PARAMETERS = (
    "# together: first <= last  # the axis runs upwards\n"
    "first: int = 1  # first n, at least 1\nlast: int = 5  # last n, at least 1\n"
    "seed: int = 7  # of the random numbers, at least 0"
)
CELLS = (
    "from dpbayes.figures.lines import Curve, Panel, lines\n"
    "from dpbayes.press import open_record\n\nrecord = open_record()",
    "squares = [n * n for n in (first, last)]\n"
    "figure, alt = lines('n', 'square', [Panel([Curve('s', [first, last], squares)])])\n"
    "record.figure('squares', figure, alt, f'Squares of $n$ from {first} to {last}.')",
    "record.numbers({'largest': last**2})\n"
    "record.finding('big', last > 5, true='Big: ${big:d} > 25$.', false='Small: {big}.', "
    "big=last**2)",
)
CLIENT = """
import sys, nbclient, nbformat
made = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(made).execute()
nbformat.write(made, sys.argv[2])
"""
TEXT = "Here {result}`::largest:d`, there {finding}`::big` See {numref}`fig-demo`."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout of one notebook."""
    folder = tmp_path / "checkout" / "notebooks" / "part"
    folder.mkdir(parents=True)
    (tmp_path / "checkout" / "_toc.yml").touch()
    first = code(PARAMETERS, "parameters", "remove-cell")
    made = notebook(first, code("# together: last < 1000"), *map(code, CELLS))
    made["cells"].append({"cell_type": "markdown", "id": "t", "metadata": {}, "source": TEXT})
    (folder / "demo.ipynb").write_text(json.dumps(made))
    (tmp_path / "nbclient_run.py").write_text(CLIENT)
    return tmp_path / "checkout"


def run(cwd: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DPBAYES", "JPY_"))}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def execute(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the notebook as nbconvert and the editors do: by nbclient, told nothing."""
    words = ("notebooks/part/demo.ipynb", str(checkout.parent / "out.ipynb"))
    return run(checkout, "nbclient_run", *words, PYTHONPATH=str(checkout.parent), **variables)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def outputs(path: Path) -> str:
    return json.dumps([cell.get("outputs") for cell in read(path)["cells"]])


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_the_runner_tells_name_parameters_and_seed(checkout: Path) -> None:
    done = run(checkout, "dpbayes", "run", "part/demo", "-p", "last=6", "--output", "out")
    assert done.returncode == 0, done.stderr
    provenance = read(checkout / "out/part/demo/provenance.json")
    assert provenance["notebook"] == "part/demo"
    assert provenance["parameters"] == {"first": 1, "last": 6, "seed": 7}
    assert provenance["seed"] == 7
    (figure,) = (
        cell["metadata"]["mystnb"]
        for cell in read(checkout / "out/part/demo.ipynb")["cells"]
        if "mystnb" in cell["metadata"]
    )
    assert figure["figure"] == {"name": "fig-demo", "caption": "Squares of $n$ from 1 to 6."}
    assert figure["image"]["alt"]
    page = html_page(checkout / "out/part/demo.ipynb", checkout / "out")
    assert "Here 36, there Big:" in page
    assert "Squares of" in page.partition("<figcaption>")[2].partition("</figcaption>")[0]
    assert page.count("<figcaption>") == 1


def test_papermill_in_the_notebooks_folder_leaves_nothing_there(checkout: Path) -> None:
    place = checkout / "notebooks" / "part"
    out = checkout.parent / "out.ipynb"
    done = run(place, "papermill", "--no-progress-bar", "demo.ipynb", str(out), "-p", "last", "6")
    assert done.returncode == 0, done.stderr
    assert files(place) == {"demo.ipynb"}
    provenance = read(checkout / "results/part/demo/provenance.json")
    assert provenance["parameters"] == {"first": 1, "last": 6, "seed": 7}
    shown = outputs(out)
    for text in ("*Figure.* Squares of $n$ from 1 to 6.", "Finding: Big: $36 > 25$.", "aria-label"):
        assert text in shown


def test_papermill_refuses_what_the_other_runners_refuse(checkout: Path) -> None:
    words = ("papermill", "--no-progress-bar", "notebooks/part/demo.ipynb", "../out.ipynb")
    done = run(checkout, *words, "-p", "last", "0")
    assert done.returncode != 0
    assert "last must be >= 1, got 0" in done.stderr
    assert "part/demo: first <= last" in run(checkout, *words, "-p", "first", "9").stderr
    assert "part/demo: last < 1000" in run(checkout, *words, "-p", "last", "1000").stderr
    assert not (checkout / "results").exists()


def test_a_plain_client_finds_the_notebook_and_shows_what_came_out(checkout: Path) -> None:
    done = execute(checkout)
    assert done.returncode == 0, done.stderr
    shown = outputs(checkout.parent / "out.ipynb")
    assert "Small: 25." in shown
    assert "Squares of $n$ from 1 to 5." in shown
    assert read(checkout / "results/part/demo/findings.json")["big"]["holds"] is False


def test_a_session_knows_its_path(checkout: Path) -> None:
    path = checkout / "notebooks/part/demo.ipynb"
    made = read(path)
    path.rename(path.with_name("other.ipynb"))
    made["cells"][1]["source"] = PARAMETERS.replace("last: int = 5", "last: int = 8")
    path.write_text(json.dumps(made))
    done = execute(checkout, JPY_SESSION_NAME=str(path))
    assert done.returncode == 0, done.stderr
    assert read(checkout / "results/part/demo/provenance.json")["parameters"]["last"] == 8


def test_an_edited_cell_is_checked(checkout: Path) -> None:
    path = checkout / "notebooks/part/demo.ipynb"
    path.write_text(path.read_text().replace("last: int = 5", "last: int = 0"))
    assert "last must be >= 1, got 0" in execute(checkout).stderr


def test_without_a_notebook_the_name_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPBAYES_RESULTS", str(tmp_path))
    assert open_record("part/mine").name == "part/mine"
    assert open_record().name == "notebook"
