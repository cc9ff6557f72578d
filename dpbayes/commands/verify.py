"""``dpbayes verify``: the numbers of a build against the reference that is
committed."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.commands import Refused
from dpbayes.notebooks.parameters import CARRIED, all_notebooks, declared, folder, load
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
        help="default: book/reference, or what the package brings where that is not",
    )
    add("--accept", action="store_true", help="make these results the reference")
    add(
        "--prune",
        action="store_true",
        help="with --accept: delete references that have no result",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, and say how much agrees; what does not is refused, number by number."""
    here, results = Path("book/reference"), arguments.results
    brought = CARRIED / "reference"
    reference = arguments.reference or (here if here.is_dir() else brought)
    if arguments.prune and not arguments.accept:
        raise ValueError("--prune goes with --accept")
    if not verify.folders(results):
        raise ValueError(
            f"there are no results in {results}: run `make book` in the book's folder,"
            " or name the folder of a run"
        )
    if arguments.accept:
        own = {
            name: {key: one.default for key, one in declared(load(path)).items()}
            for name, path in all_notebooks(folder(Path.cwd())).items()
        }
        print(*verify.accept(results, reference, own, arguments.prune), sep="\n")
    agreement, problems = verify.verify(results, reference)
    print(agreement)
    if problems:
        raise Refused("\n  ".join([f"{len(problems)} disagree", *problems]))
    return 0
