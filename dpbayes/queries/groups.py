"""One question asked once for each value or bin of an attribute."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from dpbayes.queries.cube import Cube


def by_value(cube: Cube, question: str, attribute: str | None, name: str = "by") -> list[str]:
    """Return the question once for each value of an attribute, or as it is.

    `name` is what an error calls the attribute.
    """
    if attribute is None:
        return [question]
    found = [a for a in cube.attributes if a.name == attribute]
    if not found:
        known = ", ".join(a.name for a in cube.attributes)
        raise ValueError(f"{name} must be an attribute of the cube ({known}), got {attribute!r}")
    parts = (part for part in conditions(found[0]))
    return [f"({question}) and {part}" for part in parts]


def conditions(attribute: Any) -> list[str]:
    """Return one condition for each value or bin of an attribute."""
    edges = getattr(attribute, "edges", None)
    if edges is not None:
        return [f"{attribute.name} between {a!r} and {b!r}" for a, b in pairwise(edges)]
    texts = [f"'{v}'" if isinstance(v, str) else repr(v) for v in attribute.values]
    return [f"{attribute.name} = {text}" for text in texts]
