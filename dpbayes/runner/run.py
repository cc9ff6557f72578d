"""One run of a notebook in a fork of a warm process, and many of them in a pool of such processes.

Starting Python, numpy and matplotlib takes longer than most notebooks run. A process that has
imported them and the package forks for each notebook; the cells run in a session of IPython in the
fork. Where there is no fork, a notebook runs in the process itself.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import importlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpbayes
from dpbayes.record import FOLDER, ORDER, PROVENANCE, json_bytes, write_atomically
from dpbayes.runner.notebooks import load, tags
from dpbayes.runner.stale import Key

SURROUNDINGS = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0", "MPLBACKEND": "agg",
    # Large arrays come from memory that the process keeps, or the system clears its pages anew.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}  # fmt: skip
HEAVY = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg",
         "IPython.core.interactiveshell")  # fmt: skip
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
EXECUTED = "executed.ipynb"


@dataclass(frozen=True)
class Order:
    """A run: the notebook's name and file, the value of every parameter, and an empty stage."""

    name: str
    notebook: Path
    values: Mapping[str, Any]
    stage: Path
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("notebook", "stage"):  # a run changes its working folder
            object.__setattr__(self, name, getattr(self, name).absolute())


@dataclass(frozen=True)
class Done:
    """How a run ended: its seconds, and what went wrong or nothing."""

    order: Order
    seconds: float
    problem: str = ""


def run_all(orders: Sequence[Order], jobs: int = 2) -> Iterator[Done]:
    """Run notebooks in a pool of warm processes, and yield each as it ends."""
    joblib = importlib.import_module("joblib")
    with surroundings():
        pool = joblib.Parallel(n_jobs=min(jobs, len(orders)) or 1, return_as="generator_unordered",
                               batch_size=1, pre_dispatch="n_jobs")  # fmt: skip
        yield from pool(joblib.delayed(run_one)(order) for order in orders)


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Have processes that are started compute with one thread each."""
    before = dict(os.environ)
    os.environ.update(SURROUNDINGS)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_one(order: Order, on_cell: Callable[[int, int], None] = lambda at, of: None) -> Done:
    """Run a notebook into its stage: what it recorded, and the notebook as it was executed."""
    began = time.perf_counter()
    shutil.rmtree(order.stage, ignore_errors=True)
    (order.stage / "results").mkdir(parents=True)
    try:
        problem = _in_fork(order, on_cell) if hasattr(os, "fork") else _run(order, on_cell)
    except Exception as error:
        problem = _told(order, error)
    return Done(order, time.perf_counter() - began, problem)


def _told(order: Order, error: BaseException) -> str:
    return f"{order.name}: {type(error).__name__}: {error}"


def warm_up(notebook: Path) -> None:
    """Import what the package offers and what a notebook imports; the next one finds it here."""
    code = [one["source"] for one in load(notebook)["cells"] if one["cell_type"] == "code"]
    names = dict.fromkeys(HEAVY)
    for source in code:
        with contextlib.suppress(SyntaxError):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Import):
                    names |= dict.fromkeys(one.name for one in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names |= dict.fromkeys(
                        [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
                    )
    for name in names:
        with contextlib.suppress(Exception):  # the notebook meets the same trouble, and says so
            importlib.import_module(name)
    for name in dpbayes.__all__:
        getattr(dpbayes, name)


def _in_fork(order: Order, on_cell: Callable[[int, int], None]) -> str:
    warm_up(order.notebook)
    receiving, sending = os.pipe()
    waiting, living = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(receiving)
            os.close(living)  # so that reading ends when the process that forked has ended
            threading.Thread(target=lambda: os.read(waiting, 1) or os._exit(1), daemon=True).start()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(nowhere, stream)
            with os.fdopen(sending, "w", encoding="utf-8", buffering=1) as say:
                try:
                    problem = _run(order, lambda at, of: print(json.dumps([at, of]), file=say))
                except BaseException as error:
                    problem = _told(order, error)
                print(json.dumps(problem), file=say)
            status = 0
        finally:
            os._exit(status)
    os.close(sending)
    os.close(waiting)
    ended: str | None = None
    try:
        with os.fdopen(receiving, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if isinstance(line, str):
                    ended = line
                else:
                    on_cell(*line)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(living)
        _, status = os.waitpid(child, 0)
    if ended is None:
        how = f"was killed by {signal.Signals(status).name}" if os.WIFSIGNALED(status) else "ended"
        return f"{order.name}: the process of the notebook {how} before it was done"
    return ended


def _run(order: Order, on_cell: Callable[[int, int], None]) -> str:
    """Run the cells of a notebook in this process; return what went wrong, or nothing."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    hook: Any = importlib.import_module("IPython.core.displayhook").CapturingDisplayHook
    publisher: Any = importlib.import_module("IPython.core.displaypub").CapturingDisplayPublisher
    told = order.stage / "order.json"
    told.write_text(json.dumps({"notebook": order.name, "parameters": dict(order.values)}))
    os.environ.update({ORDER: str(told), FOLDER: str(order.stage / "results"), **SURROUNDINGS})
    os.chdir(order.stage)
    shell: Any = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_pub = shown = publisher()
    shell.display_trap.hook = hook(shell, shown.outputs)
    trace: list[str] = []
    shell._showtraceback = lambda kind, value, lines: trace.extend(lines)
    notebook = injected(load(order.notebook), order.values)
    code = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    for place, cell in enumerate(code):
        on_cell(place + 1, len(code))
        shown.outputs.clear()
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            result = shell.run_cell(cell["source"], store_history=True)
        cell["execution_count"] = place + 1
        streams = [("stdout", out.getvalue()), ("stderr", err.getvalue())]
        cell["outputs"] = [
            {"output_type": "stream", "name": name, "text": text} for name, text in streams if text
        ] + [
            {"output_type": "display_data", "data": one["data"], "metadata": one["metadata"] or {}}
            for one in shown.outputs
        ]
        if not result.success:
            text = COLOUR.sub("", "\n".join(trace))
            where = f"cell {place + 1} of {len(code)} failed ({order.notebook})"
            return f"{order.name}: {where}\n\n{cell['source']}\n\n{text}"
    notebook["metadata"]["language_info"] = {"name": "python", "file_extension": ".py"}
    write_atomically(order.stage / EXECUTED, notebook_bytes(notebook))
    return ""


