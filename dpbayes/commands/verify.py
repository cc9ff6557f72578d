"""``dpbayes verify``: the numbers of a build against the reference that is
committed."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.commands import Refused
from dpbayes.runner import verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "results",
        nargs="?",
        type=Path,
        default="book/results",
        help="default: book/results",
    )
    add(
        "--reference",
        type=Path,
        default="book/reference",
        help="default: book/reference",
    )
    add("--accept", action="store_true", help="make these results the reference")


def run(arguments: argparse.Namespace) -> int:
    """Compare, and say how much agrees; what does not is refused, number by number."""
    folders = arguments.results, arguments.reference
    if not verify.folders(arguments.results):
        raise ValueError(
            f"there are no results in {arguments.results}: run `make book`"
        )
    for path in verify.accept(*folders) if arguments.accept else ():
        print(path)
    agreement, problems = verify.verify(*folders)
    print(agreement)
    if problems:
        raise Refused("\n  ".join([f"{len(problems)} disagree", *problems]))
    return 0
