"""Who wins where by exact mean distance, and where two mechanisms change their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbayes import _validate
from dpbayes.accuracy import TIE, order_changes
from dpbayes.divergences import Metric, hellinger
from dpbayes.laws.law import order
from dpbayes.mechanisms.protocol import Mechanism

_PRIOR_GRID = 16
SAME = 1e-7


@dataclass(frozen=True)
class Winners:
    """Mean distances of several mechanisms on a grid, `means` and `errors` (m, rows, columns).

    The errors are bounds, of a drawn mean 4.5 standard errors; nothing where they are left out.

    >>> Winners(("a", "b"), np.array([[[0.1, 0.2]], [[0.3, 0.2]]])).index.tolist()
    [[0, 2]]
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", _validate.frozen(self.means))

    @property
    def labels(self) -> tuple[str, ...]:
        """What the numbers in `index` stand for: the names, and "tie" after them."""
        return (*self.names, TIE)

    @property
    def index(self) -> NDArray[np.int64]:
        """Number of the winner in each cell, of a tie the number of names, (rows, columns).

        A tie are means that differ by no more than their errors, or by a part in ten million: a
        calibrated mechanism's epsilon is known to a part in a thousand million, and its mean to
        epsilon times as much.
        """
        errors = np.zeros(self.means.shape) if self.errors is None else self.errors
        least = np.argmin(self.means, axis=0)
        best, error = (np.take_along_axis(part, least[None], 0) for part in (self.means, errors))
        close = self.means <= best * (1.0 + SAME) + errors + error
        found = np.where(close.sum(axis=0) > 1, len(self.names), least)
        return np.asarray(found, dtype=np.int64)

    def share(self, name: str) -> float:
        """Return the share of cells that the mechanism of that name wins."""
        at = self.names.index(_validate.choice("name", name, self.names))
        return float(np.mean(self.index == at))


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
    until the next entry; where both are equal within their errors it is "tie". The order is
    computed at every entry of `counts`, increasing, in 0 … n, and a change between two of them is
    located to one record by bisection; two changes there cancel unseen. Without `counts` every x is
    looked at. The
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

    def winner(x: int) -> str:
        first, second = (m.law([x, size - x], alpha) for m in (mechanism_a, mechanism_b))
        return (mechanism_a.name, TIE, mechanism_b.name)[order(first, second) + 1]

    return order_changes(grid, winner)
