"""How far a release lands from the truth: step probabilities, exact means, crossovers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes.laws.estimate import Yardstick, metric_function
from dpbayes.laws.law import DEVIATIONS, Law, mean_difference, order_of
from dpbayes.mechanisms.protocol import Mechanism

T = TypeVar("T")


def laplace_step_probability(step: ArrayLike, epsilon: float, sensitivity: float) -> Floats:
    """Return P(floor(Y) = t) for Y ~ Laplace(0, sensitivity/epsilon) and whole steps t.

    (e^(-t/b) - e^(-(t+1)/b))/2 for t >= 0 and (e^((t+1)/b) - e^(t/b))/2 for t < 0, with
    b = sensitivity/epsilon. Source: D, section 6.1.1 (a sign is wrong there) and Table 1; book:
    `thm-floor`. `step` of any shape.

    >>> laplace_step_probability([0, 1, 2], 1.0, 2.0).round(11)
    array([0.19673467, 0.11932561, 0.07237464])
    """
    t = _validate.whole_numbers("step", step)
    width = _validate.positive("sensitivity", sensitivity)
    rate = min(_validate.positive("epsilon", epsilon) / width, 800.0)  # e^-800 is 0 among floats
    away = np.where(t >= 0, t, -(t + 1))
    return np.asarray(0.5 * -np.expm1(-rate) * np.exp(-rate * away))


def split(n: int, proportions: ArrayLike) -> Whole:
    """Return n records split by proportions (k,), which are at least 0 with sum 1.

    Every category gets the whole part of its share; the records left go to the largest fractions,
    earlier categories first on ties.

    >>> split(100, [0.33, 0.33, 0.34])
    array([33, 33, 34])
    """
    size = _validate.integer("n", n, minimum=0)
    shares = _validate.proportions("proportions", proportions)
    # A share such as 0.29 * 100 must not lose a record to binary rounding.
    exact = np.round(size * shares, 9)
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - whole), kind="stable")
    rounded, left = divmod(size - int(whole.sum()), shares.size)
    # More than a record each is left by shares whose sum is rounded, or beyond 2^53 records.
    whole[np.argmax(whole)] += rounded * shares.size
    whole[order[:left]] += 1
    return whole


def mean_distances(
    mechanism: Mechanism,
    proportions: ArrayLike,
    prior: ArrayLike,
    sizes: Sequence[int] | Whole,
    metric: Yardstick = "hellinger",
) -> Floats:
    """Return the mean distance at each data size, records split by `proportions` (k,).

    Source: D, Figures 5 and 6; book: `fig-growth-balanced`.

    >>> from dpbayes.mechanisms import mechanism
    >>> means = mean_distances(mechanism("geometric", 1.0), [0.5, 0.5], [1, 1], [10, 100, 1000])
    >>> means.round(4)
    array([0.1731, 0.0594, 0.019 ])
    """
    _validate.offering("mechanism", mechanism, "law")
    metric_function(metric)
    _validate.same_labels(proportions=proportions, prior=prior)
    splits = [split(n, proportions) for n in _validate.sizes("sizes", sizes)]
    return np.array([mechanism.law(counts, prior).mean_distance(metric) for counts in splits])


TIE = "tie"  # the winner where two means are equal within their stated errors


def stated_error(mean: float) -> float:
    """Return by how much a mean may be off: its bound, or four standard errors if it was drawn."""
    error = float(getattr(mean, "error", 0.0))
    return DEVIATIONS * error if getattr(mean, "how", "") == "drawn" else error


@dataclass(frozen=True)
class MonteCarlo:
    """Simulated distances, shape (runs,), with their mean and its standard error."""

    distances: Floats

    @property
    def mean(self) -> float:
        """Average distance over the runs."""
        return float(self.distances.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the average."""
        return float(self.distances.std(ddof=1) / np.sqrt(self.distances.size))


