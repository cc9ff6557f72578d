"""``dpbayes verify``: the numbers of a build against the reference that is committed."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.cli import Refused
from dpbayes.runner import verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("results", nargs="?", default="book/results", help="default: book/results")
    add("--reference", default="book/reference", metavar="DIR", help="default: book/reference")
    add("--accept", action="store_true", help="make these results the reference")


def run(arguments: argparse.Namespace) -> int:
    """Compare, and say how much agrees; what does not is refused, number by number."""
    results, reference = Path(arguments.results), Path(arguments.reference)
    if not verify.folders(results):
        raise ValueError(f"there are no results in {results}: run `make book`")
    if arguments.accept:
        for path in verify.accept(results, reference):
            print(path)
    found = verify.verify(results, reference)
    print(found)
    if found.problems:
        raise Refused("\n  ".join([f"{len(found.problems)} disagree", *found.problems]))
    return 0
