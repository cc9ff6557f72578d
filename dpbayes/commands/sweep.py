"""``dpbayes sweep``: one notebook at every point of a grid, with one table of all its numbers.

Every value is checked before the first point runs. A point is a folder of its own below the output
folder, so that finished points survive a failure or an interruption and are not run twice.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbayes import _validate
from dpbayes.cli import Refused
from dpbayes.press.parameters import Parameter, chosen_from_text, declared, load
from dpbayes.press.places import find_notebook
from dpbayes.press.record import write_atomically

Runner = Callable[[Callable[["Point"], str], Sequence["Point"]], Iterable[str]]


@dataclass(frozen=True)
class Point:
    """One choice of values: where its results go and the command that makes them."""

    values: Mapping[str, str]
    folder: Path
    command: tuple[str, ...]


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
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run the points on the workers of a dask scheduler that share this folder",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the points that are not finished, write the table and say where it is."""
    _validate.integer("--jobs", arguments.jobs, minimum=1)
    name, path = find_notebook(arguments.notebook, Path.cwd())
    output = Path(arguments.output).absolute()
    points = grid(name, path, arguments.axes, arguments.fixed, output)
    waiting = [p for p in points if arguments.again or not finished(p, name)]
    runner = on_cluster(arguments.cluster) if arguments.cluster else at_home(arguments.jobs)
    failures = [words for words in runner(run_point, waiting) if words]
    table = output / f"{name}.csv"
    write_atomically(table, table_of([p for p in points if finished(p, name)], name))
    print(f"{table}: {len(points) - len(failures)} of {len(points)} points, {len(waiting)} run now")
    if failures:
        raise Refused("\n".join(failures))
    return 0


def grid(
    name: str, path: Path, axes: Sequence[str], fixed: Sequence[str], output: Path
) -> list[Point]:
    """Return the points of the grid in order, refusing any value the notebook would refuse."""
    parameters = declared(load(path))
    choices = [_choices(axis) for axis in axes]
    names = [axis_name for axis_name, _ in choices]
    taken = names + [assignment.partition("=")[0] for assignment in fixed]
    for twice in {one for one in taken if taken.count(one) > 1}:
        raise ValueError(f"{twice} is given more than once")
    return [
        _point(name, path, parameters, dict(zip(names, combination, strict=True)), fixed, output)
        for combination in itertools.product(*(values for _, values in choices))
    ]


def _choices(axis: str) -> tuple[str, list[str]]:
    name, equals, text = axis.partition("=")
    values = [value.strip() for value in text.split(";") if value.strip()]
    if not equals or not values:
        raise ValueError(f"a grid axis is given as name=value;value, got {axis!r}")
    if len(set(values)) != len(values):
        raise ValueError(f"{name} lists a value twice: {text!r}")
    return name, values


def _point(
    name: str,
    path: Path,
    parameters: Mapping[str, Parameter],
    values: Mapping[str, str],
    fixed: Sequence[str],
    output: Path,
) -> Point:
    assignments = [*fixed, *(f"{key}={value}" for key, value in values.items())]
    chosen_from_text(name, parameters, assignments)
    label = re.sub(r"[^A-Za-z0-9.=,_-]+", "_", ",".join(sorted(assignments)))
    folder = output / "points" / label
    words = [sys.executable, "-m", "dpbayes", "run", str(path)]
    for assignment in assignments:
        words += ["-p", assignment]
    return Point(values, folder, (*words, "--output", str(folder)))


def finished(point: Point, name: str) -> bool:
    """Say whether the point's page, the last file of a run, has been written."""
    return (point.folder / f"{name}.html").is_file()


def run_point(point: Point) -> str:
    """Run one point; return nothing, or what went wrong and where."""
    done = subprocess.run(point.command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    place = ", ".join(f"{key}={value}" for key, value in point.values.items())
    return f"at {place}: {done.stderr.strip()}"


def at_home(jobs: int) -> Runner:
    """Return a runner of that many points at a time on this machine."""

    def run_all(work: Callable[[Point], str], points: Sequence[Point]) -> Iterable[str]:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(work, points))

    return run_all


def on_cluster(address: str) -> Runner:
    """Return a runner that hands the points to a dask scheduler."""
    try:
        client_type: Any = importlib.import_module("distributed").Client
    except ImportError as error:
        raise Refused("--cluster needs dask: pip install 'dpbayes[cluster]'") from error

    def run_all(work: Callable[[Point], str], points: Sequence[Point]) -> Iterable[str]:
        with client_type(address) as client:
            return list(client.gather(client.map(work, points, pure=False)))

    return run_all


def table_of(points: Sequence[Point], name: str) -> bytes:
    """Return the CSV with one row a point: its grid values, then every recorded number."""
    rows: list[dict[str, Any]] = []
    for point in points:
        numbers = point.folder / name / "numbers.json"
        recorded = json.loads(numbers.read_text()) if numbers.is_file() else {}
        rows.append({**point.values, **recorded})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()