def simulate(
    law: Law,
    counts: ArrayLike,
    prior: ArrayLike,
    rng: np.random.Generator,
    runs: int = 1000,
    metric: Yardstick = "hellinger",
) -> MonteCarlo:
    """Return the distances of `runs` >= 2 independent releases, the papers' way to a mean.

    >>> from dpbayes.mechanisms import mechanism
    >>> law = mechanism("geometric", 1.0).law([5, 5], [1, 1])
    >>> drawn = simulate(law, [5, 5], [1, 1], np.random.default_rng(1), runs=4000)
    >>> isinstance(drawn, MonteCarlo), drawn.distances.shape
    (True, (4000,))
    """
    _validate.offering("law", law, "sample")
    distance = metric_function(metric)
    x, alpha = _validate.counts_and_prior(counts, prior)
    draws = law.sample(rng, _validate.integer("runs", runs, minimum=2))
    different, inverse = np.unique(draws, axis=0, return_inverse=True)
    distances = np.asarray(distance(alpha + x, alpha + different))[inverse.ravel()]
    return MonteCarlo(_validate.frozen(distances))


@dataclass(frozen=True)
class Crossover:
    """Where the order of two mechanisms changes as the data grow.

    `changes` lists (n, winner): from n records on the mechanism of that name has the smaller mean
    distance, or it is a "tie" within the errors; `first_winner` wins at the smallest size.
    """

    first_winner: str
    changes: tuple[tuple[int, str], ...]

    @property
    def size(self) -> int | None:
        """Size of the first change, or None when one mechanism wins throughout."""
        return self.changes[0][0] if self.changes else None


def crossover(
    mechanism_a: Mechanism,
    mechanism_b: Mechanism,
    proportions: ArrayLike,
    prior: ArrayLike,
    sizes: Sequence[int] | Whole,
    metric: Yardstick = "hellinger",
) -> Crossover:
    """Return where one mechanism's mean distance falls below the other's.

    The order is computed at every entry of `sizes` (increasing), and a change between two entries
    located to one record by bisection; two changes there cancel unseen. Raises ValueError where a
    mean was drawn and its error leaves the order open.

    >>> from dpbayes.mechanisms import mechanism
    >>> smooth, laplace = mechanism("expMech-smooth", 1.0), mechanism("lapMech", 1.0)
    >>> crossover(smooth, laplace, [0.5, 0.5], [1, 1], range(2, 41, 2))
    Crossover(first_winner='expMech-smooth', changes=((8, 'lapMech'),))
    """
    _validate.offering("mechanism_a", mechanism_a, "law")
    _validate.offering("mechanism_b", mechanism_b, "law")
    _validate.same_labels(proportions=proportions, prior=prior)
    grid = _validate.sizes("sizes", sizes)
    if any(later <= earlier for earlier, later in pairwise(grid)):
        raise ValueError(f"sizes must be strictly increasing, got {_validate.shown(sizes)}")

    def winner(n: int) -> str:
        counts = split(n, proportions)
        laws = mechanism_a.law(counts, prior), mechanism_b.law(counts, prior)
        difference = mean_difference(*laws, metric)
        found = order_of(difference)
        if found == 0 and difference.how == "drawn":
            raise ValueError(
                f"sizes must keep to data whose order is certain, got n = {n}: the means were "
                f"drawn and differ by {float(difference):.2g}, with a standard error of "
                f"{difference.error:.2g}"
            )
        return (mechanism_a.name, TIE, mechanism_b.name)[found + 1]

    (_, opening), *changes = order_changes(grid, winner)
    return Crossover(opening, tuple(changes))


def order_changes(grid: Sequence[int], order: Callable[[int], T]) -> list[tuple[int, T]]:
    """Return the first place of an increasing grid and those where the order changes, with it.

    A change between two entries is located by bisection; two that cancel there go unseen.

    >>> order_changes([0, 10, 20], lambda n: n >= 7)
    [(0, False), (7, True)]
    """

    def within(low: int, high: int, before: T, after: T) -> list[tuple[int, T]]:
        if before == after:
            return []
        if high - low == 1:
            return [(high, after)]
        middle = (low + high) // 2
        there = order(middle)
        return within(low, middle, before, there) + within(middle, high, there, after)

    known = [order(n) for n in grid]
    spans = zip(grid, grid[1:], known, known[1:], strict=False)
    return [(grid[0], known[0]), *(change for span in spans for change in within(*span))]
