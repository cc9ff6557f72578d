"""Warm kernels are ordinary kernels that start faster, and leave nothing behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpbayes.press.execution import execute
from dpbayes.press.jobs import ONE_THREAD, TRACES, Job, NotebookFailure
from dpbayes.press.warm import NAME, ORDINARY, warm_kernels
from tests.press.processes import gone
from tests.tiny_notebooks import write_tiny


def run(folder: Path, stage: str, kernel: str | None, *extra: str) -> bytes:
    path = write_tiny(folder / "notebooks", "part/tiny", *extra)
    execute(Job("part/tiny", path, {"n": 3, "label": "a"}, folder / stage), kernel=kernel)
    return (folder / stage / "notebook.ipynb").read_bytes()


@pytest.mark.slow
def test_a_warm_kernel_gives_the_bytes_of_an_ordinary_one(tmp_path: Path) -> None:
    with warm_kernels(ONE_THREAD) as name:
        assert name == NAME
        warm = run(tmp_path, "warm", name)
    assert warm == run(tmp_path, "cold", None)


def test_a_warm_run_takes_nothing_of_its_own_stage_for_data(tmp_path: Path) -> None:
    ordered = "import os\nfrom dpbayes.press.opening import ORDER\nopen(os.environ[ORDER]).read()"
    with warm_kernels(ONE_THREAD) as name:
        run(tmp_path, "warm", name, ordered)
    assert json.loads((tmp_path / "warm" / TRACES).read_text())["read"] == []


@pytest.mark.slow
def test_each_notebook_gets_a_fresh_process_that_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "process"
    cell = f"import os\nwith open({str(note)!r}, 'a') as file: print(os.getpid(), file=file)"
    with warm_kernels(ONE_THREAD) as name:
        for stage in ("one", "two"):
            run(tmp_path, stage, name, cell, "assert 'left_over' not in globals()\nleft_over = 1")
        processes = [int(line) for line in note.read_text().split()]
    assert len(set(processes)) == 2
    assert all(gone(process) for process in processes)


@pytest.mark.slow
def test_a_failing_cell_is_reported_from_a_warm_kernel(tmp_path: Path) -> None:
    with warm_kernels(ONE_THREAD) as name, pytest.raises(NotebookFailure, match="four is not"):
        run(tmp_path, "stage", name, "raise ValueError('four is not for us')")


def test_without_fork_the_usual_kernel_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with warm_kernels({}) as name:
        assert name == ORDINARY
