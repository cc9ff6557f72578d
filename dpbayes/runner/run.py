"""Notebooks run in forks of this process, which has imported what they import: that
takes long.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dpbayes
from dpbayes import record
from dpbayes.record import PROVENANCE, json_bytes, read_json, write_atomically
from dpbayes.runner.notebooks import declared, load, tags

HEAVY = (
    "from matplotlib.backends import backend_agg, backend_svg; import"
    " IPython.utils.capture"
)
EXECUTED, PROBLEM = "executed.ipynb", "problem.txt"
OnCell = Callable[[int, int], object] | None  # told which cell of how many runs


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


Done = tuple[Order, float, str]  # its seconds, and what went wrong or nothing


def run_all(
    orders: Sequence[Order], jobs: int = 2, on_cell: OnCell = None
) -> Iterator[Done]:
    """Run notebooks, so many at a time, each into its stage, and yield each as it
    ends."""
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    warm_up(order.notebook for order in orders)
    waiting, running = list(orders), dict[Any, tuple[Order, Any, float]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                order = waiting.pop(0)
                process = context.Process(
                    target=_run, args=(order, on_cell), daemon=True
                )
                process.start()
                running[process.sentinel] = order, process, time.perf_counter()
            for ended in multiprocessing.connection.wait(list(running)):
                order, process, began = running.pop(ended)
                process.join()
                problem = order.stage / PROBLEM
                early = (
                    f"{order.name}: its process ended with {process.exitcode} too early"
                )
                said = problem.read_text("utf-8") if problem.is_file() else early
                yield order, time.perf_counter() - began, said
    finally:
        for _, process, _ in running.values():
            process.kill()


def run_one(order: Order, on_cell: OnCell = None) -> Done:
    """Run one notebook."""
    return next(run_all([order], 1, on_cell))


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


def _run(order: Order, on_cell: OnCell) -> None:
    """Run a notebook in this process, tell which cell runs, and leave what went
    wrong."""
    stage = order.stage.absolute()
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    try:
        problem = _run_cells(order, stage, on_cell)
    except Exception as error:
        problem = f"{order.name}: {type(error).__name__}: {error}"
    (stage / PROBLEM).write_text(problem, "utf-8")


def _run_cells(order: Order, stage: Path, on_cell: OnCell) -> str:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    notebook = load(order.notebook)
    record.begin(order.name, stage / "results")
    os.chdir(stage)
    os.environ["MPLBACKEND"] = "agg"
    shell: Any = InteractiveShell.instance(
        config=Config({"HistoryManager": {"enabled": False}})
    )
    trace: list[str] = []
    shell._showtraceback = lambda kind, value, lines: trace.extend(lines)
    code = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    for place, cell in enumerate(code, 1):
        if on_cell:
            on_cell(place, len(code))
        if "parameters" in tags(cell):
            known = declared(notebook)
            given = [
                replace(known[name], default=one) for name, one in order.values.items()
            ]
            cell["source"] = "\n".join(map(str, given))
        with capture_output() as seen:
            shell.display_trap.hook = sys.displayhook  # which the shell would set aside
            result = shell.run_cell(cell["source"], store_history=True)
        if not result.success:
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(trace))  # without colours
            where = (
                f"{order.name}: cell {place} of {len(code)} failed ({order.notebook})"
            )
            return f"{where}\n\n{cell['source']}\n\n{text}"
        cell["execution_count"], cell["outputs"] = place, []
        for name, text in (("stdout", seen.stdout), ("stderr", seen.stderr)):
            if text:
                cell["outputs"].append(
                    {"output_type": "stream", "name": name, "text": text}
                )
        for one in seen.outputs:
            part = {"data": one.data, "metadata": one.metadata or {}}
            cell["outputs"].append({"output_type": "display_data", **part})
    notebook["metadata"]["language_info"] = {"name": "python", "file_extension": ".py"}
    notebook.update(nbformat=4, nbformat_minor=5)
    write_atomically(stage / EXECUTED, notebook_bytes(notebook))
    return ""


def notebook_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Return the one way a notebook is written; a picture is text in it."""
    options: Any = {"indent": 1, "sort_keys": True, "ensure_ascii": False}
    options["default"] = lambda picture: base64.b64encode(picture).decode()
    return f"{json.dumps(notebook, **options)}\n".encode()


def publish(order: Order, seconds: float, key: Mapping[str, Any], folder: Path) -> None:
    """Make a folder hold what a run recorded and how it came to be; equal files are
    left alone.
    """
    paths = [*(order.stage / "results" / order.name).glob("*"), order.stage / EXECUTED]
    files = {one.name: one.read_bytes() for one in paths}
    commit = [
        "git",
        "-C",
        str(Path(dpbayes.__file__).parent),
        "describe",
        "--always",
        "--dirty",
    ]
    said = ""
    with contextlib.suppress(OSError):
        said = subprocess.run(
            [*commit, "--abbrev=40"], capture_output=True, text=True
        ).stdout
    made = {
        "notebook": order.name, "parameters": dict(order.values), "commit": said.strip() or None,
        "seconds": round(seconds, 3), "made from": key,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }  # fmt: skip
    for file, content in {**files, PROVENANCE: json_bytes(made)}.items():
        write_atomically(folder / file, content)
    for path in folder.glob("*"):
        if path.name not in files.keys() | {PROVENANCE} and path.is_file():
            path.unlink()


def kept(folder: Path) -> dict[str, Any]:
    """Return how the results in a folder came to be; nothing where they are missing or
    damaged.
    """
    made = read_json(folder / PROVENANCE)
    for name, digest in made.get("sha256", {}).items():
        path = folder / name
        if (
            not path.is_file()
            or hashlib.sha256(path.read_bytes()).hexdigest() != digest
        ):
            return {}
    return made
