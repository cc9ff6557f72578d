"""``dpbayes list``: what can be run, one line a notebook; of one notebook its
parameters, too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.notebooks import parameters as notebooks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "word", nargs="*", help="only those whose name or title has these words"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the names and titles, and the parameters where only one notebook is
    found."""
    paths = notebooks.all_notebooks(notebooks.folder(Path.cwd()))
    known = {name: notebooks.load(path) for name, path in paths.items()}
    width = max(map(len, known))
    titles = {
        name: one["cells"][0]["source"].partition("\n")[0][2:]
        for name, one in known.items()
    }
    lines = {f"{name:{width}}  {titles[name]}": one for name, one in known.items()}
    words = [word.lower() for word in arguments.word]
    found = [line for line in lines if all(word in line.lower() for word in words)]
    if not found:
        raise ValueError(
            f"no notebook has {' '.join(arguments.word)!r} in its name or title"
        )
    print("\n".join(found))
    if len(found) == 1:
        print(notebooks.allowed(notebooks.declared(lines[found[0]])))
    return 0
