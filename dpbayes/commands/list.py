"""``dpbayes list``: what can be run, one line a notebook; of one notebook its parameters, too."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.runner import notebooks
from dpbayes.runner.parameters import allowed, declared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("word", nargs="*", help="only those whose name or title has these words")


def run(arguments: argparse.Namespace) -> int:
    """Print the names and titles, and the parameters where only one notebook is found."""
    paths = notebooks.all_notebooks(notebooks.folder(Path.cwd()))
    known = {name: notebooks.load(path) for name, path in paths.items()}
    lines = {
        name: f"{name:{max(map(len, known))}}  {notebooks.title(known[name])}" for name in known
    }
    words = [word.lower() for word in arguments.word]
    found = [name for name in known if all(word in lines[name].lower() for word in words)]
    if not found:
        raise ValueError(f"no notebook has {' '.join(arguments.word)!r} in its name or title")
    print("\n".join(lines[name] for name in found))
    if len(found) == 1:
        print(allowed(declared(known[found[0]])))
    return 0
