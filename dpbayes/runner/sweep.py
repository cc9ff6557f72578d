"""One notebook at every point of a grid, here or on a dask cluster.

A finished point is kept at once, and not run again unless what it was made from
changed.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbayes.notebooks.parameters import chosen, from_words, load
from dpbayes.record import read_json, write_atomically
from dpbayes.runner.results import kept, only_one, publish, stages, terminable
from dpbayes.runner.run import Done, Order, run_all, run_one
from dpbayes.runner.stale import Sources, reason

Points = Mapping[str, Mapping[str, Any]]


def grid(
    name: str, path: Path, axes: list[str], fixed: list[str]
) -> dict[str, dict[str, Any]]:
    """Return the values at every point by its label; a value of an axis ends at a
    semicolon.
    """
    given, notebook, points = from_words([*axes, *fixed]), load(path), {}
    lists = {key: given[key].split(";") for key in from_words(axes)}
    for texts in itertools.product(*lists.values()):
        values = chosen(
            name, notebook, {**given, **dict(zip(lists, texts, strict=True))}
        )
        points[",".join(f"{key}={values[key]}" for key in lists)] = values
    return points


def sweep(
    name: str,
    path: Path,
    points: Points,
    table: Path,
    jobs: int = 2,
    address: str | None = None,
) -> tuple[dict[str, str], int]:
    """Run the points that are not finished beside the table; return problems and how
    many ran.
    """
    sources, notebook, folder = Sources(), load(path), table.with_suffix("")
    keys = {label: sources.key(notebook, values) for label, values in points.items()}
    problems: dict[str, str] = {}
    with (
        terminable(),
        only_one(folder, "another sweep"),
        _whole(table, points),
        stages(folder) as stage,
    ):
        made = {label: kept(folder / label).get("made from", {}) for label in points}
        waiting = [label for label in points if reason(made[label], keys[label])]
        status = dict.fromkeys(waiting, "waiting")
        orders = [
            Order(name, path, points[label], stage / str(place), label)
            for place, label in enumerate(waiting)
        ]
        there = len(points) - len(waiting)
        print(f"{len(waiting)} points to run, {there} there", file=sys.stderr)
        write_table(table, points, status)
        finished = on_cluster(address, orders) if address else run_all(orders, jobs)
        for ran, done in enumerate(finished, 1):
            label = done.order.label
            if done.problem:
                problems[label], status[label] = done.problem, "failed"
            else:
                made_now = done.made(keys[label])
                publish(done.order.stage, done.files, made_now, folder / label)
                del status[label]
            said = f"[{ran}/{len(orders)}] {label} {done.seconds:.1f} s"
            print(said, file=sys.stderr)
            write_table(table, points, status)
    return problems, len(orders)


@contextlib.contextmanager
def _whole(table: Path, points: Points) -> Iterator[None]:
    """Take a new table away where its sweep is stopped before a point has finished."""
    new = not table.exists()
    try:
        yield
    except BaseException:
        if new and not any((table.with_suffix("") / one).exists() for one in points):
            table.unlink(missing_ok=True)
        raise


def on_cluster(address: str, orders: Sequence[Order]) -> Iterator[Done]:
    """Run the orders on the workers of a dask scheduler and yield each as it ends."""
    distributed = importlib.import_module("distributed")
    with distributed.Client(address) as client:
        futures = client.map(run_on_worker, orders, pure=False)
        yield from (future.result() for future in distributed.as_completed(futures))


def run_on_worker(order: Order) -> Done:
    """Run one order in a worker; Python lets a daemon, which a worker is, have no
    processes.
    """
    multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    return run_one(order)


def write_table(path: Path, points: Points, status: Mapping[str, str]) -> None:
    """Write one row a point: its values, its status, and every number recorded
    there."""
    rows = []
    for label, values in points.items():
        found = (
            {}
            if label in status
            else read_json(path.with_suffix("") / label / "numbers.json")
        )
        named = {
            f"recorded {one}" if one in values else one: found[one] for one in found
        }
        rows.append({**values, "status": status.get(label, "done"), **named})
    stream = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, stream.getvalue().encode())
