"""``dpbayes run``: one notebook with parameters of one's own, and a page of what came
out.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import webbrowser
from pathlib import Path

from dpbayes.commands import Refused
from dpbayes.notebooks.parameters import chosen, declared, find, from_words, load
from dpbayes.record import write_atomically
from dpbayes.runner import page
from dpbayes.runner.results import claimed, publish, stages
from dpbayes.runner.run import Order, run_one
from dpbayes.runner.stale import Sources


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "notebook",
        help="a notebook's path, its name, or the last part of it such as D-table1",
    )
    add(
        "-p", "--parameter", dest="given", action="append", default=[],
        metavar="NAME=VALUE", help="a value of one's own; may be repeated",
    )  # fmt: skip
    add("--output", default="results", metavar="DIR", help="default: results")
    add("--open", action="store_true", help="show the page in a browser")


def run(arguments: argparse.Namespace) -> int:
    """Check everything, run the notebook, and say where the page is."""
    name, path = find(arguments.notebook, Path.cwd())
    notebook = load(path)
    values = chosen(name, notebook, from_words(arguments.given))
    for needed in ("papermill", "nbconvert"):
        importlib.import_module(needed)  # or say so before anything runs
    wanted = Path(arguments.output).absolute()
    with claimed(wanted, name) as folder:
        root = folder.parents[name.count("/")]
        with stages(root) as stage:
            done = run_one(Order(name, path, values, stage / "run"))
            if done.problem:
                raise Refused(done.problem)
            made = done.made(Sources().key(notebook, values))
            publish(done.order.stage, done.files, made, folder)
            text = page.rerun_page(folder, name, declared(notebook))
    shown = folder.with_name(f"{folder.name}.html")
    write_atomically(shown, text.encode())
    if root != wanted:
        has = f"{os.path.relpath(wanted)} has results of {name} already"
        print(f"{has}; these are in {os.path.relpath(root)}", file=sys.stderr)
    print(f"{os.path.relpath(shown)}\n{os.path.relpath(folder)}{os.sep}")
    if arguments.open:
        webbrowser.open(shown.as_uri())
    return 0
