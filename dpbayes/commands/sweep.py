"""``dpbayes sweep``: one notebook at every point of a grid, with one table of all its
numbers.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from dpbayes.commands import Refused
from dpbayes.notebooks import parameters as notebooks
from dpbayes.runner.sweep import grid, sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "notebook",
        help="a notebook's path, its name, or the last part of it such as D-table1",
    )
    add(
        "-g", "--grid", dest="axes", action="append", required=True,
        metavar="NAME=V1;V2;…", help="a parameter and its values; several make a grid",
    )  # fmt: skip
    add(
        "-p", "--parameter", dest="fixed", action="append", default=[],
        metavar="NAME=VALUE",
        help="a parameter that is the same at all points; may be repeated",
    )  # fmt: skip
    add("--output", default="sweep", metavar="DIR", help="default: sweep")
    add("--jobs", type=int, default=2, help="points at a time (default: 2)")
    add(
        "--cluster", metavar="ADDRESS",
        help="run on the workers of a dask scheduler that share this folder",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the points that are not finished, write the table and say where it is."""
    if arguments.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {arguments.jobs}")
    name, path = notebooks.find(arguments.notebook, Path.cwd())
    points = grid(name, path, arguments.axes, arguments.fixed)
    importlib.import_module("papermill")  # or say so before anything runs
    table = Path(arguments.output).absolute() / f"{name}.csv"
    try:
        problems, ran = sweep(
            name, path, points, table, arguments.jobs, arguments.cluster
        )
    except KeyboardInterrupt:
        said = "interrupted; the same command goes on from here"
        print(f"dpbayes sweep: {said}", file=sys.stderr)
        return 130
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"--output must be a folder: {error}") from error
    print(
        f"{table}: {len(points) - len(problems)} of {len(points)} points, {ran} run now"
    )
    if problems:
        raise Refused(
            "\n".join(f"at {label}: {problem}" for label, problem in problems.items())
        )
    return 0
