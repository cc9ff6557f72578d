"""The fair comparison: every data set of n records, not one; who wins, and where that
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbayes import _validate
from dpbayes._values import ByValue
from dpbayes.accuracy import TIE, order_changes, split
from dpbayes.auditing import calibrate
from dpbayes.laws.law import order
from dpbayes.laws.numbers import estimate_of
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.capabilities import Symmetric, own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions

LARGEST = 20_000  # data sets whose laws are computed one by one

SAME = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class Everywhere(ByValue):
    """Mean distance at every data set of n records: `data` (N, k), `distances` (N,)."""

    data: NDArray[np.int64]
    distances: NDArray[np.float64]
    error: float = 0.0

    @property
    def mean(self) -> float:
        """Mean over the data sets, each with the same weight: the Bayes risk of a flat
        prior.
        """
        return float(self.distances.mean())

    @property
    def worst(self) -> float:
        """The largest mean distance over the data sets."""
        return float(self.distances.max())

    def losses_to(self, other: Everywhere) -> int:
        """Return at how many data sets another one has the smaller mean distance."""
        return int(np.sum(other.distances < self.distances * (1.0 - 1e-12)))


def everywhere(described: Mechanism, n: int, prior: ArrayLike) -> Everywhere:
    """Return the exact mean distance of a mechanism at every histogram of n records."""
    alpha = _validate.prior("prior", prior)
    data = compositions(_validate.integer("n", n, minimum=1), alpha.size)
    if len(data) > LARGEST:
        raise ValueError(
            f"n = {n} has {len(data)} data sets; at most {LARGEST} are gone through"
        )
    rows, place = data, np.arange(len(data))
    renamed = own(described, Symmetric)
    if renamed is not None and renamed.symmetric and np.all(alpha == alpha[0]):
        # The order of the counts does not matter: one data set of each stands for all.
        rows, place = np.unique(np.sort(data, axis=1), axis=0, return_inverse=True)
    means = [described.law(x, alpha).mean_distance() for x in rows]
    distances = np.array(means, dtype=np.float64)
    return Everywhere(
        data, distances[place.ravel()], max(estimate_of(mean).error for mean in means)
    )


Maker = Callable[[int, float], Mechanism]  # for n records at privacy parameter epsilon


def makers(
    prior: ArrayLike, gamma: float = 0.3, delta: float = 1e-6
) -> Mapping[str, Maker]:
    """Return the mechanisms of the comparison, by name, for k = `len(prior)`
    categories.

    From three categories on "lattice" stands for "geometric", which it is at two.
    "geometric, remapped" is optimal: `thm-remap-optimal`. "expMech-smooth, calibrated"
    has an audited loss of epsilon for that n and prior.
    """
    alpha = _validate.prior("prior", prior)
    noise = "geometric" if alpha.size == 2 else "lattice"

    def registered(name: str, **options: float | bool) -> Maker:
        return lambda n, epsilon: mechanism(name, epsilon, **options)

    def calibrated(n: int, epsilon: float) -> Mechanism:
        smooth = mechanism("expMech-smooth", epsilon, gamma=gamma)
        found: Mechanism = calibrate(smooth, n, alpha, epsilon).mechanism
        return found

    plain = (
        "lapMech",
        "ilapMech",
        "expMech",
        "expMech-smooth",
        "permute-and-flip",
        noise,
    )
    return {
        **{name: registered(name) for name in plain},
        "expMech-smooth, calibrated": calibrated,
        "expMech-delta": registered("expMech-delta", delta=delta),
        "expMech-repaired": registered("expMech-repaired", delta=delta),
        f"{noise}, remapped": registered(noise, remap=True),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Winners(ByValue):
    """Mean distances of several mechanisms on a grid, `means` and `errors` (m, rows,
    columns).

    The errors are bounds, of a drawn mean 4.5 standard errors; nothing where they are
    left out.
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the numbers in `index` stand for: the names, and "tie" after them."""
        return (*self.names, TIE)

    @property
    def index(self) -> NDArray[np.int64]:
        """Number of the winner in each cell, of a tie the number of names, (rows,
        columns).

        A tie are means that differ by no more than their errors, or by a part in ten
        million.
        """
        errors = np.zeros(self.means.shape) if self.errors is None else self.errors
        least = np.argmin(self.means, axis=0)
        best, error = (
            np.take_along_axis(part, least[None], 0) for part in (self.means, errors)
        )
        close = self.means <= best * (1.0 + SAME) + errors + error
        found = np.where(close.sum(axis=0) > 1, len(self.names), least)
        return np.asarray(found, dtype=np.int64)

    def share(self, name: str) -> float:
        """Return the share of settings in which this mechanism wins."""
        return float(np.mean(self.index == self.names.index(name)))


@dataclass(frozen=True)
class Comparison:
    """Means over all data, worst cases and errors, each of shape (mechanisms, epsilons,
    sizes).
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    worsts: NDArray[np.float64]
    errors: NDArray[np.float64]

    def winners(self, names: Sequence[str], by: str = "mean") -> Winners:
        """Return who wins among some of the mechanisms, by "mean" or by "worst"
        case."""
        values = self.means if by == "mean" else self.worsts
        rows = [self.names.index(name) for name in names]
        return Winners(tuple(names), values[rows], self.errors[rows])

    def over(self, name: str, reference: str) -> NDArray[np.float64]:
        """Return the mean of one mechanism over that of another, shape (epsilons,
        sizes).
        """
        first, second = (self.names.index(one) for one in (name, reference))
        return np.asarray(self.means[first] / self.means[second])


