"""Kept results: a damaged one is named and made again, a deleted copy comes back."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from tests.tiny_notebooks import built, files_of, number_of


def entry(project: Path) -> Path:
    return project / "book/_build/.jupyter_cache/notebooks/part/tiny"


DAMAGES = {
    "results/part/tiny/numbers.json": lambda path: path.write_text('{"double": 7}'),
    "results/part/tiny/squares.csv": lambda path: path.unlink(),
    "notebook.ipynb": lambda path: path.write_text(path.read_text()[:50]),
    "results/part/tiny/added.csv": lambda path: path.write_text("x\n1\n"),
    "entry.json": lambda path: path.write_text("{"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("file", DAMAGES)
def test_a_damaged_entry_is_named_and_run_again(project: Path, file: str) -> None:
    built(project)
    before = files_of(project / "book/results")
    DAMAGES[file](entry(project) / file)
    assert built(project) == {"part/tiny": f"its kept result is damaged ({file})"}
    assert files_of(project / "book/results").keys() == before.keys()
    assert number_of(project) == 6
    assert built(project) == {}


@pytest.mark.usefixtures("quick")
def test_deleted_results_come_back_without_running(project: Path) -> None:
    built(project)
    before = files_of(project / "book/results")
    shutil.rmtree(project / "book/results")
    assert built(project) == {}
    assert files_of(project / "book/results") == before


@pytest.mark.usefixtures("quick")
def test_stages_of_dead_builds_are_swept(project: Path) -> None:
    built(project)
    cache = project / "book/_build/.jupyter_cache/notebooks/part"
    here = socket.gethostname()
    stages = [cache / f"tiny.{end}.part" for end in (f"{here}.999999999", f"{here}.1", "there.9")]
    for stage in stages:
        stage.mkdir()
    built(project)
    assert [stage.exists() for stage in stages] == [False, True, True]
