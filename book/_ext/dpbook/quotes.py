"""The roles ``result`` and ``claim``: one recorded number, one recorded sentence.

``documents/D-fig5::crossover:.1f`` is a number with its format, which may end in ``up`` or ``down``
for a bound; ``documents/D-fig5::ahead`` is a claim. On a notebook's own page its name may be left
out. A claim that does not hold with the book's parameters stops a strict build.
"""

from __future__ import annotations

import json
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from dpbayes.figures.typeset import typeset

logger = logging.getLogger(__name__)
ROUNDED = {"up": ROUND_CEILING, "down": ROUND_FLOOR}
SAME = 1e-12  # of a number: the rounding of its last binary digits


class ResultRole(SphinxRole):
    """Put a recorded number into the text, in the format given after the last colon."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the formatted number, or warn and return the role's text."""
        try:
            name, key = split(self.text, self.env)
            key, _, form = key.partition(":")
            shown = formatted(recorded(self.env, name, "numbers.json", key), form)
        except ValueError as error:
            return complain(self, error)
        return [nodes.inline(shown, shown, classes=["result"])], []


class ClaimRole(SphinxRole):
    """Put the sentence of a claim into the text, its mathematics and references set."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the sentence, or warn when it is missing or does not hold."""
        try:
            name, key = split(self.text, self.env)
            made = recorded(self.env, name, "claims.json", key)
            if not made["holds"]:
                raise ValueError(f"the claim does not hold: {made['sentence']}")
        except ValueError as error:
            return complain(self, error)
        holder = nodes.inline("", "", classes=["quoted-claim"])
        inliner: Any = self.inliner
        children, messages = inliner.parse(made["sentence"], self.lineno, None, holder)
        holder += children
        return [holder], messages


def complain(role: SphinxRole, error: ValueError) -> tuple[list[nodes.Node], list[Any]]:
    """Warn, which stops a strict build."""
    problem = f"{role.name} {role.text!r}: {error}"
    logger.warning(problem, location=role.get_location(), type="dpbook")
    return [nodes.inline(role.text, role.text)], []


def own_name(env: BuildEnvironment) -> str:
    """Return the notebook whose page is being read; nothing on any other page."""
    return env.docname.removeprefix("results/") if env.docname.startswith("results/") else ""


def split(text: str, env: BuildEnvironment) -> tuple[str, str]:
    """Return the notebook and what is quoted of it."""
    name, colons, key = text.strip().partition("::")
    name = name or own_name(env)
    if not (name and colons and key):
        raise ValueError(f"write notebook::name, such as documents/D-fig5::ahead, got {text!r}")
    return name, key


def result_file(env: BuildEnvironment, name: str, file: str) -> Path:
    """Return a recorded file, and have the page read again when it changes."""
    path = Path(env.srcdir) / "results" / name / file
    if not path.is_file():
        raise ValueError(f"no notebook has recorded {name}/{file}")
    env.note_dependency(str(path))
    return path


def recorded(env: BuildEnvironment, name: str, file: str, key: str) -> Any:
    """Return one entry of a recorded file."""
    known = json.loads(result_file(env, name, file).read_text(encoding="utf-8"))
    if key not in known:
        raise ValueError(f"{name} has no {key!r} in {file}; it has {', '.join(sorted(known))}")
    return known[key]


def formatted(value: float, form: str) -> str:
    """Return a number as a page shows it.

    >>> formatted(0.6353, ".2f up"), formatted(0.6353, ".0% down"), formatted(11019.0, ",d")
    ('0.64', '63%', '11,019')
    >>> formatted(-0.000012, ".1e"), formatted(0.1 + 0.2, ".1f up"), formatted(float("inf"), "g")
    ('−1.2 × 10⁻⁵', '0.3', '∞')
    """
    form, _, way = form.partition(" ")
    if form[-1:] == "d" and float(value).is_integer():
        value = int(value)
    if way in ROUNDED and value and math.isfinite(value):
        shown = Decimal(format(value, form.replace(",", "")).rstrip("%"))
        place = Decimal(1).scaleb(int(shown.as_tuple().exponent) - 2 * form.endswith("%"))
        nearest = Decimal(repr(float(value))).quantize(place)
        if abs(float(nearest) - value) > SAME * abs(value):
            value = float(Decimal(repr(float(value))).quantize(place, rounding=ROUNDED[way]))
    return typeset(format(value, form))
