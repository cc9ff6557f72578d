"""``dpbayes cite``: BibTeX for the methods a result used."""

from __future__ import annotations

import argparse

from dpbayes.tables.citations import cited, methods


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    words = f"what was used: {', '.join(methods())} (default: all of them)"
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=words)


def run(arguments: argparse.Namespace) -> int:
    """Print the software's entry, then one entry for each source of the methods."""
    sources = methods()
    chosen = arguments.methods or list(sources)
    unknown = [method for method in chosen if method not in sources]
    if unknown:
        raise ValueError(f"method must be one of {', '.join(sources)}, got {unknown[0]!r}")
    print(cited(chosen))
    return 0
