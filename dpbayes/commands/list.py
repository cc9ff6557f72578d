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
    known = notebooks.all_notebooks(notebooks.folder(Path.cwd()))
    titles = {name: notebooks.title(notebooks.load(path)) for name, path in known.items()}
    words = [word.lower() for word in arguments.word]
    texts = {name: f"{name} {title}".lower() for name, title in titles.items()}
    found = [name for name, text in texts.items() if all(word in text for word in words)]
    if not found:
        raise ValueError(f"no notebook has {' '.join(arguments.word)!r} in its name or title")
    width = max(map(len, found))
    print("\n".join(f"{name:{width}}  {titles[name]}" for name in found))
    if len(found) == 1:
        print(allowed(declared(notebooks.load(known[found[0]]))))
    return 0
