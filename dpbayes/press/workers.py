"""Processes that run notebooks, and the threads that hand out the work."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from dpbayes.press.jobs import ONE_THREAD

Start = Callable[[IO[str]], "subprocess.Popen[str]"]


@dataclass(frozen=True)
class Order:
    """One run: what it is called among the others, and the fields of its Job."""

    label: str
    name: str
    notebook: Path
    values: Mapping[str, Any]
    stage: Path

    def line(self) -> str:
        """Return the order as a worker reads it."""
        fields = {"name": self.name, "notebook": str(self.notebook), "stage": str(self.stage)}
        return json.dumps({**fields, "values": dict(self.values)}) + "\n"


class Watcher(Protocol):
    """Who is told how the work goes; called from more than one thread."""

    def cell(self, label: str, index: int, total: int) -> None:
        """Cell ``index`` of a run starts."""

    def done(self, label: str, seconds: float) -> None:
        """A run is finished, its stage whole."""

    def failed(self, label: str, problem: str) -> bool:
        """A run failed; return whether the work goes on."""


@dataclass
class Workers:
    """The work still to do, what went wrong, and the processes that are at it."""

    work: queue.SimpleQueue[Order]
    watcher: Watcher
    start: Start
    stopped: bool = False
    failures: list[str] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def serve(self) -> None:
        """Run notebooks in a process of one's own until none is left or the work is stopped."""
        try:
            while not self.stopped and not self.work.empty():
                self.serve_in_one_process()
        except Exception as error:  # a thread must not fail unheard
            self.failures.append(f"{type(error).__name__}: {error}")
            self.stopped = True

    def serve_in_one_process(self) -> None:
        """Run notebooks in one process until none is left or the process has died."""
        with tempfile.TemporaryFile("w+") as complaints:
            process = self.start(complaints)
            self.processes.append(process)
            try:
                while not self.stopped:
                    if not self.run(self.work.get_nowait(), process, complaints):
                        return
            except queue.Empty:
                pass
            finally:
                end(process)

    def run(self, order: Order, process: subprocess.Popen[str], complaints: IO[str]) -> bool:
        """Order one run, follow it to its end, and return whether the process is still there."""
        started = time.perf_counter()
        outcome = follow(process, order, self.watcher.cell)
        if outcome is None:
            complaints.seek(0)
            self.fail(order, f"{order.name}: the process died\n{complaints.read()[-2000:]}")
        elif "failure" in outcome:
            self.fail(order, outcome["failure"])
        else:
            self.watcher.done(order.label, time.perf_counter() - started)
        return outcome is not None

    def fail(self, order: Order, problem: str) -> None:
        """Keep what went wrong, and stop if whoever watches says so."""
        self.failures.append(problem)
        if not self.watcher.failed(order.label, problem):
            self.stopped = True


def follow(
    process: subprocess.Popen[str],
    order: Order,
    on_cell: Callable[[str, int, int], None] = lambda label, index, total: None,
) -> dict[str, Any] | None:
    """Have a process carry out an order and return its outcome; None when the process died."""
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(order.line())
        process.stdin.flush()
    except OSError:
        return None
    for line in process.stdout:
        answer = read_answer(line)
        if "cell" in answer:
            on_cell(order.label, answer["cell"], answer["of"])
        elif "failure" in answer or "done" in answer:
            return answer
    return None


def end(process: subprocess.Popen[str]) -> None:
    """End a worker and what it runs."""
    process.terminate()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()


def start_notebooks(complaints: IO[str], apart: bool = True) -> subprocess.Popen[str]:
    """Return a fresh process that runs notebooks through papermill."""
    return started("dpbayes.press.worker", complaints, apart)


def start_points(complaints: IO[str], apart: bool = True) -> subprocess.Popen[str]:
    """Return a fresh process that runs one notebook at many points."""
    return started("dpbayes.press.points", complaints, apart)


def started(module: str, complaints: IO[str], apart: bool) -> subprocess.Popen[str]:
    """Return a process that waits for orders; `apart`, a Ctrl-C on the terminal misses it."""
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env={**os.environ, **ONE_THREAD},
        text=True,
        start_new_session=apart,
    )


def read_answer(line: str) -> dict[str, Any]:
    """Return one answer of the worker; other text on its output is nobody's answer."""
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def run_all(
    orders: Iterable[Order], watcher: Watcher, hands: int = 2, start: Start | None = None
) -> list[str]:
    """Carry out orders, ``hands`` at a time, and return what went wrong.

    Once the watcher stops the work nothing new is begun; what is under way is finished and kept.
    """
    waiting = list(orders)
    if not waiting:
        return []
    return share_out(
        waiting, Workers(queue.SimpleQueue(), watcher, start or start_notebooks), hands
    )


def share_out(waiting: Sequence[Order], workers: Workers, hands: int) -> list[str]:
    """Have workers carry out orders in as many threads as there are hands."""
    for order in waiting:
        workers.work.put(order)
    threads = [
        threading.Thread(target=workers.serve, daemon=True) for _ in range(min(hands, len(waiting)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # an interrupted build: nothing may go on behind its back
        workers.stopped = True
        for process in workers.processes:
            process.kill()
        raise
    return workers.failures
