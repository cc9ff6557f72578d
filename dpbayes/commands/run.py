"""``dpbayes run``: one notebook with parameters of one's own."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbayes.cli import Refused
from dpbayes.press.boxes import book_run
from dpbayes.press.pages import publish
from dpbayes.press.parameters import Parameter, chosen_from_text, declared, load
from dpbayes.press.places import checkout_of, find_notebook
from dpbayes.press.record import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("notebook", help="a notebook's path, or its name such as tables/steps")
    parser.add_argument(
        "-p",
        "--parameter",
        dest="assignments",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter's value; may be repeated; a list is written 10,20,30",
    )
    parser.add_argument(
        "--output",
        default="results",
        metavar="DIR",
        help="where the notebook, the HTML page and the results go (default: results); a run of "
        "the same notebook that is there already stays, the new one goes to DIR-2",
    )
    parser.add_argument(
        "--replace", action="store_true", help="replace a run that is there already"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the notebook and print the files that were written."""
    name, path = find_notebook(arguments.notebook, Path.cwd())
    parameters = declared(load(path))
    values = chosen_from_text(name, parameters, arguments.assignments)
    output = Path(arguments.output).absolute()
    if not arguments.replace:
        output = free(output, name)
    for file in rerun(name, path, parameters, values, output):
        print(os.path.relpath(file))
    return 0


def free(output: Path, name: str) -> Path:
    """Return the output folder, or the first one beside it that has no run of this notebook."""
    place, number = output, 1
    while (place / f"{name}.ipynb").exists():
        number += 1
        place = output.with_name(f"{output.name}-{number}")
    if place != output:
        words = (os.path.relpath(output / f"{name}.ipynb"), os.path.relpath(place))
        print("{} is there already and stays; this run goes to {}".format(*words), file=sys.stderr)
    return place


def rerun(
    name: str,
    path: Path,
    parameters: Mapping[str, Parameter],
    values: Mapping[str, Any],
    output: Path,
) -> list[Path]:
    """Run a notebook and return the files published; after a failure ``output`` is as it was."""
    try:
        from dpbayes.press.execution import execute
        from dpbayes.press.html import html_page
    except ImportError as error:
        raise Refused("running a notebook needs papermill: pip install 'dpbayes[run]'") from error
    from dpbayes.press.jobs import Job, NotebookFailure

    stage = output / f"{name}.{os.getpid()}.part"
    try:
        execute(Job(name, path, values, stage), show_cell)
        defaults = {key: parameter.default for key, parameter in parameters.items()}
        checkout = checkout_of(path) or path.parent
        book = book_run(checkout / "book" / "results" / name, defaults)
        files = publish(stage, output, name, values, parameters, book)
    except NotebookFailure as failure:
        raise Refused(str(failure)) from failure
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        clear_line()
    page = output / f"{name}.html"
    write_atomically(page, html_page(output / f"{name}.ipynb", output, checkout_of(path)).encode())
    return [*files, page]


def show_cell(index: int, total: int) -> None:
    """Show on a terminal which cell runs."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kcell {index + 1} of {total}")
        sys.stderr.flush()


def clear_line() -> None:
    """Take the live line away."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
