"""One notebook at every point of a grid, here with joblib or on a dask cluster.

Every value is checked before the first point runs. A finished point is kept at once, so that it
survives a failure or an interruption, and is not run again unless what it was made from changed.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
import json
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


def grid(name: str, path: Path, axes: list[str], fixed: list[str]) -> dict[str, dict[str, Any]]:
    """Return the values at every point by its label; a value of an axis ends at a semicolon."""
    lists = {key: text.split(";") for key, text in from_words(axes).items()}
    same = from_words(fixed)
    if both := sorted(lists.keys() & same.keys()):
        raise ValueError(f"{both[0]} is both fixed and an axis of the grid")
    points, notebook = {}, load(path)
    for texts in itertools.product(*lists.values()):
        given = dict(zip(lists, texts, strict=True))
        values = chosen(name, notebook, {**same, **given})
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
    sources, notebook = Sources(), load(path)
    keys = {label: sources.key(notebook, values) for label, values in points.items()}
    problems, ran = dict.fromkeys(points, "not run yet"), 0
    orders = []
    for place, (label, values) in enumerate(points.items()):
        old = (kept(folder / label) or {}).get("made from")
        if reason(old, keys[label]) is None:
            problems[label] = ""
        else:
            orders.append(Order(name, path, values, folder / f"{place}.part", label))
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
        for order in orders:
            with contextlib.suppress(OSError):
                shutil.rmtree(order.stage)
    return {label: problem for label, problem in problems.items() if problem}, ran


def on_cluster(address: str, orders: Sequence[Order]) -> Iterator[Done]:
    """Run the orders on the workers of a dask scheduler and yield each as it ends."""
    distributed = importlib.import_module("distributed")
    with distributed.Client(address) as client:
        futures = client.map(run_one, orders, pure=False)
        for future in distributed.as_completed(futures):
            yield future.result()


def write_table(
    path: Path,
    points: Mapping[str, Mapping[str, Any]],
    problems: Mapping[str, str],
    folder: Path,
) -> None:
    """Write one row a point: its values, its status, and every number recorded there."""
    numbers = {
        label: {}
        if problems[label]
        else json.loads((folder / label / "numbers.json").read_text(encoding="utf-8"))
        for label in points
    }
    names = list(dict.fromkeys(name for one in numbers.values() for name in one))
    values = list(dict.fromkeys(name for one in points.values() for name in one))
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow([*values, "status", *names])
    for label, point in points.items():
        waits = problems[label] == "not run yet"
        status = "done" if not problems[label] else "waiting" if waits else "failed"
        cells = [point[name] for name in values], [numbers[label].get(name, "") for name in names]
        rows.writerow([*cells[0], status, *cells[1]])
    write_atomically(path, stream.getvalue().encode())
