"""The fair comparison: every data set of n records, not one; means, worst cases and who wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.accuracy import split, stated_error
from dpbayes.auditing import calibrate
from dpbayes.laws.law import order
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions
from dpbayes.study.winners import SAME, Winners

LARGEST = 20_000
"""Most data sets whose laws are computed one by one."""


@dataclass(frozen=True)
class Everywhere:
    """Mean distance at every data set of n records: `data` (N, k), `distances` (N,).

    `error` is the largest error of a distance.
    """

    data: NDArray[np.int64]
    distances: NDArray[np.float64]
    error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances", _validate.frozen(self.distances))

    @property
    def mean(self) -> float:
        """Mean over the data sets, each with the same weight: the Bayes risk of a flat prior."""
        return float(self.distances.mean())

    @property
    def worst(self) -> float:
        """Largest expected distance at any data set."""
        return float(self.distances.max())

    def at(self, counts: ArrayLike) -> float:
        """Return the expected distance at one data set."""
        wanted = _validate.counts("counts", counts)
        return float(self.distances[np.all(self.data == wanted, axis=1)][0])

    def losses_to(self, other: Everywhere) -> int:
        """Return at how many data sets the other has the smaller expected distance."""
        return int(np.sum(other.distances < self.distances * (1.0 - 1e-12)))


def everywhere(described: Mechanism, n: int, prior: ArrayLike) -> Everywhere:
    """Return the exact mean distance of a mechanism at every histogram of n records.

    >>> found = everywhere(mechanism("geometric", 0.1), 10, [1, 1])
    >>> round(found.mean, 4), round(found.worst, 4)
    (0.6103, 0.7168)
    """
    alpha = _validate.prior("prior", prior)
    data = compositions(_validate.integer("n", n, minimum=1), alpha.size)
    if len(data) > LARGEST:
        raise ValueError(f"n = {n} has {len(data)} data sets; at most {LARGEST} are gone through")
    rows, place = data, np.arange(len(data))
    if own(described, "symmetric") and np.all(alpha == alpha[0]):
        # The order of the counts does not matter: one data set of each stands for all.
        rows, place = np.unique(np.sort(data, axis=1), axis=0, return_inverse=True)
    means = [described.law(x, alpha).mean_distance() for x in rows]
    distances = np.array(means, dtype=np.float64)
    return Everywhere(data, distances[place.ravel()], max(map(stated_error, means)))


Maker = Callable[[int, float], Mechanism]
"""What gives a mechanism for n records at privacy parameter epsilon."""


def makers(prior: ArrayLike, gamma: float = 0.3, delta: float = 1e-6) -> Mapping[str, Maker]:
    """Return the mechanisms of the comparison, by name, for k = `len(prior)` categories.

    From three categories on "lattice" stands for "geometric", which it is at two.
    "expMech-smooth, calibrated" has its nominal epsilon raised, for that n and prior, until its
    audited loss is epsilon; `gamma` is chosen before the data. "geometric, remapped" (k = 2) has
    the least mean over all data of the epsilon-DP mechanisms that answer with a data set
    (`thm-remap-optimal`).

    >>> list(makers([1, 1, 1]))[-3:]
    ['discrete-gaussian', 'lattice', 'lattice, remapped']
    """
    alpha = _validate.prior("prior", prior)
    noise = "geometric" if alpha.size == 2 else "lattice"

    def registered(name: str, **options: float | bool) -> Maker:
        return lambda n, epsilon: mechanism(name, epsilon, **options)

    def calibrated(n: int, epsilon: float) -> Mechanism:
        smooth = mechanism("expMech-smooth", epsilon, gamma=gamma)
        found: Mechanism = calibrate(smooth, n, alpha, epsilon)
        return found

    return {
        "lapMech": registered("lapMech"),
        "ilapMech": registered("ilapMech"),
        "expMech": registered("expMech"),
        "expMech-smooth": registered("expMech-smooth"),
        "expMech-smooth, calibrated": calibrated,
        "expMech-delta": registered("expMech-delta", delta=delta),
        "expMech-repaired": registered("expMech-repaired", delta=delta),
        "permute-and-flip": registered("permute-and-flip"),
        "discrete-gaussian": registered("discrete-gaussian", delta=delta),
        noise: registered(noise),
        f"{noise}, remapped": registered(noise, remap=True),
    }


@dataclass(frozen=True)
class Comparison:
    """Means over all data, worst cases and errors, each of shape (mechanisms, epsilons, sizes)."""

    names: tuple[str, ...]
    means: NDArray[np.float64]
    worsts: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None

    def winners(self, names: Sequence[str], by: str = "mean") -> Winners:
        """Return who wins among some of the mechanisms, by "mean" or by "worst" case."""
        values = {"mean": self.means, "worst": self.worsts}[
            _validate.choice("by", by, ("mean", "worst"))
        ]
        rows = [self.names.index(_validate.choice("names", name, self.names)) for name in names]
        errors = None if self.errors is None else self.errors[rows]
        return Winners(tuple(names), values[rows], errors)

    def over(self, name: str, reference: str) -> NDArray[np.float64]:
        """Return the mean of one mechanism over that of another, shape (epsilons, sizes)."""
        first, second = (self.names.index(one) for one in (name, reference))
        return np.asarray(self.means[first] / self.means[second])


def compare(
    chosen: Mapping[str, Maker],
    sizes: Sequence[int],
    epsilons: Sequence[float],
    prior: ArrayLike,
) -> Comparison:
    """Return the mean and the worst of each mechanism over all data, for each epsilon and size."""
    # One after another at each size and epsilon: mechanisms share the tables of both.
    found = [
        [[everywhere(make(n, e), n, prior) for make in chosen.values()] for n in sizes]
        for e in epsilons
    ]
    parts = (
        np.array([[[getattr(one, which) for one in row] for row in table] for table in found])
        for which in ("mean", "worst", "error")
    )
    return Comparison(tuple(chosen), *(np.moveaxis(part, 2, 0) for part in parts))


def largest_lead(
    first: Maker, second: Maker, epsilon: float, prior: ArrayLike, largest: int = 2000
) -> int:
    """Return the largest n at which `first` beats `second` on balanced data, 0 if none is found.

    Every n is tried until the last win lies as far back as 20 records and as many as it is.

    >>> chosen = makers([1, 1])
    >>> largest_lead(chosen["expMech-smooth"], chosen["lapMech"], 0.5, [1, 1])
    13
    """
    last = 0
    for n in range(1, largest + 1):
        counts = split(n, [0.5, 0.5])
        one, other = (make(n, epsilon).law(counts, prior) for make in (first, second))
        if order(one, other) < 0 and one.mean_distance() < other.mean_distance() * (1.0 - SAME):
            last = n
        elif n > 2 * last + 20:
            break
    return last