def compare(
    chosen: Mapping[str, Maker],
    sizes: Sequence[int],
    epsilons: Sequence[float],
    prior: ArrayLike,
) -> Comparison:
    """Return the mean and the worst of each mechanism over all data, for each epsilon
    and size.
    """

    def summary(make: Maker, n: int, epsilon: float) -> tuple[float, float, float]:
        one = everywhere(make(n, epsilon), n, prior)
        return one.mean, one.worst, one.error

    # One after another at each size and epsilon: mechanisms share the tables of both.
    every = [
        [[summary(make, n, e) for make in chosen.values()] for n in sizes]
        for e in epsilons
    ]
    return Comparison(tuple(chosen), *np.moveaxis(np.array(every), (3, 2), (0, 1)))


def largest_lead(
    first: Maker, second: Maker, epsilon: float, prior: ArrayLike, largest: int = 2000
) -> int:
    """Return the largest n at which `first` beats `second` on balanced data, 0 if none
    is found.

    Every n is tried until the last win lies as far back as 20 records and as many as it
    is.
    """
    last = 0
    for n in range(1, largest + 1):
        counts = split(n, [0.5, 0.5])
        one, other = (make(n, epsilon).law(counts, prior) for make in (first, second))
        if order(one, other) < 0 and one.mean_distance() < other.mean_distance() * (
            1.0 - SAME
        ):
            last = n
        elif n > 2 * last + 20:
            break
    return last


def prior_crossings(
    mechanism_a: Mechanism,
    mechanism_b: Mechanism,
    counts: ArrayLike,
    low: float,
    high: float,
) -> list[float]:
    """Return the priors (a, …, a), a in [low, high], at which both mean distances are
    equal.

    Two crossings between neighbours on a geometric grid of 16 priors go unseen.
    """
    x = _validate.counts("counts", counts)

    def gap(a: float) -> float:
        prior = np.full(x.size, a)
        first, second = (m.law(x, prior) for m in (mechanism_a, mechanism_b))
        return first.mean_distance() - second.mean_distance()

    grid = np.geomspace(low, high, 16)
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

    Entries (x, winner): who has the smaller mean distance from x ones on, until the
    next entry, or "tie". Changes are located by bisection between the entries of
    `counts`, increasing, by default every x; two between two entries cancel unseen.
    """

    def winner(x: int) -> str:
        first, second = (m.law([x, n - x], prior) for m in (mechanism_a, mechanism_b))
        return (mechanism_a.name, TIE, mechanism_b.name)[order(first, second) + 1]

    return order_changes(range(n + 1) if counts is None else counts, winner)
