"""Who wins where: the mechanism of smallest exact mean distance over sizes, shares and priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbayes import _validate
from dpbayes.accuracy import split
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
        """Number of the winning mechanism in each cell, shape (rows, columns)."""
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
    mechanism_a: Mechanism, mechanism_b: Mechanism, n: int, prior: ArrayLike
) -> list[tuple[int, str]]:
    """Return where the order changes along the data sets (x, n - x), x = 0 … n; k = 2.

    Entries (x, winner): the mechanism of that name has the smaller mean distance from x ones on,
    until the next entry. The first entry is for x = 0.

    >>> from dpbayes.mechanisms import mechanism
    >>> pair = mechanism("expMech-delta", 0.8, delta=5e-4), mechanism("lapMech", 0.8)
    >>> count_crossings(*pair, 10, [1, 1])
    [(0, 'lapMech'), (4, 'expMech-delta'), (6, 'lapMech')]
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    names = []
    for x in range(size + 1):
        means = [m.law([x, size - x], alpha).mean_distance() for m in (mechanism_a, mechanism_b)]
        names.append((mechanism_a if means[0] < means[1] else mechanism_b).name)
    return [(x, names[x]) for x in range(size + 1) if x == 0 or names[x] != names[x - 1]]
