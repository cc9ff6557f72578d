"""One run of one notebook: its order, its surroundings, and the stage that nobody reads half done.

Shared by the two ways to run a notebook: through papermill (`dpbayes.press.execution`), which keeps
its outputs, and cell by cell in a warm process (`dpbayes.press.points`), which keeps its results.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbayes.press.opening import ORDER
from dpbayes.press.record import PROVENANCE, sha256, write_provenance

RESULTS = "results"  # the folder in the stage where the record writes
THE_ORDER = "order.json"  # the notebook's name and parameters, written when the run begins
TRACES = "traces.json"  # what the run used, see `dpbayes.press.traces`
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "agg",
    # Large arrays come from memory that the process keeps: glibc would hand each back to the
    # system, which clears its pages anew for the next one.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}


@dataclass(frozen=True)
class Job:
    """A notebook to run: its name, its file, the value of every parameter, and its stage."""

    name: str
    notebook: Path
    values: Mapping[str, Any]
    stage: Path


class NotebookFailure(Exception):
    """A cell raised; the message names the notebook and the cell and ends with the traceback."""


def job_of(line: str) -> Job:
    """Return the job that a line of JSON orders."""
    order = json.loads(line)
    return Job(order["name"], Path(order["notebook"]), order["values"], Path(order["stage"]))


def surroundings_of(job: Job) -> dict[str, str]:
    """Write the order for `open_record` and return the environment variables of the run."""
    path = job.stage / THE_ORDER
    order = {"notebook": job.name, "parameters": dict(job.values)}
    path.write_text(json.dumps(order), encoding="utf-8")
    return {**ONE_THREAD, "DPBAYES_RESULTS": str(job.stage / RESULTS), ORDER: str(path)}


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the run, and put the old ones back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def finish(job: Job) -> None:
    """Check the names of the results, and write how they came to be."""
    root = job.stage / RESULTS
    for path in root.rglob("*"):
        if path.is_file() and not path.is_relative_to(root / job.name):
            other = path.parent.relative_to(root).as_posix()
            raise NotebookFailure(
                f"{job.name}: results must be recorded under {job.name!r}, got {other!r}"
            )
    folder = root / job.name
    files = [path for path in folder.glob("*") if path.is_file() and path.name != PROVENANCE]
    if files:
        used = json.loads((job.stage / TRACES).read_text(encoding="utf-8"))
        seconds = time.time() - (job.stage / THE_ORDER).stat().st_mtime
        digests = {path.name: sha256(path.read_bytes()) for path in files}
        seed = job.values.get("seed")
        write_provenance(folder, job.name, job.values, seed, used, seconds, digests)
