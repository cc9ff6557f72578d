"""One question asked once for each value or bin of an attribute."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dpbayes.queries.cube import Cube
from dpbayes.queries.predicate import quoted, written


def by_value(
    cube: Cube,
    question: str,
    attribute: str | None,
    name: str = "by",
    request: str | None = None,
) -> list[tuple[str, str | None]]:
    """Return the question once for each value of an attribute, or as it is, each with its id.

    `name` is what an error calls the attribute. The id of a part is `request`, "#" and its number.

    >>> import numpy as np
    >>> from dpbayes.queries import Categories, Cube
    >>> cube = Cube((Categories("sex", ("f", "m")),), np.array([3, 4]))
    >>> by_value(cube, "all", "sex", request="a")
    [("(all) and sex = 'f'", 'a#0'), ("(all) and sex = 'm'", 'a#1')]
    """
    if attribute is None:
        return [(question, request)]
    found = [a for a in cube.attributes if a.name == attribute]
    if not found:
        known = ", ".join(a.name for a in cube.attributes)
        raise ValueError(f"{name} must be an attribute of the cube ({known}), got {attribute!r}")
    return [
        (f"({question}) and {part}", None if request is None else f"{request}#{place}")
        for place, part in enumerate(conditions(found[0]))
    ]


def conditions(attribute: Any) -> list[str]:
    """Return one condition for each value or bin of an attribute."""
    name, edges = written(attribute.name), getattr(attribute, "edges", None)
    if edges is not None:
        return [f"{name} between {a!r} and {b!r}" for a, b in pairwise(edges)]
    return [f"{name} = {_literal(value)}" for value in attribute.values]


def _literal(value: str | float) -> str:
    if isinstance(value, str):
        return quoted(value)
    return repr(value.item() if isinstance(value, np.generic) else value)
