"""Laws of what a mechanism releases: what each answers, how one is chosen, how two
compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes.laws.estimate import (
    DRAWS,
    SEED,
    MonteCarlo,
    Yardstick,
    distances_of,
    drawn_cdf,
    drawn_mean,
    drawn_quantile,
    mean_of,
    metric_function,
)
from dpbayes.laws.numbers import (
    DEVIATIONS,
    Estimate,
    estimate_of,
)

# What only a law that lists its outputs has.
LISTED = ("outputs", "probabilities", "log_probabilities", "distances")
_ROUNDING = 2.0**-50  # of two means that are equal but for the order of their sums


class Law(Protocol):
    """The distribution of the released histogram; numbers are an `Estimate`, which has
    an error.

    The names are those of scipy's distributions, for the distance between released and
    true posterior.

    >>> from dpbayes.mechanisms import mechanism
    >>> law = mechanism("geometric", epsilon=1.0).law([3, 1], [1, 1])
    >>> law.mean_distance(), law.probability([3, 1])
    (0.2193 ± 2e-14 (listed), 0.4621 ± 2e-14 (listed))
    """

    def mean_distance(self, metric: Yardstick = "hellinger") -> float:
        """Return E[d(BI(x), r)] over the released histogram r, a number >= 0.

        `metric` is "hellinger", "published", or a function of two arrays of Dirichlet
        parameters (..., k), as for all answers here. The distance is between the
        posteriors prior + x and prior + r.
        """

    def quantile(self, q: float, metric: Yardstick = "hellinger") -> float:
        """Return the smallest c with P(distance <= c) >= q, for q in [0, 1]."""

    def cdf(self, distance: float, metric: Yardstick = "hellinger") -> float:
        """Return P(distance <= `distance`), in [0, 1]."""

    def sf(self, distance: float, metric: Yardstick = "hellinger") -> float:
        """Return P(distance > `distance`) = 1 - cdf, in [0, 1]."""

    def variance(self, metric: Yardstick = "hellinger") -> float:
        """Return E[distance^2] - E[distance]^2, the variance of the distance."""

    def probability(self, counts_out: ArrayLike) -> Any:
        """Return P[M(x) = counts_out] of one output (k,), or of several (m, k), shape
        (m,).
        """

    def mean_affinity(self) -> float:
        """Return E[BC], BC = integral of sqrt(p q) of true and released posterior, in
        [0, 1].
        """

    def rvs(self, size: int, random_state: np.random.Generator) -> Whole:
        """Return `size` independent released histograms, shape (size, k), for
        experiments.
        """

    def simulate(
        self,
        rng: np.random.Generator,
        runs: int = 1000,
        metric: Yardstick = "hellinger",
    ) -> MonteCarlo:
        """Return the distances of `runs` >= 2 independent releases, with mean and
        error.
        """


class Listed(Law, Protocol):
    """A law that lists its outputs, as `FiniteLaw` does.

    `outputs` (N, k) with `probabilities` and `log_probabilities` (N,), the Hellinger
    `distances` (N,) of each to the truth, and `mass_outside`, a bound on the
    probability of what is not listed, 0 for a complete list.
    """

    outputs: Whole
    probabilities: Floats
    log_probabilities: Floats
    distances: Floats
    mass_outside: float

    def distance_distribution(
        self, metric: Yardstick = "hellinger"
    ) -> tuple[Floats, Floats]:
        """Return the distinct distances (m,), increasing, and the probability of each
        (m,).
        """


def listed(law: Law, purpose: str) -> Listed:
    """Return a law that lists its outputs; TypeError, naming the purpose, where it does
    not.
    """
    if not hasattr(law, "outputs"):
        raise TypeError(
            f"{purpose} needs every output listed; this law is a {type(law).__name__},"
            " which lists none: use fewer records or fewer categories"
        )
    return cast("Listed", law)


class Answers:
    """What all laws of the package share: answers that follow from `moment` and two
    others.

    `why` says which way of computing the law was taken and why the ones before it were
    not.
    """

    why: str = ""
    prior: Floats
    counts: Whole

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        """Return E[distance^order] for the order 1 or 2, with its error.

        Means, variances and mean affinities follow from it; a law states it once.
        """
        raise NotImplementedError

    def one_probability(self, counts_out: Whole) -> Estimate:
        """Return P[M(x) = counts_out] of one output, a checked vector (k,) of whole
        numbers.
        """
        raise NotImplementedError

    def draws(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Return `size` independent draws, shape (size, k); both arguments are
        checked.
        """
        raise NotImplementedError

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected distance E[d] between released and true posterior,
        `moment(1)`.

        `metric` is "hellinger" (in [0, 1]), "published", or a function of two arrays of
        Dirichlet parameters (..., k) that returns distances (...).
        """
        return self.moment(1, metric)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected square E[d^2] of the distance, `moment(2)`; `metric` as
        there.
        """
        return self.moment(2, metric)

    @property
    def error_bound(self) -> float:
        """Error of the mean Hellinger distance, in the unit of a distance."""
        return self.mean_distance().error

    def mean_affinity(self) -> Estimate:
        """Return E[BC] = 1 - E[H^2], the mean affinity of released and true posterior.

        In [0, 1]; the error is that of E[H^2] and of one rounding.
        """
        square = self.mean_square()
        return square.moved(1.0 - square, square.error + 2.0**-53)

    def variance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the variance E[d^2] - E[d]^2 of the distance, at least 0.

        With errors e2 of the mean square and e1 of the mean m it is right within e2 + 2
        m e1 + e1^2, since |m'^2 - m^2| <= 2 m e1 + e1^2 for every m' within e1 of m.
        """
        square, mean = self.mean_square(metric), self.mean_distance(metric)
        value = max(square - mean**2, 0.0)
        error = square.error + 2.0 * mean * mean.error + mean.error**2
        return square.moved(value, error)

    def probability(self, counts_out: ArrayLike) -> Any:
        """Return the probability of one output (k,), an `Estimate`, or of several, (m,
        k) to (m,).

        Raises ValueError or TypeError for what is not whole counts of the law's k
        categories.
        """
        k = int(np.size(self.counts))
        table = _validate.counts("counts_out", counts_out, k, rows=True)
        if table.ndim == 1:
            return self.one_probability(table)
        return self.each_probability(table.reshape(-1, k)).reshape(table.shape[:-1])

    def each_probability(self, rows: Whole) -> Floats:
        """Return the probability of each output of a checked table (m, k), shape
        (m,).
        """
        return np.array([self.one_probability(row) for row in rows], dtype=np.float64)

    def distribution_at(self, distance: float, metric: Yardstick) -> Estimate:
        """Return P(the distance is at most `distance`), a checked number, in [0, 1]."""
        raise NotImplementedError

    def cdf(self, distance: float, metric: Yardstick = "hellinger") -> Estimate:
        """Return the probability P(d <= `distance`) of at most this distance, in [0,
        1].

        Distances that differ by 1e-12 or less count as one: the rounding of two equal
        distances must not decide on which side of `distance` an output lies.
        """
        return self.distribution_at(_validate.real("distance", distance), metric)

    def sf(self, distance: float, metric: Yardstick = "hellinger") -> Estimate:
        """Return the probability of more than this distance: 1 - cdf, its error one
        rounding larger.
        """
        within = self.cdf(distance, metric)
        return within.moved(1.0 - within, within.error + 2.0**-53)

    def rvs(self, size: int, random_state: np.random.Generator) -> NDArray[Any]:
        """Return `size` independent released histograms, shape (size, k), for
        experiments.

        `random_state` is a seeded numpy generator; releases of real data go through
        `dpbayes.release`.
        """
        generator = _validate.generator("random_state", random_state)
        return self.draws(generator, _validate.integer("size", size, minimum=0))

    def simulate(
        self,
        rng: np.random.Generator,
        runs: int = 1000,
        metric: Yardstick = "hellinger",
    ) -> MonteCarlo:
        """Return the distances (runs,) of `runs` >= 2 independent releases.

        The papers' way to a mean (D averages 1000 runs). `rng` is a seeded generator;
        draws of one histogram share one evaluation of the distance.
        """
        _validate.generator("rng", rng)
        metric_function(metric)
        draws = self.rvs(_validate.integer("runs", runs, minimum=2), rng)
        different, place = np.unique(draws, axis=0, return_inverse=True)
        distances = distances_of(self, different, metric)[place.ravel()]
        return MonteCarlo(_validate.frozen(distances))


class Unlisted(Answers):
    """A law without a list of outputs: means are drawn where a law knows no better
    way."""

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        """Return E[distance^order] from draws of a fixed seed, with its standard
        error.
        """
        return drawn_mean(self, metric, order)

    def quantile(self, q: float, metric: Yardstick = "hellinger") -> Estimate:
        """Return the q-quantile of the distance over 200 000 draws, q in [0, 1].

        Its error is that of `estimate.drawn_quantile`, which holds with probability 1 -
        1e-6.
        """
        return drawn_quantile(self, _validate.closed_unit("q", q), metric)

    def distribution_at(self, distance: float, metric: Yardstick) -> Estimate:
        """Return P(the distance is at most `distance`) over 200 000 draws, within
        0.0061.
        """
        return drawn_cdf(self, distance, metric)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            kind = type(self).__name__
            if name in LISTED:
                raise AttributeError(
                    f"{kind} does not list its outputs, so it has no .{name}: ask"
                    " .probability(outputs), .mean_distance(), .quantile(q) or"
                    " .rvs(size, random_state)"
                )
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")


@dataclass(frozen=True)
class Way:
    """One way to compute a law: its name, whether it fits, the fact that decides, and
    the way.

    `choose` takes the first of several that fits. Its fact stands first in the law's
    `why`, the facts of those before it follow:

    >>> from dpbayes.mechanisms import mechanism
    >>> for part in mechanism("lattice", 1.0).law([5, 5, 5], [1] * 3).why.split("; "):
    ...     print(part)
    list, because up to 400000 outputs within reach of the noise are listed
    not geometric: that is this mechanism at k = 2
    not remap: remapped outputs are histograms, and all are listed
    """

    name: str
    fits: bool
    fact: str
    make: Callable[[], Any]


def choose(*ways: Way) -> Any:
    """Return the law of the first way that fits and gives one; `.why` says how that
    came about.

    A way may find out only while it works that it does not fit: its `make` then returns
    None, and the next one is tried. Every choice between methods in the package is made
    here. Raises ValueError, naming all the facts, where no way is left.
    """
    passed: list[str] = []
    for way in ways:
        law = way.make() if way.fits else None
        if law is not None:
            taken = f"{way.name}, because {way.fact}"
            object.__setattr__(law, "why", "; ".join([taken, *passed]))
            return law
        passed.append(f"not {way.name}: {way.fact}")
    raise ValueError(f"no way to compute this law: {'; '.join(passed)}")


def mean_difference(a: Law, b: Law, metric: Yardstick = "hellinger") -> Estimate:
    """Return E[distance] under `a` less that under `b`, with its error.

    Sums carry the sum of their errors. Where both are drawn the draws share their
    random numbers (the same seed, one draw beside the other), and the error is that of
    the mean of their differences, if that is smaller than that of two separate means.

    >>> from dpbayes.mechanisms import mechanism
    >>> names = ("geometric", "lapMech")
    >>> laws = [mechanism(name, 1.0).law([5, 5], [1, 1]) for name in names]
    >>> difference = mean_difference(*laws)
    >>> round(difference, 4), difference.how
    (-0.1939, 'listed')
    """
    found = [law.mean_distance(metric) for law in (a, b)]
    first, second = map(estimate_of, found)
    value = float(first) - float(second)
    if "drawn" not in (first.how, second.how):
        rounding = _ROUNDING * (abs(first) + abs(second))
        how = first.how if first.how == second.how else "series"
        return Estimate(value, first.error + second.error + rounding, how)
    standard_errors = first.standard_error, second.standard_error
    bounds = [
        one.error - DEVIATIONS * one.standard_error for one in (first, second)
    ]  # of what was summed
    apart = Estimate.drawn(value, float(np.hypot(*standard_errors)), sum(bounds))
    if first.how != second.how:
        return apart
    columns = [
        distances_of(law, law.rvs(DRAWS, np.random.default_rng(SEED)), metric)  # type: ignore[arg-type]
        for law in (a, b)
    ]
    together = mean_of(columns[0] - columns[1])
    return together if together.error < apart.error else apart


def order_of(difference: Estimate) -> int:
    """Return the sign of a difference, or 0 where its error does not tell it: a tie.

    >>> order_of(Estimate.drawn(-0.1, 0.01)), order_of(Estimate.drawn(-0.1, 0.05))
    (-1, 0)
    """
    return 0 if abs(difference) <= difference.error else int(np.sign(difference))


def order(a: Law, b: Law, metric: Yardstick = "hellinger") -> int:
    """Return -1 where `a` has the smaller mean distance, 1 where `b` has, 0 for a tie.

    A tie is a difference that its own error does not tell from 0, see
    `mean_difference`.
    """
    return order_of(mean_difference(a, b, metric))
