"""Who wins where: the mechanism of smallest exact mean distance over sizes, shares and priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbayes import _validate
from dpbayes.accuracy import order_changes, split
from dpbayes.divergences import Metric, hellinger
from dpbayes.mechanisms.protocol import Mechanism

_PRIOR_GRID = 16


@dataclass(frozen=True)
class Winners:
    """Exact mean distances of several mechanisms on a grid: `means` (m, rows, columns)."""

    names: tuple[str, ...]
    means: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", _validate.frozen(self.means))

    @property
    def index(self) -> NDArray[np.int64]:
        """Number of the winner in each cell, of equal ones the first, shape (rows, columns)."""
        return np.asarray(np.argmin(self.means, axis=0), dtype=np.int64)

    def share(self, name: str) -> float:
        """Return the share of cells that the mechanism of that name wins."""
        at = self.names.index(_validate.choice("name", name, self.names))
        return float(np.mean(self.index == at))


def winners_by_share(
    mechanisms: Sequence[Mechanism],
    sizes: Sequence[int],
    shares: Sequence[float],
    prior: ArrayLike,
) -> Winners:
    """Return who wins for n records of which a share are ones; rows shares, columns sizes; k = 2.

    `sizes` at least 1, `shares` in [0, 1], `prior` of shape (2,).

    >>> from dpbayes.mechanisms import mechanism
    >>> pair = [mechanism("lapMech", 0.8), mechanism("expMech-delta", 0.8, delta=5e-4)]
    >>> winners_by_share(pair, [10, 20], [0.0, 0.5], [1, 1]).index
    array([[0, 0],
           [1, 0]])
    """
    alpha = _validate.prior("prior", prior, 2)
    checked = [_validate.closed_unit("shares", share) for share in shares]
    return _winners(mechanisms, [[(split(n, [s, 1.0 - s]), alpha) for n in sizes] for s in checked])


def winners_by_prior(
    mechanisms: Sequence[Mechanism],
    sizes: Sequence[int],
    priors: Sequence[float],
    proportions: ArrayLike,
) -> Winners:
    """Return who wins for n records split by `proportions` under the prior (a, …, a).

    Rows priors a > 0, columns sizes at least 1.
    """
    k = np.asarray(proportions).size
    checked = [_validate.positive("priors", a) for a in priors]
    return _winners(
        mechanisms, [[(split(n, proportions), np.full(k, a)) for n in sizes] for a in checked]
    )


def _winners(
    mechanisms: Sequence[Mechanism],
    cases: Sequence[Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]],
) -> Winners:
    if len(mechanisms) < 2 or not cases or not cases[0]:
        raise ValueError("a comparison needs at least two mechanisms, one row and one column")
    means = [[[m.law(*case).mean_distance() for case in row] for row in cases] for m in mechanisms]
    return Winners(tuple(m.name for m in mechanisms), np.array(means))


def prior_crossings(
    mechanism_a: Mechanism,
    mechanism_b: Mechanism,
    counts: ArrayLike,
    low: float,
    high: float,
    metric: Metric = hellinger,
) -> list[float]:
    """Return the priors a in [low, high] at which both mean distances are equal, prior (a, …, a).

    Sign changes are looked for on a geometric grid of 16 priors and located by root finding, so
    two crossings between neighbouring grid points go unseen. 0 < low < high.

    >>> from dpbayes.mechanisms import mechanism
    >>> pair = mechanism("expMech-delta", 0.8, delta=1e-8), mechanism("ilapMech", 0.8)
    >>> [round(a, 3) for a in prior_crossings(*pair, [5, 5, 5], 0.5, 20.0)]
    [5.918]
    """
    x = _validate.counts("counts", counts)
    if not 0.0 < _validate.real("low", low) < _validate.real("high", high):
        raise ValueError(f"low and high must satisfy 0 < low < high, got {low!r} and {high!r}")

    def gap(a: float) -> float:
        prior = np.full(x.size, a)
        first, second = (m.law(x, prior) for m in (mechanism_a, mechanism_b))
        return first.mean_distance(metric) - second.mean_distance(metric)

    grid = np.geomspace(low, high, _PRIOR_GRID)
    gaps = [gap(float(a)) for a in grid]
    changes = [i for i in range(1, grid.size) if gaps[i - 1] * gaps[i] < 0]
    return [float(brentq(gap, grid[i - 1], grid[i], xtol=1e-9)) for i in changes]


def count_crossings(
    mechanism_a: Mechanism,
    mechanism_b: Mechanism,
    n: int,
    prior: ArrayLike,
    counts: Sequence[int] | None = None,
) -> list[tuple[int, str]]:
    """Return where the order changes along the data sets (x, n - x); k = 2.

    Entries (x, winner): the mechanism of that name has the smaller mean distance from x ones on,
    until the next entry; where both are equal the second is named. The order is computed at every
    entry of `counts`, increasing, in 0 … n, and a change between two of them is located to one
    record by bisection; two changes there cancel unseen. Without `counts` every x is looked at. The
    first entry is the first x.

    >>> from dpbayes.mechanisms import mechanism
    >>> pair = mechanism("expMech-delta", 0.8, delta=5e-4), mechanism("lapMech", 0.8)
    >>> count_crossings(*pair, 10, [1, 1])
    [(0, 'lapMech'), (4, 'expMech-delta'), (6, 'lapMech')]
    >>> count_crossings(*pair, 100_000, [1, 1], counts=[0, 50_000])
    [(0, 'lapMech'), (212, 'expMech-delta')]
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    grid = list(range(size + 1)) if counts is None else [int(x) for x in counts]
    if not grid or grid != sorted(set(grid)) or grid[0] < 0 or grid[-1] > size:
        raise ValueError(f"counts must increase from 0 to n = {size} at most, got {counts!r}")

    def a_wins(x: int) -> bool:
        means = [m.law([x, size - x], alpha).mean_distance() for m in (mechanism_a, mechanism_b)]
        return bool(means[0] < means[1])

    return [
        (x, (mechanism_a if better else mechanism_b).name)
        for x, better in order_changes(grid, a_wins)
    ]
