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
from papermill.engines import NBClientEngine, papermill_engines
from traitlets.config import Config

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


papermill_engines.register("counting", CountingEngine)


def execute(
    job: Job,
    on_cell: Callable[[int, int], None] = lambda index, total: None,
    kernel: str | None = None,
) -> None:
    """Run a notebook into an empty stage, or raise NotebookFailure.

    `kernel` names another kernel than the notebook's own.

    Afterwards the stage holds the executed notebook and a ``results`` folder with what the notebook
    recorded. The same notebook with the same values gives the same bytes, provenance aside.
    """
    shutil.rmtree(job.stage, ignore_errors=True)
    (job.stage / RESULTS).mkdir(parents=True)
    with environment(surroundings_of(job)):
        try:
            executed = papermill.execute_notebook(
                str(job.notebook),
                None,
                parameters=dict(job.values),
                engine_name="counting",
                kernel_name=kernel,
                on_cell=on_cell,
                traces=job.stage / TRACES,
                progress_bar=False,
                config=LOCAL_SOCKETS,
                extra_arguments=["--log-level=CRITICAL", f"--IPKernelApp.exec_lines={START}"],
                cwd=str(job.stage),
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
