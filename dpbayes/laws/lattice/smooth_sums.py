"""Sums over many whole numbers of functions that are smooth but for a few kinks.

A panel of whole numbers is summed by the polynomial through some of its values. How far the sum
moves when the polynomial loses its last degrees is the error that is reported; a panel where that
is too much is halved. Short panels are added up as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import bernoulli, factorial

from dpbayes import _validate

_NODES = 17
LONGEST_RULE = 24
"""So many values are added up one by one; longer panels need fewer."""

_SHARE = 0.05
_SPARE = 3  # the degrees that are left out for the error
_LONGEST_TABLE = 1 << 16

Values = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def smooth_sum(
    values: Values,
    panels: Sequence[tuple[int, int]],
    tolerance: float,
    one: bool = False,
    costly: bool = False,
) -> tuple[NDArray[np.float64], float]:
    """Return the sum of `values` over a <= j < b of all panels (a, b), and its estimated error.

    `values` takes whole numbers (m,) and returns (q, m), one row for each of q sums; it is asked
    once for each number, for many together. Kinks belong to the ends of panels. Where values
    are `costly` a panel is tried with about twice as many before it is halved. If there is only
    `one` sum, the size of the highest degrees counts for the error as well: what they add to it may
    vanish by chance.

    >>> total, error = smooth_sum(lambda j: np.exp(-0.01 * j)[None, :], [(0, 1000)], 1e-9)
    >>> bool(abs(total[0] - np.exp(-0.01 * np.arange(1000)).sum()) <= error + 1e-12)
    True
    >>> error < 1e-9
    True
    """
    known: dict[int, NDArray[np.float64]] = {}
    whole = float(sum(b - a for a, b in panels))
    parts: list[NDArray[np.float64]] = []
    error = 0.0
    left = [(a, b, _NODES) for a, b in panels]
    while left:
        asked = {a + j for a, b, size in left for j in _rule(b - a, one, size)[0].tolist()}
        fresh = np.array(sorted(asked - known.keys()), dtype=np.int64)
        if fresh.size:
            known.update(zip(fresh.tolist(), values(fresh).T, strict=True))
        rest = []
        for a, b, size in left:
            nodes, weights, doubts = _rule(b - a, one, size)
            table = np.array([known[a + j] for j in nodes.tolist()])
            doubt = float(np.abs(doubts @ table).max())
            if doubt <= tolerance * (b - a) / whole:
                parts.append(weights @ table)
                error += doubt
            elif costly and size == _NODES:
                rest.append((a, b, 2 * _NODES - 1))
            else:
                rest += [(a, (a + b) // 2, _NODES), ((a + b) // 2, b, _NODES)]
        left = rest
    return np.sum(parts, axis=0), error


def asked_for(panels: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Return all that `smooth_sum` of one costly sum asks for before any panel is halved.

    >>> asked_for([(0, 5), (5, 7)]).tolist()
    [0, 1, 2, 3, 4, 5, 6]
    """
    sizes = _NODES, 2 * _NODES - 1
    return np.unique(
        np.concatenate([a + _rule(b - a, True, n)[0] for a, b in panels for n in sizes])
    )


def straight_sum(known: Mapping[int, float], first: int, end: int) -> float:
    """Return the sum over whole numbers from `first` to `end`, drawn straight between known ones.

    >>> straight_sum({2: 1.0, 4: 3.0}, 0, 6)
    12.0
    """
    places = np.array(sorted(known))
    values = np.array([known[place] for place in places.tolist()])
    sizes = 0.5 * (values[1:] + values[:-1]) @ np.diff(places)
    outside = (places[0] - first) * values[0] + (end - places[-1]) * values[-1]
    return float(sizes + outside)


@lru_cache(maxsize=4096)
def _rule(
    length: int, sized: bool = False, size: int = _NODES
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes in 0 … length - 1, weights of the sum, and weights of its doubt."""
    if length <= LONGEST_RULE * size // _NODES:
        nodes = np.arange(length)
        return _validate.frozen(nodes), np.ones(length), np.zeros((1, length))
    top = length - 1
    cosines = np.cos(np.pi * np.arange(size) / (size - 1))
    nodes = np.unique(np.rint(0.5 * top * (1.0 - cosines)).astype(np.int64))
    if length <= _LONGEST_TABLE:
        places = chebyshev.chebvander(2.0 * np.arange(length) / top - 1.0, nodes.size - 1)
        sums, at_nodes = places.sum(axis=0), places[nodes].T
    else:
        sums = _chebyshev_sums(length, nodes.size)
        at_nodes = chebyshev.chebvander(2.0 * nodes / top - 1.0, nodes.size - 1).T
    weights = np.linalg.solve(at_nodes, sums)
    fewer = np.linalg.lstsq(at_nodes[:-_SPARE], sums[:-_SPARE], rcond=None)[0]
    doubts = (weights - fewer)[None, :]
    if sized:
        highest = np.linalg.inv(at_nodes.T)[-_SPARE:]
        doubts = np.vstack((doubts, _SHARE * length * highest))
    return _validate.frozen(nodes), weights, doubts


def _chebyshev_sums(length: int, size: int) -> NDArray[np.float64]:
    """Return the sums of T_0 ... T_(size - 1) over `length` places from -1 to 1.

    Euler and Maclaurin's formula, which is exact for polynomials.

    >>> places = np.linspace(-1.0, 1.0, 1001)
    >>> bool(np.allclose(_chebyshev_sums(1001, 17), chebyshev.chebvander(places, 16).sum(axis=0)))
    True
    """
    top, ends, basis = length - 1, np.array([-1.0, 1.0]), np.eye(size)
    whole = chebyshev.chebval(ends, chebyshev.chebint(basis))
    sums = 0.5 * top * (whole[:, 1] - whole[:, 0]) + 0.5 * chebyshev.chebval(ends, basis).sum(
        axis=1
    )
    numbers = bernoulli(size)
    for i in range(2, size, 2):
        slopes = chebyshev.chebval(ends, chebyshev.chebder(basis, i - 1))
        share = numbers[i] / factorial(i) * (2.0 / top) ** (i - 1)
        sums += share * (slopes[:, 1] - slopes[:, 0])
    return np.asarray(sums)
