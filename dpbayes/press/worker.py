"""A process that runs notebooks one after the other, as told on its standard input.

One JSON object a line comes in, the fields of a Job; progress and the outcome go out likewise::

    {"cell": 3, "of": 9}    {"done": true}    {"failure": "tables/x: the code cell ..."}

Each notebook runs in a fork of it, see `dpbayes.press.forked`; where there is no fork, in a kernel.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from dpbayes.press.forked import warm_up
from dpbayes.press.jobs import Job, NotebookFailure, job_of

Run = Callable[[Job, Callable[[int, int], None]], None]


def serve(orders: TextIO, answers: TextIO, run: Run) -> None:
    """Run each notebook ordered, answering with progress and one outcome each."""

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    for line in orders:
        job = job_of(line)
        try:
            run(job, lambda index, total: answer(cell=index, of=total))
        except NotebookFailure as failure:
            answer(failure=str(failure))
        except Exception as error:  # papermill's own trouble: a missing kernel, a dead process
            answer(failure=f"{job.name}: {type(error).__name__}: {error}")
        else:
            answer(done=True)


def main() -> None:
    """Get warm, and serve until no orders come any more."""
    warm = warm_up() if hasattr(os, "fork") else None
    from dpbayes.press.execution import execute  # after that: no notebook sees what it imports

    gc.collect()
    gc.freeze()  # no fork goes through the objects of these modules, or copies their pages
    gc.set_threshold(50_000, 20, 100)  # a figure makes a million objects that live as long as it
    serve(sys.stdin, sys.stdout, lambda job, on_cell: execute(job, on_cell, warm))


if __name__ == "__main__":
    main()
