"""A job as it is ordered, the surroundings of its run, and what is checked at its end."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dpbayes.press.jobs import (
    ONE_THREAD,
    RESULTS,
    TRACES,
    Job,
    NotebookFailure,
    environment,
    finish,
    job_of,
    surroundings_of,
)
from dpbayes.press.opening import ORDER


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / RESULTS / "part/tiny").mkdir(parents=True)
    return Job("part/tiny", tmp_path / "tiny.ipynb", {"n": 3, "label": "ä"}, tmp_path)


def test_a_job_comes_back_from_its_line(job: Job) -> None:
    line = json.dumps(
        {
            "name": job.name,
            "notebook": str(job.notebook),
            "values": dict(job.values),
            "stage": str(job.stage),
        }
    )
    assert job_of(line) == job


def test_a_run_finds_its_order_and_one_thread(job: Job) -> None:
    variables = surroundings_of(job)
    order = json.loads(Path(variables[ORDER]).read_text())
    assert order == {"notebook": "part/tiny", "parameters": {"n": 3, "label": "ä"}}
    assert ONE_THREAD.items() <= variables.items()


FAULTS = """
import resource
import numpy as np
count = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
arrays = lambda: [np.ones(1 << 18) for _ in range(16)]
arrays()
before = count()
for _ in range(20):
    arrays()
print(count() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc")
def test_large_arrays_come_from_memory_that_is_kept() -> None:
    run = [sys.executable, "-c", FAULTS]
    faults = subprocess.run(
        run, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    assert int(faults.stdout) < 1000


def test_the_environment_is_put_back_even_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBAYES_OLD", "1")
    monkeypatch.delenv("DPBAYES_NEW", raising=False)

    def fail() -> None:
        assert (os.environ["DPBAYES_OLD"], os.environ["DPBAYES_NEW"]) == ("2", "3")
        raise RuntimeError("in between")

    with (
        pytest.raises(RuntimeError, match="in between"),
        environment({"DPBAYES_OLD": "2", "DPBAYES_NEW": "3"}),
    ):
        fail()
    assert os.environ["DPBAYES_OLD"] == "1"
    assert "DPBAYES_NEW" not in os.environ


def test_results_under_another_name_fail_the_run(job: Job) -> None:
    other = job.stage / RESULTS / "part/other"
    other.mkdir()
    (other / "numbers.json").write_text("{}")
    with pytest.raises(NotebookFailure, match="under 'part/tiny', got 'part/other'"):
        finish(job)


def test_what_a_run_used_and_wrote_reaches_its_provenance(job: Job) -> None:
    surroundings_of(job)
    folder = job.stage / RESULTS / "part/tiny"
    (folder / "numbers.json").write_text("{}")
    used = {"modules": ["datasets.py"], "packages": ["numpy"], "read": ["/somewhere/a.csv"]}
    (job.stage / TRACES).write_text(json.dumps(used))
    finish(job)
    found = json.loads((folder / "provenance.json").read_text())
    assert found["notebook"] == "part/tiny"
    assert found["parameters"] == {"n": 3, "label": "ä"}
    assert found["seed"] is None
    assert found["modules"] == ["datasets.py"]
    assert found["data"] == ["a.csv"]
    assert found["versions"]["numpy"]
    assert 0 <= found["seconds"] < 60
    assert found["sha256"] == {"numbers.json": hashlib.sha256(b"{}").hexdigest()}


def test_a_run_that_records_nothing_has_no_provenance(job: Job) -> None:
    surroundings_of(job)
    finish(job)
    assert not any((job.stage / RESULTS / "part/tiny").iterdir())
