"""``dpbayes cite``: BibTeX of the package, and of the sources each method states."""

from __future__ import annotations

import argparse
import re
from importlib import resources

from dpbayes import __version__
from dpbayes.mechanisms import DECLARED

OTHERS = {
    "queries": ("xiao-xiong",),
    "release": ("canonne-discrete", "mironov-bits"),
    "noise-aware": ("bernstein-sheldon",),
}


def methods() -> dict[str, tuple[str, ...]]:
    """Return what can be cited, with the keys of its sources."""
    return {name: spec.sources for name, spec in DECLARED.items()} | OTHERS


def entries() -> dict[str, str]:
    """Return the BibTeX entries shipped with the package, by key; its own is
    ``dpbayes``.
    """
    text = (
        resources.files("dpbayes")
        .joinpath("data/methods.txt")
        .read_text(encoding="utf-8")
    )
    found = re.finditer(r"^@\w+\{([\w-]+),.*?^\}", text, re.DOTALL | re.MULTILINE)
    return {match[1]: match[0].replace("VERSION", __version__) for match in found}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add, known = parser.add_argument, ["all", *methods()]
    what = f"one of {', '.join(known)} (default: all)"
    add("methods", nargs="*", metavar="METHOD", choices=known, default="all", help=what)


def run(arguments: argparse.Namespace) -> int:
    """Print the software's entry, then each source of the methods once."""
    sources, known = methods(), entries()
    chosen = sources if "all" in arguments.methods else arguments.methods
    keys = [key for name in chosen for key in sources[name]]
    print("\n\n".join(known[key] for key in dict.fromkeys(["dpbayes", *keys])))
    return 0
