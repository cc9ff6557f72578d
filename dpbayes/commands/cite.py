"""``dpbayes cite``: BibTeX of the package, and of the sources each method states."""

from __future__ import annotations

import argparse
import re
from importlib import resources

from dpbayes._version import VERSION
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.geometric import IndependentNoise

SOFTWARE = f"""@misc{{dpbayes,
  author  = {{{{The dpbayes authors}}}},
  title   = {{{{dpbayes}}: private {{B}}ayesian posteriors for categorical counts,
    with exact accuracy and exact privacy}},
  version = {{{VERSION}}},
  note    = {{Software}}
}}"""
OTHERS = {
    "queries": ("xiao-xiong",),
    "release": ("canonne-discrete", "mironov-bits"),
    "noise-aware": ("bernstein-sheldon",),
    IndependentNoise.name: IndependentNoise.citations,
}


def methods() -> dict[str, tuple[str, ...]]:
    """Return what can be cited, with the keys of its sources."""
    stated = {name: getattr(make(1.0), "citations", ()) for name, make in REGISTRY.items()}
    return stated | OTHERS


def entries() -> dict[str, str]:
    """Return the BibTeX entries shipped with the package, by key."""
    text = resources.files("dpbayes").joinpath("data/methods.txt").read_text(encoding="utf-8")
    found = re.finditer(r"^@\w+\{([\w-]+),.*?^\}", text, re.DOTALL | re.MULTILINE)
    return {match[1]: match[0] for match in found}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    words = f"what was used: {', '.join(methods())} (default: all of them)"
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=words)


def run(arguments: argparse.Namespace) -> int:
    """Print the software's entry, then each source of the methods once."""
    sources = methods()
    chosen = arguments.methods or list(sources)
    unknown = [method for method in chosen if method not in sources]
    if unknown:
        raise ValueError(f"method must be one of {', '.join(sources)}, got {unknown[0]!r}")
    keys = dict.fromkeys(key for name in chosen for key in sources[name])
    print("\n\n".join([SOFTWARE, *(entries()[key] for key in keys)]))
    return 0
