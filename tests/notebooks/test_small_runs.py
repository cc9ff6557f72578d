"""Every notebook runs with small parameters, from two working directories, to the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import papermill
import pytest
import yaml

from dpbayes.press.execution import EXECUTED, execute
from dpbayes.press.jobs import ONE_THREAD, RESULTS, Job, environment
from dpbayes.press.pages import publish
from dpbayes.press.parameters import chosen, declared, load
from dpbayes.press.workers import Order, end, follow, start_notebooks
from tests.figures.reading_svg import off_the_language
from tests.notebooks.test_sources import EVERY, NOTEBOOKS, small_parameters

EXAMPLES = ("foundations/beta-posterior", "queries/framework")


@pytest.fixture(scope="session")
def worker() -> Iterator[subprocess.Popen[str]]:
    """Return a process of a build."""
    with tempfile.TemporaryFile("w+") as complaints:
        process = start_notebooks(complaints, apart=False)
        yield process
        end(process)


def run_by_the_build(
    name: str, folder: Path, worker: subprocess.Popen[str] | None = None
) -> dict[str, bytes]:
    """Run a notebook as the build does and return what it recorded, provenance aside."""
    parameters = declared(load(NOTEBOOKS[name]))
    values = chosen(name, parameters, small_parameters()[name])
    stage = folder / "stage"
    if worker is None:
        execute(Job(name, NOTEBOOKS[name], values, stage))
    else:
        order = Order(name, name, NOTEBOOKS[name], values, stage)
        assert follow(worker, order) == {"done": True}
    publish(stage, folder / "out", name, values, parameters)
    assert (stage / EXECUTED).is_file()
    for cell in json.loads((folder / "out" / f"{name}.ipynb").read_text())["cells"]:
        if cell.get("outputs") and "figure" in cell["metadata"].get("mystnb", {}):
            assert cell["metadata"]["mystnb"]["image"]["alt"].strip()
    files = recorded(stage / RESULTS / name)
    wrong = {file: off_the_language(files[file])[1] for file in files if file.endswith(".svg")}
    assert not any(wrong.values()), wrong
    return files


def run_by_papermill(name: str, folder: Path) -> dict[str, bytes]:
    """Run a notebook with the papermill command in another folder."""
    folder.mkdir()
    values = yaml.safe_dump(small_parameters()[name])
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "-y", values]
    subprocess.run(
        [*command, str(NOTEBOOKS[name]), "out.ipynb"], cwd=folder, check=True, capture_output=True
    )
    return recorded(folder / "results" / name)


def run_by_hand(name: str, folder: Path) -> dict[str, bytes]:
    """Run a notebook with papermill in another folder and an ordinary kernel."""
    folder.mkdir()
    papermill.execute_notebook(
        str(NOTEBOOKS[name]),
        str(folder / "out.ipynb"),
        parameters=small_parameters()[name],
        progress_bar=False,
        cwd=str(folder),
    )
    return recorded(folder / "results" / name)


def recorded(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix in (".csv", ".json", ".svg", ".png") and path.name != "provenance.json"
    }


def hold_the_same(built: dict[str, bytes], by_hand: dict[str, bytes]) -> None:
    assert built
    assert {path.split(".")[-1] for path in built} & {"csv", "json"}
    assert built == by_hand


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_papermill_command_records_what_the_build_does(name: str, tmp_path: Path) -> None:
    hold_the_same(run_by_the_build(name, tmp_path / "a"), run_by_papermill(name, tmp_path / "b"))


@pytest.mark.slow
@EVERY
def test_every_notebook_runs_from_two_working_directories(
    name: str, worker: subprocess.Popen[str], tmp_path: Path
) -> None:
    built = run_by_the_build(name, tmp_path / "build", worker)
    with environment({**ONE_THREAD, "PYTHONHASHSEED": "12345"}):  # sets go through in another order
        hold_the_same(built, run_by_hand(name, tmp_path / "by-hand"))


def test_papermill_names_no_unknown_parameter(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--prepare-only"]
    for name, path in list(NOTEBOOKS.items())[:1]:
        given = next(iter(declared(load(path))))
        done = subprocess.run(
            [*command, "-p", given, "1", str(path), str(tmp_path / "out.ipynb")],
            check=True,
            capture_output=True,
            text=True,
        )
        assert "unknown parameter" not in done.stderr, name
        assert "Unable to parse" not in done.stderr, name
