"""``dpbayes cite``: BibTeX for the methods a result used."""

from __future__ import annotations

import argparse
import re
from importlib import resources

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY

SOFTWARE = "dpbayes"
OTHERS: dict[str, tuple[str, ...]] = {
    "queries": ("xiao-xiong",),
    "release": ("canonne-discrete", "mironov-bits"),
    "noise-aware": ("bernstein-sheldon",),
}


def methods() -> dict[str, tuple[str, ...]]:
    """Return what can be cited, with the keys of its sources: each mechanism states its own."""
    stated = {name: make(1.0) for name, make in REGISTRY.items()}
    return {name: getattr(one, "citations", ()) for name, one in stated.items()} | OTHERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "methods",
        nargs="*",
        metavar="METHOD",
        help=f"what was used: {', '.join([*REGISTRY, *OTHERS])} (default: all of them)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the software's entry, then one entry for each source of the methods."""
    sources = methods()
    chosen = arguments.methods or list(sources)
    unknown = [method for method in chosen if method not in sources]
    if unknown:
        raise ValueError(f"method must be one of {', '.join(sources)}, got {unknown[0]!r}")
    keys = dict.fromkeys(key for method in chosen for key in sources[method])
    print("\n\n".join([software(), *(entries()[key] for key in keys)]))
    return 0


def software() -> str:
    """Return the entry of this package in the version that runs."""
    return (
        f"@misc{{{SOFTWARE},\n  author  = {{{{The dpbayes authors}}}},\n"
        "  title   = {{dpbayes}: private {B}ayesian posteriors for categorical counts, with exact "
        "accuracy and exact privacy},\n"
        f"  version = {{{dp.__version__}}},\n  note    = {{Software}}\n}}"
    )


def entries() -> dict[str, str]:
    """Return the BibTeX entries shipped with the package, by key."""
    text = resources.files("dpbayes").joinpath("data/methods.txt").read_text(encoding="utf-8")
    found = re.finditer(r"^@\w+\{([\w-]+),.*?^\}", text, re.DOTALL | re.MULTILINE)
    return {match[1]: match[0] for match in found}
