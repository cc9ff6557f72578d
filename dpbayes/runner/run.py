"""Notebooks run by papermill in forks of this process, which has imported what they
import: that takes long.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpbayes
from dpbayes import record
from dpbayes.notebooks.parameters import declared, load
from dpbayes.record import json_bytes, read_json, write_atomically

HEAVY = (
    "from matplotlib.backends import backend_agg, backend_svg;"
    " import papermill.execute, dpbayes.runner.engine"
)
REPORT = "report.json"


@dataclass(frozen=True)
class Order:
    """A run: the notebook's name and file, the value of every parameter, and an empty
    stage.
    """

    name: str
    notebook: Path
    values: Mapping[str, Any]
    stage: Path
    label: str = ""


@dataclass(frozen=True)
class Done:
    """What came of an order: what went wrong or nothing, its seconds, and the files
    that the run has written, paths below the stage with their SHA-256.
    """

    order: Order
    problem: str = ""
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)

    def made(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """Return what provenance says of the run, which was made from what `key`
        says.
        """
        return {
            "notebook": self.order.name,
            "parameters": dict(self.order.values),
            "seconds": round(self.seconds, 3),
            "made from": key,
        }


def run_all(orders: Sequence[Order], jobs: int = 2) -> Iterator[Done]:
    """Run notebooks, so many at a time, each into its stage, and yield each as it
    ends.
    """
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    warm_up(order.notebook for order in orders)
    waiting, running = list(orders), dict[Any, tuple[Order, Any, int]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                order = waiting.pop(0)
                line = min({*range(jobs)} - {line for *_, line in running.values()})
                process = context.Process(target=_run, args=(order, line), daemon=True)
                process.start()
                running[process.sentinel] = order, process, line
            for ended in multiprocessing.connection.wait(list(running)):
                order, process, _ = running.pop(ended)
                process.join()
                early = f"its process ended with {process.exitcode} too early"
                problem = {"problem": f"{order.name}: {early}"}
                yield Done(order, **(read_json(order.stage / REPORT) or problem))
    finally:
        for _, process, _ in running.values():
            process.kill()
            process.join()


def run_one(order: Order) -> Done:
    """Run one notebook."""
    return next(run_all([order], 1))


def warm_up(notebooks: Iterator[Path]) -> None:
    """Import what notebooks import and what the package offers."""
    cells = [one for path in notebooks for one in load(path)["cells"]]
    code = "\n".join(one["source"] for one in cells if one["cell_type"] == "code")
    lines = re.findall(r"^(?:from|import) [^;\n]+$", code, re.MULTILINE)
    for line in {HEAVY, *lines} if code else ():
        with contextlib.suppress(Exception):  # the notebook meets it, and says so
            exec(line, {})
    for name in dpbayes.__all__ if code else ():
        getattr(dpbayes, name)


def executed(name: str) -> str:
    """Return the name of the file that an executed notebook becomes."""
    return f"{name.rpartition('/')[2]}.ipynb"


def _run(order: Order, line: int) -> None:
    """Run a notebook in this process, which ends with its parent, and leave a report;
    `line` of the terminal is for its progress.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and says so
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    stage = order.stage.absolute()
    stage.mkdir(parents=True)
    try:
        report = _execute(order, stage, line)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if type(error).__name__ == "PapermillExecutionError":
            text = str(error).strip().strip("-").strip()
        report = {"problem": f"{order.name} ({order.notebook}): {text}"}
    write_atomically(stage / REPORT, json_bytes(report))


def _end_with_parent() -> None:
    """Wait for the end of the process that began this one, and end, too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _execute(order: Order, stage: Path, line: int) -> dict[str, Any]:
    """Have papermill run a notebook in its stage, and report the files and the time."""
    from papermill.execute import execute_notebook

    from dpbayes.runner import engine

    own, content = declared(load(order.notebook)), order.notebook.read_bytes()
    given = {key: v for key, v in order.values.items() if v != own[key].default}
    stem = executed(order.name).removesuffix(".ipynb")
    source, output = f"{stem}-source.ipynb", f"{stem}.ipynb"
    (stage / source).write_bytes(content)
    record.begin(order.name, stage / "results")
    os.chdir(stage)
    os.environ["MPLBACKEND"] = "agg"
    bar = {"desc": order.label or order.name, "position": line, "leave": False}
    path, out = (one.replace("{", "{{").replace("}", "}}") for one in (source, output))
    done = execute_notebook(
        path, out, given, engine_name=engine.NAME, request_save_on_cell_execute=False,
        progress_bar=bar if sys.stderr.isatty() else False,
    )  # fmt: skip
    written = hashlib.sha256((stage / output).read_bytes()).hexdigest()
    files = {
        f"results/{order.name}/{file}": one for file, one in record.files().items()
    }
    files |= {source: hashlib.sha256(content).hexdigest(), output: written}
    return {"seconds": done.metadata.papermill.duration, "files": files}
