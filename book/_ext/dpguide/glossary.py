"""The glossary as the rest of the guide reads it: its terms, and each definition in plain text."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

SYMBOLS = {
    r"\epsilon": "ε",
    r"\delta": "δ",
    r"\gamma": "γ",
    r"\alpha": "α",
    r"\theta": "θ",
    r"\lambda": "λ",
    r"\le": "≤",
    r"\dots": "…",
}
POINTER = re.compile(r"(?:^|(?<=[.:]) )(?:See|Compare) .*$|\s*\(\{(?:prf:)?ref\}`[^`]*`\)")
ROLE = re.compile(r"\{[a-z:]+\}`([^`<]+?)(?:\s*<[^`<>]*>)?`")


def terms(path: Path) -> dict[str, str]:
    """Return the terms of a glossary page and their definitions in plain text."""
    return dict(_terms(path.read_text(encoding="utf-8")))


@lru_cache(maxsize=4)  # every page asks for them
def _terms(text: str) -> dict[str, str]:
    block = text.partition("```{glossary}\n")[2].partition("\n```")[0]
    found = {}
    for entry in re.split(r"\n\n(?=\S)", block):
        term, _, definition = entry.partition("\n")
        found[term.strip()] = plain(definition)
    return found


def plain(markdown: str) -> str:
    """Return a definition without markup, and without the pointer to where it is made precise.

    >>> plain("  The $\\\\epsilon$ of *one* {term}`record`. See {prf:ref}`def-epsilon-dp`.")
    'The ε of one record.'
    """
    text = POINTER.sub("", " ".join(markdown.split()))
    text = ROLE.sub(r"\1", text)
    text = re.sub(r"\$([^$]*)\$", lambda found: formula(found[1]), text)
    return re.sub(r"[*`]", "", text).strip()


def formula(tex: str) -> str:
    """Return a short formula as text."""
    for command, symbol in SYMBOLS.items():
        tex = re.sub(re.escape(command) + r"(?![a-z])\s?", symbol, tex)
    return tex
