"""A process that runs notebooks one after the other, as told on its standard input.

One JSON object a line comes in, the fields of a Job; progress and the outcome go out likewise::

    {"cell": 3, "of": 9}    {"done": true}    {"failure": "tables/x: the code cell ..."}

Its argument names the kernel; see `dpbayes.press.warm`.
"""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

from dpbayes.press.execution import execute
from dpbayes.press.jobs import NotebookFailure, job_of


def serve(orders: TextIO, answers: TextIO, kernel: str | None = None) -> None:
    """Run each notebook ordered, answering with progress and one outcome each."""

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    for line in orders:
        job = job_of(line)
        try:
            execute(job, lambda index, total: answer(cell=index, of=total), kernel)
        except NotebookFailure as failure:
            answer(failure=str(failure))
        except Exception as error:  # papermill's own trouble: a missing kernel, a dead kernel
            answer(failure=f"{job.name}: {type(error).__name__}: {error}")
        else:
            answer(done=True)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout, sys.argv[1])
