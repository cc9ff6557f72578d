"""One notebook at every point of a grid, here or on a dask cluster.

Every value is checked before the first point runs. A finished point is kept at once, so that it
survives a failure or an interruption, and is not run again unless what it was made from changed.
"""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import multiprocessing
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbayes.record import write_atomically
from dpbayes.runner.notebooks import load
from dpbayes.runner.parameters import chosen, from_words
from dpbayes.runner.run import Done, Order, kept, publish, recorded, run_all, run_one
from dpbayes.runner.stale import Sources, reason
from dpbayes.runner.verify import read_json

WAITING = "not run yet"


def grid(name: str, path: Path, axes: list[str], fixed: list[str]) -> dict[str, dict[str, Any]]:
    """Return the values at every point by its label; a value of an axis ends at a semicolon."""
    lists = {key: text.split(";") for key, text in from_words(axes).items()}
    same = from_words(fixed)
    if both := sorted(lists.keys() & same.keys()):
        raise ValueError(f"{both[0]} is both fixed and an axis of the grid")
    points, notebook = {}, load(path)
    for texts in itertools.product(*lists.values()):
        values = chosen(name, notebook, {**same, **dict(zip(lists, texts, strict=True))})
        points[",".join(f"{key}={values[key]}" for key in lists)] = values
    return points


def sweep(
    name: str,
    path: Path,
    points: Mapping[str, Mapping[str, Any]],
    folder: Path,
    jobs: int = 2,
    address: str | None = None,
) -> tuple[dict[str, str], int]:
    """Run the points that are not finished, write the table; return the problems and how many ran.

    `address` is that of a dask scheduler whose workers share `folder`.
    """
    sources, notebook, stages = Sources(), load(path), folder / ".part"
    keys = {label: sources.key(notebook, values) for label, values in points.items()}
    stale = [one for one in points if reason(kept(folder / one).get("made from"), keys[one])]
    problems, ran = {one: WAITING if one in stale else "" for one in points}, 0
    orders = [Order(name, path, points[one], stages / str(i), one) for i, one in enumerate(stale)]
    table = folder.with_name(f"{folder.name}.csv")
    try:
        write_table(table, points, problems, folder)
        for done in on_cluster(address, orders) if address else run_all(orders, jobs):
            label, ran = done.order.label, ran + 1
            problems[label] = done.problem
            if not done.problem:
                publish(recorded(done, keys[label]), folder / label)
            print(f"[{ran}/{len(orders)}] {label} {done.seconds:.1f} s", file=sys.stderr)
            write_table(table, points, problems, folder)
    finally:
        shutil.rmtree(stages, ignore_errors=True)
    return {label: problem for label, problem in problems.items() if problem}, ran


def on_cluster(address: str, orders: Sequence[Order]) -> Iterator[Done]:
    """Run the orders on the workers of a dask scheduler and yield each as it ends."""
    distributed = importlib.import_module("distributed")
    with distributed.Client(address) as client:
        futures = client.map(run_on_worker, orders, pure=False)
        yield from (future.result() for future in distributed.as_completed(futures))


def run_on_worker(order: Order) -> Done:
    """Run one order in a worker; Python lets a daemon, which a worker is, have no processes."""
    multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    return run_one(order)


def write_table(
    path: Path,
    points: Mapping[str, Mapping[str, Any]],
    problems: Mapping[str, str],
    folder: Path,
) -> None:
    """Write one row a point: its values, its status, and every number recorded there."""
    status, rows = {"": "done", WAITING: "waiting"}, []
    for label, values in points.items():
        problem = problems[label]
        kept = {} if problem else read_json(folder / label / "numbers.json")
        found = {f"recorded {one}" if one in values else one: kept[one] for one in kept}
        rows.append({**values, "status": status.get(problem, "failed"), **found})
    stream = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, stream.getvalue().encode())
