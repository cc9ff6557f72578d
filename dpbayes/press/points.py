"""A process that runs one notebook at many points: modules imported once, a fork for each point.

It takes the orders of `dpbayes.press.worker` and gives the same answers. A point's cells are run as
plain Python in a fork of this process, so that no point sees another, and nothing is imported
twice. What the notebook records is kept; the outputs of its cells are not, `dpbayes run` has them.
A notebook whose cells are more than Python (magics, ``display``) is run through papermill instead.
"""

from __future__ import annotations

import ast
import functools
import gc
import json
import os
import select
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from dpbayes.press import traces
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
from dpbayes.press.parameters import load, source_of
from dpbayes.press.record import commit, described

SESSION = ("display(", "get_ipython(")  # what only a session has
PRINTED = "printed.txt"


def serve(orders: TextIO, answers: TextIO) -> None:
    """Run each point ordered, answering with one outcome each."""
    for line in orders:
        problem = run_apart(job_of(line))
        answer = {"failure": problem} if problem else {"done": True}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def run_apart(job: Job) -> str:
    """Run a point in a fork and return what went wrong, or nothing."""
    cells = python_cells(job.notebook)
    if cells is None:
        return run_through_papermill(job)
    if not hasattr(os, "fork"):
        return run_here(job, cells)
    warm_up(job.notebook)
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        problem = f"{job.name}: the process ended early"
        try:
            problem = run_here(job, cells)
        finally:
            os.write(sending, problem.encode()[-60_000:])
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        return followed(child, pipe, job)


def followed(child: int, pipe: Any, job: Job) -> str:
    """Wait for a fork and return what it says; end it when nobody waits for this process."""
    ready, _, _ = select.select([pipe, sys.stdin], [], [])
    if pipe not in ready:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise SystemExit(1)
    said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"{job.name}: killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return str(said)


def run_here(job: Job, cells: list[tuple[str, bool]]) -> str:
    """Run a notebook's cells with names of their own; return what went wrong, or nothing."""
    shutil.rmtree(job.stage, ignore_errors=True)
    (job.stage / RESULTS).mkdir(parents=True)
    with environment(surroundings_of(job)), printing_to(job.stage / PRINTED):
        try:
            run_cells(job, cells)
            traces.write(str(job.stage / TRACES))
            finish(job)
        except NotebookFailure as failure:
            return str(failure)
    return ""


def run_cells(job: Job, cells: list[tuple[str, bool]]) -> None:
    """Run the cells in order, the parameters' values put in after the cell that declares them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, (source, declares) in enumerate(cells, start=1):
        try:
            exec(compile(source, f"code cell {number}", "exec"), names)
        except Exception as error:
            report = traceback.format_exc()
            raise NotebookFailure(
                f"{job.name}: code cell {number} failed ({job.notebook})\n\n{source}\n\n{report}"
            ) from error
        if declares:
            names.update(job.values)


@contextmanager
def printing_to(path: Path) -> Iterator[None]:
    """Send what is printed to a file; the answers of this process stay clean."""
    out, sys.stdout = sys.stdout, path.open("w", encoding="utf-8")
    try:
        yield
    finally:
        sys.stdout.close()
        sys.stdout = out


@functools.cache
def python_cells(notebook: Path) -> list[tuple[str, bool]] | None:
    """Return each code cell and whether it declares the parameters; None if a cell is no Python."""
    found = []
    for cell in load(notebook)["cells"]:
        if cell["cell_type"] == "code":
            source = source_of(cell)
            try:
                ast.parse(source)
            except SyntaxError:
                return None
            if any(word in source for word in SESSION):
                return None
            found.append((source, "parameters" in cell["metadata"].get("tags", [])))
    return found


@functools.cache
def warm_up(notebook: Path) -> None:
    """Carry out the import statements of a notebook, once; a point finds out if one fails."""
    traces.watch()
    for source, _ in python_cells(notebook) or []:
        for statement in ast.parse(source).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                with suppress(Exception):
                    exec(ast.unparse(statement), {"__name__": "__main__"})
    described(traces.used())  # the versions of what is imported, and the commit, are looked up once
    commit()
    if "dpbayes.figures.theme" in sys.modules:
        from dpbayes.figures.theme import draw_nothing

        draw_nothing()
    gc.collect()
    gc.freeze()  # no point goes through the objects of these modules, or copies their pages


def run_through_papermill(job: Job) -> str:
    """Run a notebook as `dpbayes run` does; return what went wrong, or nothing."""
    from dpbayes.press.execution import execute

    try:
        execute(job)
    except NotebookFailure as failure:
        return str(failure)
    except Exception as error:  # papermill's own trouble: a missing kernel, a dead kernel
        return f"{job.name}: {type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    serve(sys.stdin, sys.stdout)
