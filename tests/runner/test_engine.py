"""Papermill with our engine, with a kernel, and nbconvert: one notebook, one result."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell

from dpbayes import record
from dpbayes.notebooks.parameters import all_notebooks, chosen, load
from dpbayes.record import PROVENANCE
from dpbayes.runner.engine import NAME, InProcess
from dpbayes.runner.results import publish
from dpbayes.runner.run import Order, run_one
from dpbayes.runner.verify import recorded
from tests.notebooks.test_notebooks import OTHERS
from tests.tiny_notebooks import write_tiny

ROOT = Path(__file__).parents[2]
NOTEBOOKS = all_notebooks(ROOT / "notebooks")
QUICK = {"basics/overlap", "documents/D-table1", "queries/replacement"}
HERE = 'from dpbayes import record\nrecord.here("part/tiny")'
FRONT_ENDS = {
    "engine": ("papermill", "{path}", "out.ipynb", "--engine", NAME),
    "kernel": ("papermill", "{path}", "out.ipynb"),
    "nbconvert": ("nbconvert", "--execute", "--to", "notebook", "--output-dir", ".",
                  "{path}"),
}  # fmt: skip


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "DPBAYES_RESULTS": str(folder / "results")},
    )  # fmt: skip


def test_the_engine_is_found_by_its_name() -> None:
    found = importlib.metadata.entry_points(group="papermill.engine", name=NAME)
    assert [one.load() for one in found] == [InProcess]


def agree(
    folder: Path, front_end: str, name: str, given: dict[str, Any], *words: str
) -> None:
    """Run a notebook here and through a front end, and compare all but times."""
    values = chosen(name, load(NOTEBOOKS[name]), given)
    done = run_one(Order(name, NOTEBOOKS[name], values, folder / "stage"))
    publish(done.order.stage, done.files, done.made(given), folder / "ours")
    line = (one.format(path=NOTEBOOKS[name]) for one in FRONT_ENDS[front_end])
    ran = command(folder, *line, *words)
    assert ran.returncode == 0, ran.stderr
    theirs = folder / "results" / name
    timed = recorded(theirs).get("errors", {})
    own, other = recorded(folder / "ours"), recorded(theirs)
    assert own["numbers"].keys() == other["numbers"].keys()
    for key, value in own["numbers"].items():
        assert timed.get(key, 0.0) is None or value == other["numbers"][key], key
    assert own["tables"].keys() == other["tables"].keys()
    for key, columns in own["tables"].items():
        for column, cells in columns.items():
            if column != "seconds":
                assert cells == other["tables"][key][column], (key, column)
    assert json.loads((theirs / PROVENANCE).read_text())["parameters"] == values


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("name", sorted(QUICK))
def test_every_front_end_gives_the_same_numbers(
    name: str, front_end: str, tmp_path: Path
) -> None:
    agree(tmp_path, front_end, name, {})


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*NOTEBOOKS} - QUICK))
def test_papermill_with_a_kernel_gives_the_same_numbers(
    name: str, tmp_path: Path
) -> None:
    """With the smaller values of `tests/notebooks`, which papermill reads from a
    file.
    """
    (tmp_path / "values.yml").write_text(yaml.safe_dump(OTHERS[name][0]))
    agree(tmp_path, "kernel", name, OTHERS[name][0], "-f", "values.yml")


def test_two_notebooks_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    """A notebook that names itself, and one that does not."""
    write_tiny(tmp_path, "one", before=HERE)
    write_tiny(tmp_path, "two")
    for engine in (("--engine", NAME), ()):
        for stem, n in (("one", 4), ("two", 2)):
            words = (f"{stem}.ipynb", "out.ipynb", *engine, "-p", "n", str(n))
            assert command(tmp_path, "papermill", *words).returncode == 0
    found = {
        path.parent.relative_to(tmp_path / "results").as_posix(): path.read_text()
        for path in (tmp_path / "results").rglob("numbers.json")
    }
    assert json.loads(found["part/tiny"]) == {"double": 8}
    assert json.loads(found["two"]) == {"double": 4}


def test_papermill_refuses_what_is_not_allowed(tmp_path: Path) -> None:
    write_tiny(tmp_path, "one", before=HERE)
    for engine in (("--engine", NAME), ()):
        for given, said in (
            (("n", "0"), "at least 1, got 0"),
            (("m", "1"), "no parameter"),
        ):
            words = ("one.ipynb", "out.ipynb", *engine, "-p", *given)
            done = command(tmp_path, "papermill", *words)
            assert done.returncode != 0
            assert said in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_notebook_that_drives_papermill_keeps_its_own_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine runs in a process that is a notebook's itself."""
    import papermill

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPBAYES_RESULTS", raising=False)
    record._runs.clear()
    driver: Any = InteractiveShell.instance()
    try:
        driver.run_cell("mine = 1")
        for stem, n in (("one", 5), ("two", 6)):
            path = write_tiny(tmp_path, stem, "assert 'mine' not in globals()")
            given = {"n": n}
            papermill.execute_notebook(
                path,
                tmp_path / "out.ipynb",
                given,
                engine_name=NAME,
                progress_bar=False,
            )
        assert InteractiveShell.instance() is driver
        assert driver.user_ns["mine"] == 1
        assert "double" not in driver.user_ns
    finally:
        InteractiveShell.clear_instance()
        record._runs.clear()
    for stem, double in (("one", 10), ("two", 12)):
        numbers = (tmp_path / "results" / stem / "numbers.json").read_text()
        assert json.loads(numbers) == {"double": double}
