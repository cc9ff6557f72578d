"""Two processes that run the notebooks, and the threads that hand out the work."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from dpbook.plan import Planned


class Watcher(Protocol):
    """Who is told how the work goes; called from more than one thread."""

    def cell(self, name: str, index: int, total: int) -> None:
        """Cell ``index`` of a notebook starts."""

    def done(self, name: str, seconds: float) -> None:
        """A notebook is finished, its stage whole."""


@dataclass
class Crew:
    """The work still to do, what went wrong, and the processes that are at it."""

    work: queue.SimpleQueue[Planned]
    stage: Callable[[str], Path]
    watcher: Watcher
    failures: list[str] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def labour(self) -> None:
        """Run notebooks in a process of one's own until none is left or one has failed."""
        with tempfile.TemporaryFile("w+") as complaints:
            process = start_worker(complaints)
            self.processes.append(process)
            try:
                while not self.failures:
                    self.run(self.work.get_nowait(), process, complaints)
            except queue.Empty:
                pass
            except Exception as error:  # a thread must not fail unheard
                self.failures.append(f"{type(error).__name__}: {error}")
            finally:
                process.terminate()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    if pipe:
                        pipe.close()

    def run(self, job: Planned, process: subprocess.Popen[str], complaints: IO[str]) -> None:
        """Order one notebook and follow it to its end."""
        started = time.perf_counter()
        order = {
            "name": job.name,
            "notebook": str(job.path),
            "values": dict(job.values),
            "stage": str(self.stage(job.name)),
        }
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = read_answer(line)
            if "cell" in answer:
                self.watcher.cell(job.name, answer["cell"], answer["of"])
            elif "failure" in answer:
                self.failures.append(answer["failure"])
                return
            elif "done" in answer:
                self.watcher.done(job.name, time.perf_counter() - started)
                return
        complaints.seek(0)
        self.failures.append(f"{job.name}: the process died\n{complaints.read()[-2000:]}")


def start_worker(complaints: IO[str]) -> subprocess.Popen[str]:
    """Return a fresh process that waits for orders; a Ctrl-C on the terminal does not reach it."""
    return subprocess.Popen(
        [sys.executable, "-m", "dpbayes.press.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        text=True,
        start_new_session=True,
    )


def read_answer(line: str) -> dict[str, Any]:
    """Return one answer of the worker; other text on its output is nobody's answer."""
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def run_all(
    jobs: Iterable[Planned], stage: Callable[[str], Path], watcher: Watcher, hands: int = 2
) -> list[str]:
    """Run notebooks, ``hands`` at a time, and return what went wrong.

    After a failure nothing new is begun; what is under way is finished and kept.
    """
    work: queue.SimpleQueue[Planned] = queue.SimpleQueue()
    waiting = list(jobs)
    for job in waiting:
        work.put(job)
    crew = Crew(work, stage, watcher)
    threads = [
        threading.Thread(target=crew.labour, daemon=True) for _ in range(min(hands, len(waiting)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # an interrupted build: nothing may go on behind its back
        for process in crew.processes:
            process.kill()
        raise
    return crew.failures
