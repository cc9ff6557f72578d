"""Papermill's engine that runs the cells in this process, which starts no kernel.

Papermill reads, adds parameters, keeps time, shows progress, writes and raises::

    papermill notebooks/documents/D-table1.ipynb out.ipynb --engine dpbayes -p n 60
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import v4
from traitlets.config import Config

from dpbayes import record

NAME = "dpbayes"
new_output: Any = v4.new_output
ENGINE: Any = None  # papermill asks for it while this module imports papermill
engines: Any = importlib.import_module("papermill.engines")
SETTINGS = Config(
    {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
)


class InProcess(engines.Engine):  # type: ignore[misc]
    """Run a notebook's cells in a shell of their own in this process."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, input_path: str | None = None, **_: Any
    ) -> None:
        """Run the cells of a notebook that papermill manages, up to one that fails."""
        if not record.begun():
            record.session(Path(input_path).stem if input_path else None)
        with own_shell() as (shell, trace):
            for place, cell in enumerate(nb_man.nb.cells):
                nb_man.cell_start(cell, place)
                trace.clear()
                if cell.cell_type == "code" and not run_cell(shell, cell):
                    cell.outputs.append(failure(trace))
                    nb_man.cell_exception(cell, place)
                    break
                nb_man.cell_complete(cell, place)


def run_cell(shell: Any, cell: Any) -> bool:
    """Run one cell, keep what it showed, and say whether it came to its end."""
    with capture_output() as seen:
        shell.display_trap.hook = sys.displayhook  # which the shell would set aside
        result = shell.run_cell(cell.source, store_history=True)
    cell.execution_count, cell.outputs = result.execution_count, []
    for name, text in (("stdout", seen.stdout), ("stderr", seen.stderr)):
        if text:
            cell.outputs.append(new_output("stream", name=name, text=text))
    for one in seen.outputs:
        shown = {
            kind: base64.b64encode(content).decode()
            if isinstance(content, bytes)
            else content
            for kind, content in one.data.items()
        }
        cell.outputs.append(new_output("display_data", shown, metadata=one.metadata))
    return bool(result.success)


def failure(trace: list[Any]) -> Any:
    """Return the output of a cell that failed; one that left Python has no trace."""
    kind, value, lines = trace[-1] if trace else ("SystemExit", "1", [])
    return new_output("error", ename=kind, evalue=value, traceback=lines)


@contextlib.contextmanager
def own_shell() -> Iterator[tuple[Any, list[Any]]]:
    """Give an empty shell and the list of its failures, and then back what was there:
    this process may itself be a notebook's.
    """
    outer, main = InteractiveShell._instance, sys.modules["__main__"]
    families: list[Any] = list(type(outer)._walk_mro()) if outer else []
    for family in families:
        family._instance = None
    shell: Any = InteractiveShell.instance(config=SETTINGS)
    trace: list[Any] = []
    shell._showtraceback = lambda kind, value, lines: trace.append(
        (kind.__name__, str(value), list(lines))
    )
    try:
        yield shell, trace
    finally:
        InteractiveShell.clear_instance()
        for family in families:
            family._instance = outer
        sys.modules["__main__"] = main


ENGINE = InProcess
engines.papermill_engines.register(NAME, ENGINE)  # also where nothing is installed