def injected(notebook: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notebook with a cell after its parameters that sets their values."""
    cells = notebook["cells"]
    at = next((place for place, one in enumerate(cells) if "parameters" in tags(one)), None)
    lines = "\n".join(["# Parameters", *(f"{name} = {value!r}" for name, value in values.items())])
    new: dict[str, Any] = {
        "cell_type": "code", "id": "injected-parameters", "source": lines, "outputs": [],
        "execution_count": None, "metadata": {"tags": ["injected-parameters", "remove-cell"]},
    }  # fmt: skip
    added = [] if at is None else [*cells[: at + 1], new, *cells[at + 1 :]]
    return {**notebook, "cells": added or cells, "nbformat": 4, "nbformat_minor": 5}


def notebook_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Return the one way a notebook is written."""

    def plain(content: Any) -> str:
        if isinstance(content, bytes):
            return base64.b64encode(content).decode("ascii")
        raise TypeError(f"an output must be text or bytes, got {type(content).__name__}")

    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False, default=plain)
    return f"{text}\n".encode()


def recorded(done: Done, key: Key) -> dict[str, bytes]:
    """Return the files of a finished run, how they came to be among them."""
    folder = done.order.stage / "results" / done.order.name
    files = {one.name: one.read_bytes() for one in sorted(folder.glob("*")) if one.is_file()}
    files[EXECUTED] = (done.order.stage / EXECUTED).read_bytes()
    made = {
        "notebook": done.order.name, "seed": done.order.values.get("seed"), "commit": commit(),
        "machine": platform.machine(), "seconds": round(done.seconds, 3), "made from": key,
        "parameters": dict(done.order.values), "python": platform.python_version(),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }  # fmt: skip
    return {**files, PROVENANCE: json_bytes(made)}


def publish(files: Mapping[str, bytes], folder: Path) -> None:
    """Make a folder hold these files and no others; equal files are left as they are."""
    for name, content in files.items():  # how they came to be is written last
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
    for path in folder.glob("*"):
        if path.name not in files and path.is_file():
            path.unlink()


def kept(folder: Path) -> dict[str, Any] | None:
    """Return how the results in a folder came to be; None where they are missing or damaged."""
    try:
        made = dict(json.loads((folder / PROVENANCE).read_text(encoding="utf-8")))
        for name, digest in made["sha256"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                return None
    except (OSError, ValueError, KeyError):
        return None
    return made


def commit() -> str | None:
    """Return the commit the package was run from, with ``-dirty`` if something was edited since."""
    words = ["git", "-C", str(Path(dpbayes.__file__).parent), "describe", "--always", "--dirty"]
    with contextlib.suppress(OSError):
        done = subprocess.run([*words, "--abbrev=40"], capture_output=True, text=True, check=False)
        return done.stdout.strip() or None
    return None
