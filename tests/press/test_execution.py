"""A notebook run as a whole: the same bytes each time, and a failing cell with its name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dpbayes.press import workers
from dpbook.build import NotebookError
from tests import quick_worker
from tests.tiny_notebooks import built, files_of, write_tiny


@pytest.mark.usefixtures("hashes")
def test_same_inputs_same_bytes(project: Path) -> None:
    built(project)
    before = files_of(project / "book/results")
    shutil.rmtree(project / "book/results")
    shutil.rmtree(project / "book/_build")
    built(project)
    after = files_of(project / "book/results")
    assert before.keys() == after.keys()
    different = {name for name in before if before[name] != after[name]}
    assert different <= {"part/tiny/provenance.json"}


@pytest.mark.usefixtures("hashes")
def test_a_failure_names_the_cell_and_leaves_the_result_whole(project: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:  # what was there before may come from any worker
        patch.setattr(workers, "start_notebooks", quick_worker.start)
        built(project)
    before = files_of(project / "book/results")
    write_tiny(project / "notebooks", "part/tiny", "fine = 1", "broken = fine / 0")
    with pytest.raises(NotebookError) as failure:
        built(project)
    report = str(failure.value)
    assert report.startswith("part/tiny: the code cell with execution count")
    assert "broken = fine / 0" in report
    assert "ZeroDivisionError: division by zero" in report
    assert "\x1b" not in report
    assert files_of(project / "book/results") == before
