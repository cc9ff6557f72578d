"""``dpbayes verify``: a built site against the results it shows."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.cli import Refused
from dpbayes.press.verifying import verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("site", help="the folder of the built site, such as book/_build/html")
    parser.add_argument(
        "--results",
        metavar="DIR",
        help="compare with the results in this folder too, such as book/results",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print how much agrees; what does not is refused line by line."""
    found = verify(Path(arguments.site), Path(arguments.results) if arguments.results else None)
    if found.problems:
        raise Refused("\n  ".join([f"{len(found.problems)} disagree", *found.problems]))
    print(f"{found.results} results, {found.files} files, {found.quotes} quoted numbers: all agree")
    return 0
