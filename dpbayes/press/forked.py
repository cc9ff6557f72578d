"""Cells that run in a fork of a process that is warm, and their outputs, one answer a cell.

Starting Python, IPython, numpy and matplotlib takes longer than most notebooks run. One process
imports them and forks for each notebook, which is as fresh as any other: no notebook has run in the
process that forks; modules of this package count as imported once the notebook imports them
(`dpbayes.press.parked`); what the process needs for itself is not there. Papermill's engine of the
build (`dpbayes.press.execution`) gets the bytes here that a kernel gives.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from dpbayes.press.parked import Parked, bring_back_as_asked, park
from dpbayes.press.shell import Shell, new_shell

HEAVY = (
    "sqlite3", "numpy", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.signal",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure",
    "seaborn",
)  # fmt: skip


@dataclass
class Warm:
    """What a fork starts with: a session in which nothing has run, the package, other modules."""

    shell: Shell
    parked: Parked
    known: frozenset[str] = field(repr=False)


def warm_up() -> Warm:
    """Import what notebooks import. Call it first: what is imported later no fork sees."""
    for module in HEAVY:
        importlib.import_module(module)
    shell, parked = new_shell(), park()
    parked.modules["dpbayes.press.traces"].used()  # the files of modules are looked up once
    parked.modules["dpbayes.figures.theme"].draw_nothing()
    return Warm(shell, parked, frozenset(sys.modules))


@contextmanager
def answers(warm: Warm, sources: Sequence[str], traces: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Run cells in a fork and yield their answers as they come; after a failure there are no more.

    An answer has the cell's ``number``, its ``outputs``, and whether it went ``well``. What the run
    used is written to ``traces`` in the end. RuntimeError says how a fork ended that did not finish
    its work. When this process ends, the fork does too.
    """
    receiving, sending = os.pipe()
    waiting, living = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        os.close(living)
        run_and_end(warm, sources, sending, waiting, traces)
    os.close(sending)
    os.close(waiting)
    try:
        with os.fdopen(receiving, encoding="utf-8") as lines:
            yield map(json.loads, lines)
            lines.read()  # it has nothing more to say when it ends
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        os.close(living)
    if status:
        raise RuntimeError(f"the process of the notebook {ending(status)}")


def ending(status: int) -> str:
    """Return in words how a process ended."""
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"


def run_and_end(
    warm: Warm, sources: Sequence[str], sending: int, waiting: int, traces: Path
) -> NoReturn:
    """Run the cells in this process, which is a fork, and end it."""
    status = 1
    try:
        threading.Thread(target=end_with, args=(waiting,), daemon=True).start()
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        forget_all_but(warm.known)
        bring_back_as_asked(warm.parked)
        tracing = importlib.import_module("dpbayes.press.traces")
        tracing.watch()
        with os.fdopen(sending, "w", encoding="utf-8") as answering:
            if run(warm.shell, sources, answering):
                tracing.write(str(traces))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def run(shell: Shell, sources: Sequence[str], answering: IO[str]) -> bool:
    """Run cells up to the first that fails, and answer each; return whether all went well."""
    for source in sources:
        number, outputs, well = shell.outputs_of(source)
        answer = {"number": number, "outputs": outputs, "well": well}
        answering.write(json.dumps(answer, default=in_base64) + "\n")
        answering.flush()
        if not well:
            return False
    return True


def in_base64(content: Any) -> str:
    """Return the bytes of an image as an output has them."""
    if not isinstance(content, bytes):
        raise TypeError(f"an output must be text or bytes, got {type(content).__name__}")
    return base64.b64encode(content).decode("ascii")


def forget_all_but(known: frozenset[str]) -> None:
    """Take packages out of ``sys.modules`` that a run has not imported; Python's own may stay."""
    for name in sys.modules.keys() - known:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            del sys.modules[name]


def end_with(waiting: int) -> None:
    """End this process when the one at the other end of a pipe ends."""
    os.read(waiting, 1)
    os.kill(os.getpid(), signal.SIGKILL)
