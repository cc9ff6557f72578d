"""Notebooks run in forks of this process, which has imported what they import.

Starting Python, numpy and matplotlib takes longer than most notebooks run. The cells run in a
session of IPython in the fork. Where there is no fork, a process is started anew.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import ctypes
import hashlib
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpbayes
from dpbayes import record
from dpbayes.record import PROVENANCE, json_bytes, write_atomically, write_changed
from dpbayes.runner.notebooks import load, tags

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
HEAVY = "from matplotlib.backends import backend_agg, backend_svg; import IPython.core.displaypub"
EXECUTED = "executed.ipynb"
OnCell = Callable[[int, int], None]


@dataclass(frozen=True)
class Order:
    """A run: the notebook's name and file, the value of every parameter, and an empty stage."""

    name: str
    notebook: Path
    values: Mapping[str, Any]
    stage: Path
    label: str = ""


@dataclass(frozen=True)
class Done:
    """How a run ended: its seconds, and what went wrong or nothing."""

    order: Order
    seconds: float
    problem: str = ""


def run_all(
    orders: Sequence[Order], jobs: int = 2, on_cell: OnCell = lambda at, of: None
) -> Iterator[Done]:
    """Run notebooks, so many at a time, each into its stage, and yield each as it ends."""
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else None)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    warm_up(order.notebook for order in orders)
    waiting, running = list(orders), dict[Any, tuple[Order, Any, float]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                order, (receiving, sending) = waiting.pop(0), context.Pipe(duplex=False)
                process = context.Process(target=_run, args=(order, sending), daemon=True)
                process.start()
                sending.close()  # so that nothing more comes when the process has ended
                running[receiving] = order, process, time.perf_counter()
            ready: Any = multiprocessing.connection.wait(list(running))
            for receiving in ready:
                order, process, began = running[receiving]
                try:
                    said = receiving.recv()
                except EOFError:
                    process.join()
                    said = f"{order.name}: its process ended with {process.exitcode} too early"
                if isinstance(said, str):
                    process.join()
                    del running[receiving]
                    yield Done(order, time.perf_counter() - began, said)
                else:
                    on_cell(*said)
    finally:
        for _, process, _ in running.values():
            process.kill()


def run_one(order: Order, on_cell: OnCell = lambda at, of: None) -> Done:
    """Run one notebook."""
    return next(run_all([order], 1, on_cell))


def warm_up(notebooks: Iterator[Path]) -> None:
    """Import what notebooks import and what the package offers."""
    for source in [HEAVY, *(one["source"] for path in notebooks for one in load(path)["cells"])]:
        with contextlib.suppress(SyntaxError):  # it is text, or holds a magic word
            for node in ast.parse(source).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    with contextlib.suppress(Exception):  # the notebook meets it, and says so
                        exec(ast.unparse(node), {})
    for name in dpbayes.__all__:
        getattr(dpbayes, name)


def _run(order: Order, say: Any) -> None:
    """Run a notebook in this process, tell which cell runs, and at the end what went wrong."""
    try:
        problem = _run_cells(order, say)
    except Exception as error:
        problem = f"{order.name}: {type(error).__name__}: {error}"
    say.send(problem)


def _run_cells(order: Order, say: Any) -> str:
    from IPython.core import displayhook, displaypub, interactiveshell
    from traitlets.config import Config

    with contextlib.suppress(AttributeError, OSError, TypeError):  # of another system's C library
        for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: large arrays are kept
            ctypes.CDLL(None).mallopt(option, 1 << 30)
    stage, notebook = order.stage.absolute(), load(order.notebook)
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    record.begin(order.name, stage / "results")
    os.chdir(stage)
    os.environ.update({**ONE_THREAD, "MPLBACKEND": "agg"})
    options = Config({"HistoryManager": {"enabled": False}})
    shell: Any = interactiveshell.InteractiveShell.instance(config=options)
    shell.display_pub = shown = displaypub.CapturingDisplayPublisher()  # type: ignore[no-untyped-call]
    shell.display_trap.hook = displayhook.CapturingDisplayHook(shell, shown.outputs)  # type: ignore[no-untyped-call]
    trace: list[str] = []
    shell._showtraceback = lambda kind, value, lines: trace.extend(lines)
    inject(notebook, order.values)
    code = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    for place, cell in enumerate(code, 1):
        say.send((place, len(code)))
        shown.outputs.clear()
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = shell.run_cell(cell["source"], store_history=True)
        cell["execution_count"], cell["outputs"] = place, []
        for name, text in (("stdout", out.getvalue()), ("stderr", err.getvalue())):
            if text:
                cell["outputs"].append({"output_type": "stream", "name": name, "text": text})
        for one in shown.outputs:
            part = {"data": one["data"], "metadata": one["metadata"] or {}}
            cell["outputs"].append({"output_type": "display_data", **part})
        if not result.success:
            where = f"cell {place} of {len(code)} failed ({order.notebook})"
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(trace))  # without colours
            return f"{order.name}: {where}\n\n{cell['source']}\n\n{text}"
    notebook["metadata"]["language_info"] = {"name": "python", "file_extension": ".py"}
    write_atomically(stage / EXECUTED, notebook_bytes(notebook))
    return ""


def inject(notebook: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Put a cell behind the parameters that sets their values."""
    lines = ["# Parameters", *(f"{name} = {value!r}" for name, value in values.items())]
    new: dict[str, Any] = {
        "cell_type": "code", "id": "injected-parameters", "source": "\n".join(lines), "outputs": [],
        "execution_count": None, "metadata": {"tags": ["injected-parameters", "remove-cell"]},
    }  # fmt: skip
    for place in [i for i, one in enumerate(notebook["cells"], 1) if "parameters" in tags(one)]:
        notebook["cells"].insert(place, new)
    notebook.update(nbformat=4, nbformat_minor=5)


def notebook_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Return the one way a notebook is written; a picture is text in it."""

    def plain(content: bytes) -> str:
        return base64.b64encode(content).decode("ascii")

    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False, default=plain)
    return f"{text}\n".encode()


def recorded(done: Done, key: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a finished run, how they came to be among them."""
    folder, values = done.order.stage / "results" / done.order.name, dict(done.order.values)
    paths = [*sorted(folder.glob("*")), done.order.stage / EXECUTED]
    files = {one.name: one.read_bytes() for one in paths}
    words = ["git", "-C", str(Path(dpbayes.__file__).parent), "describe", "--always", "--dirty"]
    commit = ""
    with contextlib.suppress(OSError):
        commit = subprocess.run([*words, "--abbrev=40"], capture_output=True, text=True).stdout
    made = {
        "notebook": done.order.name, "seed": values.get("seed"), "commit": commit.strip() or None,
        "machine": platform.machine(), "seconds": round(done.seconds, 3), "made from": key,
        "parameters": values, "python": platform.python_version(),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }  # fmt: skip
    return {**files, PROVENANCE: json_bytes(made)}


def publish(files: Mapping[str, bytes], folder: Path) -> None:
    """Make a folder hold these files and no others; equal files are left as they are."""
    for name, content in files.items():  # how they came to be is written last
        write_changed(folder / name, content)
    for path in folder.glob("*"):
        if path.name not in files and path.is_file():
            path.unlink()


def kept(folder: Path) -> dict[str, Any]:
    """Return how the results in a folder came to be; nothing where they are missing or damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        made = dict(json.loads((folder / PROVENANCE).read_text(encoding="utf-8")))
        digests = {name: hashlib.sha256((folder / name).read_bytes()) for name in made["sha256"]}
        if made["sha256"] == {name: one.hexdigest() for name, one in digests.items()}:
            return made
    return {}
