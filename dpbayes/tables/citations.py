"""What to cite for a release or a result: the package, and the sources each method states."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
OTHERS: dict[str, tuple[str, ...]] = {
    "queries": ("xiao-xiong",),
    "release": ("canonne-discrete", "mironov-bits"),
    "noise-aware": ("bernstein-sheldon",),
}


def methods() -> dict[str, tuple[str, ...]]:
    """Return what can be cited, with the keys of its sources: each mechanism states its own.

    >>> methods()["independent"]
    ('ghosh-universally', 'canonne-discrete')
    """
    stated = {name: getattr(make(1.0), "citations", ()) for name, make in REGISTRY.items()}
    return stated | {IndependentNoise.name: IndependentNoise.citations} | OTHERS


def cited(names: Iterable[str]) -> str:
    """Return the package's BibTeX entry, and one for each source of the named methods, once.

    >>> cited(["lattice"]).count("@")
    3
    """
    sources = methods()
    keys = dict.fromkeys(key for name in names for key in sources[name])
    return "\n\n".join([SOFTWARE, *(entries()[key] for key in keys)])


def entries() -> dict[str, str]:
    """Return the BibTeX entries shipped with the package, by key."""
    text = resources.files("dpbayes").joinpath("data/methods.txt").read_text(encoding="utf-8")
    found = re.finditer(r"^@\w+\{([\w-]+),.*?^\}", text, re.DOTALL | re.MULTILINE)
    return {match[1]: match[0] for match in found}
