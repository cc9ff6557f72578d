"""``dpbayes run``: one notebook with parameters of one's own, and a page of what came
out.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import shutil
import sys
import webbrowser
from pathlib import Path

from dpbayes.commands import Refused
from dpbayes.record import write_atomically
from dpbayes.runner import page
from dpbayes.runner.notebooks import chosen, declared, find, from_words, load
from dpbayes.runner.run import Order, publish, run_one
from dpbayes.runner.stale import Sources


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "notebook",
        help="a notebook's path, its name, or the last part of it such as D-table1",
    )
    add("-p", "--parameter", dest="given", action="append", default=[], metavar="NAME=VALUE",
        help="a value of one's own; may be repeated")  # fmt: skip
    add("--output", default="results", metavar="DIR", help="default: results")
    add("--open", action="store_true", help="show the page in a browser")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run the notebook, and say where the page is."""
    name, path = find(arguments.notebook, Path.cwd())
    notebook = load(path)
    values = chosen(name, notebook, from_words(arguments.given))
    importlib.import_module("nbconvert")  # or say so before anything runs
    wanted = Path(arguments.output).absolute()
    others = (
        wanted.with_name(f"{wanted.name}-{number}") for number in itertools.count(2)
    )
    root = next(
        one for one in itertools.chain([wanted], others) if not (one / name).exists()
    )
    folder, stage = root / name, root / f"{name}.{os.getpid()}.part"
    try:
        order, seconds, problem = run_one(Order(name, path, values, stage), show_cell)
        if problem:
            raise Refused(problem)
        publish(order, seconds, Sources().key(notebook, values), folder)
    finally:
        show_cell(0, 0)
        shutil.rmtree(stage, ignore_errors=True)
    shown = folder.with_name(f"{folder.name}.html")
    text = page.rerun_page(folder, name, declared(notebook))
    write_atomically(shown, text.encode())
    print(f"{os.path.relpath(shown)}\n{os.path.relpath(folder)}{os.sep}")
    if arguments.open:
        webbrowser.open(shown.as_uri())
    return 0


def show_cell(at: int, of: int) -> None:
    """Show on a terminal which cell runs; 0 takes the line away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kcell {at} of {of}" if of else "\r\x1b[K")
        sys.stderr.flush()
