"""``dpbayes sweep``: one notebook at every point of a grid, with one table of all its numbers.

Every value is checked before the first point runs. Finished points survive a failure or an
interruption and are not run twice, unless something they were made from has changed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from dpbayes import _validate
from dpbayes.cli import Refused
from dpbayes.press.cache import Cache
from dpbayes.press.keys import surroundings
from dpbayes.press.parameters import declared, load
from dpbayes.press.places import find_notebook
from dpbayes.press.sweeping import Sweep, grid, table_writer
from dpbayes.press.workers import Order, run_all, start_points


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("notebook", help="a notebook's path, or its name such as tables/steps")
    parser.add_argument(
        "-g",
        "--grid",
        dest="axes",
        action="append",
        required=True,
        metavar="NAME=V1;V2;…",
        help="a parameter and its values, separated by semicolons; several make a grid",
    )
    parser.add_argument(
        "-p",
        "--parameter",
        dest="fixed",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that is the same at all points; may be repeated",
    )
    parser.add_argument("--output", default="sweep", metavar="DIR", help="default: sweep")
    parser.add_argument("--jobs", type=int, default=2, help="points at a time (default: 2)")
    parser.add_argument("--again", action="store_true", help="run finished points once more")
    parser.add_argument("--parquet", action="store_true", help="write the table as Parquet too")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run the points on the workers of a dask scheduler that share this folder",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the points that are not finished, write the table and say where it is."""
    _validate.integer("--jobs", arguments.jobs, minimum=1)
    if arguments.parquet and importlib.util.find_spec("duckdb") is None:
        raise Refused("--parquet needs DuckDB: pip install 'dpbayes[queries]'")
    name, path = find_notebook(arguments.notebook, Path.cwd())
    points = grid(name, declared(load(path)), arguments.axes, arguments.fixed)
    table = Path(arguments.output).absolute() / f"{name}.csv"
    cache = Cache(table.with_suffix("") / "points")
    cache.clear()
    writer = table_writer(table, arguments.parquet)
    sweep = Sweep(name, path, {one.label: one for one in points}, cache, surroundings(), writer)
    orders = sweep.waiting(arguments.again)
    try:
        failures = carry_out(orders, sweep, arguments)
    except KeyboardInterrupt:
        raise Refused("interrupted; the same command goes on from here") from None
    finally:
        sweep.end()
    ran = sweep.count()["done"]
    print(f"{table}: {len(points) - len(failures)} of {len(points)} points, {ran} run now")
    if failures:
        raise Refused("\n".join(f"at {place(sweep, one)}" for one in failed(sweep)))
    return 0


def carry_out(orders: list[Order], sweep: Sweep, arguments: argparse.Namespace) -> list[str]:
    """Run the points here or on a cluster and return what went wrong."""
    if not arguments.cluster:
        return run_all(orders, sweep, arguments.jobs, start_points)
    try:
        client_type: Any = importlib.import_module("distributed").Client
    except ImportError as error:
        raise Refused("--cluster needs dask: pip install 'dpbayes[cluster]'") from error
    from dpbayes.press.cluster import run_on_cluster

    with client_type(arguments.cluster) as client:
        return run_on_cluster(client, orders, sweep)


def failed(sweep: Sweep) -> list[str]:
    """Return the labels of the points that failed."""
    return [label for label, point in sweep.points.items() if point.status == "failed"]


def place(sweep: Sweep, label: str) -> str:
    """Return a failed point's values and what went wrong there."""
    point = sweep.points[label]
    values = ", ".join(f"{name}={value}" for name, value in point.varied.items())
    return f"{values}: {point.problem.strip()}"
