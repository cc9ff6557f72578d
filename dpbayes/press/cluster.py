"""The points of a sweep on the workers of a dask scheduler that share the output folder.

A worker process keeps warm processes of `dpbayes.press.points`, one for every point it runs at a
time. When a worker dies, dask gives its points to another; their stages are nobody's result.
"""

from __future__ import annotations

import importlib
import queue
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dpbayes.press.cache import Cache
from dpbayes.press.sweeping import Sweep
from dpbayes.press.workers import Order, follow, start_points

_idle: queue.LifoQueue[subprocess.Popen[str]] = queue.LifoQueue()
RETRIES = 3


def run_on_cluster(client: Any, orders: list[Order], sweep: Sweep) -> list[str]:
    """Run orders on a cluster and return what went wrong."""
    distributed: Any = importlib.import_module("distributed")
    folder = str(sweep.cache.folder)
    futures = {
        client.submit(run_point, one, folder, key=f"{one.label}-{id(sweep)}", retries=RETRIES): one
        for one in orders
    }
    failures = []
    for future in distributed.as_completed(futures):
        order = futures[future]
        problem = str(future.exception()) if future.status == "error" else ""
        answer: dict[str, Any] = {"failure": problem} if problem else future.result()
        if "failure" in answer:
            failures.append(answer["failure"])
            sweep.failed(order.label, answer["failure"])
        else:
            sweep.done(order.label, answer["seconds"], Path(answer["stage"]))
    return failures


def run_point(order: Order, folder: str) -> dict[str, Any]:
    """Run one point in this worker; return the stage and the seconds, or the failure."""
    started = time.perf_counter()
    stage = Cache(Path(folder)).stage(order.label)
    here = Order(order.label, order.name, order.notebook, order.values, stage)
    try:
        process = _idle.get_nowait()
    except queue.Empty:
        process = start_points(sys.stderr, apart=False)
    outcome = follow(process, here)
    if outcome is None:
        raise RuntimeError(f"{order.name}: the process died at {dict(order.values)}")
    _idle.put(process)
    if "failure" in outcome:
        return {"failure": outcome["failure"]}
    return {"stage": str(stage), "seconds": time.perf_counter() - started}
