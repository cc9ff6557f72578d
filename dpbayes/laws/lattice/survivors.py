"""Empty categories alike that ended above the level of the projection, some of which pay.

How high above the level they ended has the same weights at every level, and they are told apart by
their heights only. Book: `thm-clamped`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import Nodes
from dpbayes.laws.lattice.prefixes import Category

Term = tuple[int, int]
"""How many categories ended above the level, and how many of these pay."""

_AT_ONCE = 1 << 18  # numbers of one table


def sums_over_heights(pay: NDArray[Any], keep: NDArray[Any], terms: Sequence[Term]) -> NDArray[Any]:
    """Return for each (q, e) the sum over heights of q categories, the e highest of which pay.

    `pay` and `keep` have shape (heights, nodes): what a category adds at each height if it pays and
    if it does not. Of equal heights the first pays. With `paid` the sum where the height of the
    last one that pays is given, one category more that comes last pays not, or pays and is lower or
    higher; or it is the last one that pays. Shape (terms, nodes).

    >>> pay, keep = np.array([[0.5], [0.25]]), np.array([[0.25], [0.125]])
    >>> sums_over_heights(pay, keep, [(0, 0), (1, 0), (1, 1), (2, 1)])[:, 0].tolist()
    [1.0, 0.375, 0.75, 0.28125]
    """
    from_here, up_to = np.cumsum(pay[::-1], axis=0)[::-1], np.cumsum(keep, axis=0)
    above = np.concatenate((from_here[1:], np.zeros_like(pay[:1])))
    below = np.concatenate((np.zeros_like(keep[:1]), up_to[:-1]))
    most = max((q for q, _ in terms), default=0)
    places = {term: place for place, term in enumerate(terms)}
    found = np.empty((len(terms), pay.shape[1]), dtype=pay.dtype)
    paid: list[NDArray[Any]] = []  # for 1, 2, ... that pay
    before = [np.ones_like(pay)]  # all before the last that pays, of which 0, 1, ... pay
    for q in range(most + 1):
        if q:
            last = [one * pay for one in before]
            for e, one in enumerate(paid):
                last[e] += one * up_to
                last[e + 1] += one * above
            paid = last
            before = _one_more(before, below, from_here)
        for e in range(q + 1):
            if (place := places.get((q, e))) is not None:
                found[place] = paid[e - 1].sum(axis=0) if e else up_to[-1] ** q
    return found


def _one_more(
    known: list[NDArray[Any]], below: NDArray[Any], above: NDArray[Any]
) -> list[NDArray[Any]]:
    """Return coefficients of a polynomial times below + above y."""
    found = [one * below for one in known]
    for e, one in enumerate(known[:-1]):
        found[e + 1] += one * above
    return [*found, known[-1] * above]


def survivors_at(
    category: Category, exponent: float, rho: float, nodes: Nodes, terms: Sequence[Term]
) -> NDArray[Any]:
    """Return the sums for all `terms` of an empty category at all nodes: (terms, nodes).

    A height h above the level weighs rho^h, and what is released BC^exponent.
    """
    most, released = max((q for q, _ in terms), default=0), np.arange(category.last + 1)
    some, parts = max(1, _AT_ONCE // ((most + 3) * released.size)), []
    sizes = rho ** np.arange(1.0, released.size + 1.0)[:, None]
    logs = exponent * category.logs_at(released)
    for first in range(0, nodes.size, some):
        weights = np.exp(logs)[:, None] * nodes.at(slice(first, first + some)).powers(released)
        keep = np.concatenate((weights[1:], np.zeros_like(weights[:1]))) * sizes
        parts.append(sums_over_heights(weights * sizes, keep, terms))
    return np.concatenate(parts, axis=1)
