"""``dpbayes run``: one notebook with parameters of one's own, and a page of what came out."""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import shutil
import sys
import webbrowser
from pathlib import Path

from dpbayes.cli import Refused
from dpbayes.record import write_atomically
from dpbayes.runner import notebooks, page, stale, verify
from dpbayes.runner import run as running
from dpbayes.runner.parameters import chosen, from_words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("notebook", help="a notebook's path, its name, or the last part of it such as D-table1")
    add("-p", "--parameter", dest="given", action="append", default=[], metavar="NAME=VALUE",
        help="a value of one's own; may be repeated")  # fmt: skip
    add("--output", default="results", metavar="DIR", help="default: results")
    add("--open", action="store_true", help="show the page in a browser")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run the notebook, and say where the page is."""
    name, path = notebooks.find(arguments.notebook, Path.cwd())
    notebook = notebooks.load(path)
    values = chosen(name, notebook, from_words(arguments.given))
    importlib.import_module("nbconvert")  # or say so before anything runs
    wanted = Path(arguments.output).absolute()
    others = (wanted.with_name(f"{wanted.name}-{number}") for number in itertools.count(2))
    root = next(one for one in itertools.chain([wanted], others) if not (one / name).exists())
    stage, shown = root / f"{name}.{os.getpid()}.part", root / f"{name}.html"
    try:
        key = stale.Sources().key(notebook, values)
        done = running.run_one(running.Order(name, path, values, stage), show_cell)
        if done.problem:
            raise Refused(done.problem)
        running.publish(running.recorded(done, key), root / name)
    finally:
        show_cell(0, 0)
        shutil.rmtree(stage, ignore_errors=True)
    text = page.rerun_page(root / name, name, values, verify.book_run(path, name))
    write_atomically(shown, text.encode())
    print(f"{os.path.relpath(shown)}\n{os.path.relpath(root / name)}{os.sep}")
    if arguments.open:
        webbrowser.open(shown.as_uri())
    return 0


def show_cell(at: int, of: int) -> None:
    """Show on a terminal which cell runs; 0 takes the line away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kcell {at} of {of}" if of else "\r\x1b[K")
        sys.stderr.flush()
