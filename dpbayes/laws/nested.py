"""Sums over two whole numbers of a function and of its weight, by points, with what is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.panels import Points

_AT_ONCE = 1 << 16

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Terms = Callable[[Whole, Whole], tuple[Floats, Floats]]
"""Numbers of outer points and inner places to two terms each, all of shape (m,)."""


def inner_sums(inner: Sequence[Points], terms: Terms) -> Floats:
    """Return for each of the outer points the sums of both terms, and their doubts: (2, 2, m).

    >>> from dpbayes.laws.panels import graded
    >>> def both(owner, place):
    ...     return 1.0 * place, np.ones(place.size)
    >>> inner_sums([graded(3, 16), graded(100, 128)], both)[0].round(9).tolist()
    [[3.0, 4950.0], [3.0, 100.0]]
    """
    found = np.zeros((2, 2, len(inner)))
    filled = [j for j, points in enumerate(inner) if points.places.size]
    if len(filled) < len(inner):  # some sums are empty
        rest = np.array(filled, dtype=np.int64)
        found[:, :, rest] = inner_sums([inner[j] for j in filled], lambda j, y: terms(rest[j], y))
        return found
    for some in _batches([points.places.size for points in inner]):
        parts = inner[some]
        sizes = np.array([points.places.size for points in parts])
        panels = np.array([points.starts.size for points in parts])
        offsets = np.cumsum(sizes) - sizes
        owner = np.repeat(np.arange(some.start, some.stop), sizes)
        starts = np.concatenate([points.starts for points in parts]) + np.repeat(offsets, panels)
        both = np.stack(terms(owner, np.concatenate([points.places for points in parts])))
        lower = both * np.concatenate([points.lower for points in parts])
        both *= np.concatenate([points.weights for points in parts])
        found[0, :, some] = np.add.reduceat(both, offsets, axis=1)
        doubts = np.abs(np.add.reduceat(lower, starts, axis=1))
        found[1, :, some] = np.add.reduceat(doubts, np.cumsum(panels) - panels, axis=1)
    return found


def _batches(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield slices of successive points with places, few enough to be looked at together."""
    start, held = 0, 0
    for place, size in enumerate(sizes):
        if held and held + size > _AT_ONCE:
            yield slice(start, place)
            start, held = place, 0
        held += size
    if held:
        yield slice(start, len(sizes))


def outer_sums(points: Points, weights: Floats, rows: Floats) -> Floats:
    """Return the sums over the outer points, and what is in doubt, of both terms: (2, 2)."""
    if not points.places.size:
        return np.zeros((2, 2))
    sums, doubts = rows * weights
    panels = np.abs(np.add.reduceat(sums * points.lower, points.starts, axis=1)).sum(axis=1)
    return np.stack((sums @ points.weights, panels + doubts @ np.abs(points.weights)))
