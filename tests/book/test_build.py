"""The build runs what it must, says why, keeps what is finished and leaves results whole."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import IO

import pytest

from dpbayes.press import workers
from dpbook import build
from dpbook.build import NotebookError
from tests.tiny_notebooks import built, files_of, write_tiny


@pytest.mark.usefixtures("hashes")
def test_a_second_build_runs_nothing_and_writes_nothing(project: Path) -> None:
    assert built(project) == {"part/tiny": "it has not been run yet"}
    results = project / "book/results"
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*") if path.is_file()}
    assert built(project) == {}
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert {path.name for path in before} >= {"tiny.ipynb", "numbers.json", "squares.csv"}


@pytest.mark.usefixtures("quick")
def test_after_a_failure_only_the_broken_notebook_is_run_again(project: Path) -> None:
    write_tiny(project / "notebooks", "part/broken", "1 / 0")
    with pytest.raises(NotebookError, match="part/broken"):
        built(project)
    write_tiny(project / "notebooks", "part/broken")
    assert "part/broken" in built(project)
    assert built(project) == {}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("processors", [1, 2])
def test_there_is_one_hand_for_each_processor(
    project: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    for number in range(5):
        write_tiny(project / "notebooks", f"part/tiny{number}")
    started: list[object] = []
    start = workers.start_notebooks
    # No notebook ends before every hand has been started.
    together = threading.Barrier(processors)

    def counted(complaints: IO[str]) -> subprocess.Popen[str]:
        started.append(complaints)
        together.wait(60)
        return start(complaints)

    monkeypatch.setattr(build, "processors", lambda: processors)
    monkeypatch.setattr(workers, "start_notebooks", counted)
    assert len(built(project)) == 6
    assert len(started) == processors


@pytest.mark.usefixtures("quick")
def test_results_of_a_removed_notebook_go(project: Path) -> None:
    write_tiny(project / "notebooks", "part/second")
    built(project)
    (project / "notebooks/part/second.ipynb").unlink()
    built(project)
    assert {name.split("/")[1] for name in files_of(project / "book/results")} == {
        "tiny.ipynb",
        "tiny",
    }


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ("part/nobody: {n: 1}", "no notebook 'part/nobody'; the notebooks are\n  part/tiny"),
        ("part/tiny: {m: 1}", "no parameter 'm'; its parameters and their defaults are"),
        ("part/tiny: {n: x}", "n must be int, got 'x' (str)"),
        ("part/tiny: {n: 1.0}", "n must be int, got 1.0 (float)"),
        ("part/tiny: {n: true}", "n must be int, got True (bool)"),
        ("part/tiny: {n: 0}", "n must be >= 1, got 0"),
        ("part/tiny: [n]", "must map notebook names"),
        ("3", "must map notebook names"),
    ],
)
def test_bad_overrides_are_refused_before_anything_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, overrides: str, problem: str
) -> None:
    (project / "parameters.yml").write_text(overrides)
    monkeypatch.setattr(workers, "start_notebooks", pytest.fail)
    with pytest.raises((ValueError, TypeError)) as refusal:
        built(project)
    assert problem in str(refusal.value)
    assert not (project / "book/results").exists()


def test_a_cell_that_declares_nothing_is_named(project: Path) -> None:
    path = project / "notebooks/part/tiny.ipynb"
    path.write_text(path.read_text().replace("n: int = 3  #", "n = 3  #"))
    with pytest.raises(ValueError, match="part/tiny: a parameter is declared as"):
        built(project)
