"""One run of one notebook through papermill, into a stage that nobody reads until it is whole."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
from ipykernel.ipkernel import IPythonKernel
from papermill.engines import Engine, NBClientEngine, papermill_engines
from traitlets.config import Config

from dpbayes.press.forked import Warm, answers
from dpbayes.press.jobs import (
    RESULTS,
    TRACES,
    Job,
    NotebookFailure,
    environment,
    finish,
    surroundings_of,
)
from dpbayes.press.pages import notebook_bytes
from dpbayes.press.traces import START

EXECUTED = "notebook.ipynb"  # the executed notebook in its stage
# Sockets in the file system where there are such: nothing listens on the network.
LOCAL_SOCKETS = Config({"KernelManager": {"transport": "ipc" if os.name == "posix" else "tcp"}})
IN_A_KERNEL = {
    "engine_name": "counting",
    "config": LOCAL_SOCKETS,
    "extra_arguments": ["--log-level=CRITICAL", f"--IPKernelApp.exec_lines={START}"],
}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CountingEngine(NBClientEngine):
    """Papermill's engine, which also says which cell starts."""

    @classmethod
    def execute_managed_notebook(
        cls, manager: Any, kernel_name: str, on_cell: Callable[[int, int], None], **options: Any
    ) -> None:
        """Run all cells; ``on_cell(index, number of cells)`` is called before each."""
        start = manager.cell_start

        def cell_start(cell: Any, cell_index: int = 0, **rest: Any) -> None:
            on_cell(cell_index, len(manager.nb.cells) - 1)
            start(cell, cell_index, **rest)

        manager.cell_start = cell_start
        manager.nb.cells.append(last_cell(options.pop("traces")))
        try:
            super().execute_managed_notebook(manager, kernel_name, **options)
        finally:
            manager.nb.cells.pop()


def last_cell(traces: Path) -> Any:
    """Return the cell that writes what the notebook has used; it is no part of the result."""
    source = f"from dpbayes.press import traces as _traces\n_traces.write({str(traces)!r})"
    cell: Any = nbformat.v4.new_code_cell  # it has no types
    return cell(source, metadata={"papermill": {}, "tags": []})


class ForkedEngine(Engine):
    """Runs the cells in a fork of this process, without a kernel; see `dpbayes.press.forked`."""

    @classmethod
    def execute_managed_notebook(
        cls,
        manager: Any,
        kernel_name: str,
        on_cell: Callable[[int, int], None],
        traces: Path,
        warm: Warm,
        **_: Any,
    ) -> None:
        """Run all cells; ``on_cell(index, number of cells)`` is called before each."""
        cells = manager.nb.cells
        with answers(warm, [one.source for one in cells if is_run(one)], traces) as answered:
            for index, cell in enumerate(cells):
                on_cell(index, len(cells))
                manager.cell_start(cell, index)
                answer = next(answered, None) if is_run(cell) else {}
                if answer is None:
                    break  # the fork has ended, and why is said when the answers are closed
                if answer:
                    cell.execution_count = answer["number"]
                    cell.outputs = [node(one) for one in answer["outputs"]]
                    if not answer["well"]:
                        manager.cell_exception(cell, index)
                manager.cell_complete(cell, index)
                if not answer.get("well", True):
                    break
        manager.nb.metadata["language_info"] = node(IPythonKernel.language_info)


def node(content: Any) -> Any:
    """Return a part of a notebook in nbformat's own classes."""
    made: Any = nbformat.from_dict  # it has no types
    return made(content)


def is_run(cell: Any) -> bool:
    """Say whether there is something to run in a cell."""
    return bool(cell.cell_type == "code" and cell.source.strip())


papermill_engines.register("counting", CountingEngine)
papermill_engines.register("forked", ForkedEngine)


def execute(
    job: Job,
    on_cell: Callable[[int, int], None] = lambda index, total: None,
    warm: Warm | None = None,
) -> None:
    """Run a notebook into an empty stage, or raise NotebookFailure.

    The cells run in the notebook's kernel, or where this process is `warm`, in a fork of it.

    Afterwards the stage holds the executed notebook and a ``results`` folder with what the notebook
    recorded. The same notebook with the same values gives the same bytes, provenance aside.
    """
    shutil.rmtree(job.stage, ignore_errors=True)
    (job.stage / RESULTS).mkdir(parents=True)
    options = {"engine_name": "forked", "warm": warm} if warm else IN_A_KERNEL
    with environment(surroundings_of(job)):
        try:
            executed = papermill.execute_notebook(
                str(job.notebook),
                None,
                parameters=dict(job.values),
                on_cell=on_cell,
                traces=job.stage / TRACES,
                progress_bar=False,
                cwd=str(job.stage),
                **options,
            )
        except papermill.PapermillExecutionError as error:
            raise NotebookFailure(failure_report(job, error)) from error
    finish(job)
    (job.stage / EXECUTED).write_bytes(notebook_bytes(tidy(executed)))


def failure_report(job: Job, error: papermill.PapermillExecutionError) -> str:
    """Return what went wrong: the notebook, the cell, its source and the traceback."""
    traceback = COLOUR.sub("", "\n".join(error.traceback)) or f"{error.ename}: {error.evalue}"
    return (
        f"{job.name}: the code cell with execution count {error.exec_count} failed "
        f"({job.notebook})\n\n{error.source}\n\n{traceback}"
    )


def tidy(notebook: Any) -> Any:
    """Return the executed notebook without times, paths and random cell names."""
    notebook.metadata.pop("papermill", None)
    for index, cell in enumerate(notebook.cells):
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"
        elif not cell.get("id"):
            cell["id"] = f"cell-{index}"
    return notebook
