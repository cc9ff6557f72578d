"""How far a release lands from the truth: steps, exact means, crossovers, records
needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import Shown
from dpbayes.laws.estimate import (
    Yardstick,
    metric_function,
)
from dpbayes.laws.law import mean_difference, order_of
from dpbayes.laws.numbers import Estimate, Estimates, estimate_of
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.mechanisms import Mechanism
from dpbayes.mechanisms.lattice import SumZeroLattice

T = TypeVar("T")
TIE = "tie"  # the winner where two means are equal within their stated errors
LARGEST_PLAN = 2**52  # more records than this are not looked for
_LARGEST_REACH = 4_000_000


def laplace_step_probability(
    step: ArrayLike, epsilon: float, sensitivity: float
) -> Floats:
    """Return P(floor(Y) = t) for Y ~ Laplace(0, sensitivity/epsilon) and whole steps t.

    (e^(-t/b) - e^(-(t+1)/b))/2 for t >= 0 and (e^((t+1)/b) - e^(t/b))/2 for t < 0, with
    b = sensitivity/epsilon. Source: D, section 6.1.1 (a sign is wrong there) and Table
    1; book: `thm-floor`. `step` of any shape.

    >>> laplace_step_probability([0, 1, 2], 1.0, 2.0).round(11)
    array([0.19673467, 0.11932561, 0.07237464])
    """
    t = _validate.whole_numbers("step", step)
    width = _validate.positive("sensitivity", sensitivity)
    rate = min(
        _validate.positive("epsilon", epsilon) / width, 800.0
    )  # e^-800 is 0 among floats
    away = np.where(t >= 0, t, -(t + 1))
    return np.asarray(0.5 * -np.expm1(-rate) * np.exp(-rate * away))


def split(n: int, proportions: ArrayLike) -> Whole:
    """Return n records split by proportions (k,), which are at least 0 with sum 1.

    Every category gets the whole part of its share; the records left go to the largest
    fractions, earlier categories first on ties.

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
    # More than a record each is left by shares whose sum is rounded, or beyond 2^53
    # records.
    whole[np.argmax(whole)] += rounded * shares.size
    whole[order[:left]] += 1
    return whole


def mean_distances(
    mechanism: Mechanism,
    proportions: ArrayLike,
    prior: ArrayLike,
    sizes: Sequence[int] | Whole,
    metric: Yardstick = "hellinger",
) -> Estimates:
    """Return the mean distance at each data size, records split by `proportions` (k,).

    The m estimates, one for each of `sizes`, behave as an array (m,). Source: D,
    Figures 5 and 6; book: `fig-growth-balanced`.

    >>> from dpbayes.mechanisms import mechanism
    >>> mean_distances(mechanism("geometric", 1.0), [0.5, 0.5], [1, 1], [10, 1000])
    [0.1731 ± 2e-14 (listed), 0.019 ± 2e-14 (listed)]
    """
    _validate.offering("mechanism", mechanism, "law")
    metric_function(metric)
    _validate.same_labels(proportions=proportions, prior=prior)
    splits = [split(n, proportions) for n in _validate.sizes("sizes", sizes)]
    return Estimates.of(
        mechanism.law(counts, prior).mean_distance(metric) for counts in splits
    )


@dataclass(frozen=True, repr=False)
class Crossover(Shown):
    """Where the order of two mechanisms changes as the data grow.

    `changes` lists (n, winner): from n records on that mechanism has the smaller mean
    distance, or it is a "tie" within the errors; `first_winner` wins at the smallest
    size. A mechanism is called by its name, and where both have the same one, by what
    tells them apart, too.

    >>> Crossover("expMech-smooth", ((8, "lapMech"),)).size
    8
    """

    first_winner: str
    changes: tuple[tuple[int, str], ...]

    @property
    def size(self) -> int | None:
        """Size of the first change, or None when one mechanism wins throughout."""
        return self.changes[0][0] if self.changes else None


def told_apart(a: Any, b: Any) -> tuple[str, str]:
    """Return what two mechanisms are called where both are spoken of.

    >>> from dpbayes.mechanisms import mechanism
    >>> made = [mechanism("expMech-smooth", 1.0, gamma=gamma) for gamma in (0.05, 1.0)]
    >>> told_apart(*made)
    ('expMech-smooth, gamma = 0.05', 'expMech-smooth, gamma = 1.0')
    """
    if a.name != b.name or a is b:
        return str(a.name), str(b.name)
    first, second = _settings_of(a), _settings_of(b)
    differ = [
        key
        for key in {**first, **second}
        if repr(first.get(key)) != repr(second.get(key))
    ]
    if not differ:
        return f"{a.name}, the first", f"{b.name}, the second"
    described = [
        ", ".join(f"{key} = {known[key]!r}" for key in differ if key in known)
        for known in (first, second)
    ]
    return f"{a.name}, {described[0]}", f"{b.name}, {described[1]}"


def _settings_of(described: Any) -> dict[str, Any]:
    # The fields of a mechanism, and those of the dataclasses among them.
    if not is_dataclass(described):
        return {}
    found: dict[str, Any] = {}
    for part in fields(described):
        value = getattr(described, part.name)
        found |= _settings_of(value) if is_dataclass(value) else {part.name: value}
    return found


def crossover(
    mechanism_a: Mechanism,
    mechanism_b: Mechanism,
    proportions: ArrayLike,
    prior: ArrayLike,
    sizes: Sequence[int] | Whole,
    metric: Yardstick = "hellinger",
) -> Crossover:
    """Return where one mechanism's mean distance falls below the other's.

    The order is computed at every entry of `sizes` (increasing), and a change between
    two entries located to one record by bisection; two changes there cancel unseen.
    Raises ValueError where a mean was drawn and its error leaves the order open.

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
        raise ValueError(
            f"sizes must be strictly increasing, got {_validate.shown(sizes)}"
        )

    def order_at(n: int) -> int:
        counts = split(n, proportions)
        laws = mechanism_a.law(counts, prior), mechanism_b.law(counts, prior)
        difference = mean_difference(*laws, metric)
        found = order_of(difference)
        if found == 0 and difference.how == "drawn":
            raise ValueError(
                f"sizes must keep to data whose order is certain, got n = {n}: the"
                f" means were drawn and differ by {float(difference):.2g}, with a"
                f" standard error of {difference.standard_error:.2g}"
            )
        return found

    first, second = told_apart(mechanism_a, mechanism_b)
    called = {-1: first, 0: TIE, 1: second}
    (_, opening), *changes = order_changes(grid, order_at)
    return Crossover(called[opening], tuple((n, called[one]) for n, one in changes))


def order_changes(
    grid: Sequence[int], order: Callable[[int], T]
) -> list[tuple[int, T]]:
    """Return the first place of an increasing grid and those where the order changes,
    with it.

    A change between two entries is located by bisection; two that cancel there go
    unseen.

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
    return [
        (grid[0], known[0]),
        *(change for span in spans for change in within(*span)),
    ]


@dataclass(frozen=True, repr=False)
class RecordsNeeded(Shown):
    """A number of records that is enough, and what it rests on; make it with
    `records_needed`.

    Every n from `records` on is enough by proof; `bound` is that on the mean distance
    at `records`.

    >>> from dpbayes.mechanisms import mechanism
    >>> plan = records_needed(mechanism("lattice", 1.0), [0.5, 0.5], [1, 1], 0.1)
    >>> plan.records, plan.exact, plan.mean_distance
    (64, 34, 0.07378 ± 2e-14 (listed))
    """

    records: int
    bound: float
    error: float
    mechanism: Mechanism
    proportions: tuple[float, ...]
    prior: tuple[float, ...]

    @property
    def mean_distance(self) -> Estimate:
        """The exact mean Hellinger distance at `records`, at most `bound`."""
        return self._mean(self.records)

    @property
    def exact(self) -> int:
        """A number n whose exact mean distance is at most `error` while that of n - 1
        is not, or 1.

        Raises ValueError where a mean so close to `error` could only be drawn.
        """
        low, n, tries = 0, self.records, 0
        mean, high = self._mean(n), n
        while high - low > 1:
            # The mean falls about like n^(-1/2); where that leads nowhere, half of what
            # is left.
            n = round(n * (mean / self.error) ** 2) if tries < 8 else (low + high) // 2
            n = min(max(n, low + 1), high - 1)
            mean, tries = self._mean(n), tries + 1
            if mean.how == "drawn" and abs(mean - self.error) <= mean.error:
                raise ValueError(
                    f"the mean at n = {n} was drawn, {mean:.6g} with an error of up to"
                    f" {mean.error:.2g}, and cannot be told from {self.error:g};"
                    f" {self.records} records are enough by proof"
                )
            low, high = (low, n) if mean <= self.error else (n, high)
        return high

    def _mean(self, n: int) -> Estimate:
        law = self.mechanism.law(split(n, self.proportions), self.prior)
        return estimate_of(law.mean_distance())


def records_needed(
    mechanism: Mechanism, proportions: ArrayLike, prior: ArrayLike, error: float
) -> RecordsNeeded:
    """Return how many records bring the mean Hellinger distance of lattice noise to
    `error`.

    For n >= `records` and all whole counts x with sum n and x_i > n proportions_i - 1
    (as `dp.split` has them) E[H] <= `error`; book: `thm-records-needed`. `mechanism` is
    lattice noise without a remap, of which alone that is proved, `proportions` (k,) are
    positive with sum 1, `prior` (k,) positive, `error` in (0, 1). Raises ValueError for
    another mechanism, for noise too wide to be summed, and where 2^52 records are not
    enough.
    The distance is that of all shares together: `count_error` says what a release of so
    many records does to one count, in records, and to the interval of its share.

    >>> from dpbayes.mechanisms import mechanism
    >>> plan = records_needed(mechanism("lattice", 1.0), [0.25] * 4, [1] * 4, 0.05)
    >>> plan.records, plan.exact
    (3137, 2337)
    """
    if type(mechanism) is not SumZeroLattice or mechanism.remap:
        raise ValueError(
            "mechanism must be lattice noise without a remap, whose mean distance has"
            f" a proved bound, got {_validate.shown(mechanism)}"
        )
    target = _validate.open_unit("error", error)
    _validate.same_labels(proportions=proportions, prior=prior)
    shares = _validate.positive_array("proportions", proportions)
    w = _validate.proportions("proportions", shares)
    alpha = _validate.prior("prior", prior, w.size)
    noise = count_noise(float(mechanism.epsilon), w.size)

    def bound(n: int) -> float:  # it falls as n grows
        return _bound(noise, np.maximum(w * n - 1.0, 0.0), alpha)

    high = 1
    while bound(high) > target:
        if high >= LARGEST_PLAN:
            raise ValueError(
                f"error must be larger: more than {high} records would be needed"
            )
        high *= 2
    enough = range(high + 1)
    n = bisect_left(enough, True, lo=high // 2 + 1, key=lambda n: bound(n) <= target)
    found = tuple(w.tolist()), tuple(alpha.tolist())
    return RecordsNeeded(n, bound(n), target, mechanism, *found)


def _bound(noise: tuple[float, Floats, float], x: Floats, alpha: Floats) -> float:
    """Return a proved upper bound on the mean Hellinger distance of lattice noise.

    The least value over whole m with 0 <= m <= min x_i and m < min a_i - 1/2, a = prior
    + counts, and at most 1, of

        sqrt(P(Z != 0) sum_i E[Z_i^2] / (8 (a_i - 1/2 - m))) + sum_i P(Z_i < -m).

    Book: `thm-records-needed`.
    """
    a, (second, tails, at_zero) = alpha + x, noise
    top = min(np.floor(x.min()), np.ceil(a.min() - 0.5) - 1.0, tails.size - 1.0)
    if top < 0:
        return 1.0
    m = np.arange(int(top) + 1)
    square = sum(second / (8.0 * (one - 0.5 - m)) for one in a)
    values = np.sqrt((1.0 - at_zero) * np.asarray(square)) + a.size * tails[m]
    return float(min(values.min(), 1.0))


def count_noise(epsilon: float, k: int) -> tuple[float, Floats, float]:
    """Return E Z_i^2, P(Z_i < -m) for m = 0 … M - 1, and P(Z = 0), of lattice noise.

    The noise is that on k counts at this epsilon; every count has the same, and M - 1
    is the reach of the table. Raises ValueError for an epsilon whose noise reaches too
    far.
    """
    # P(Z_1 = z) is proportional to q^|z| times the (k-1)-fold convolution of q^|.| at
    # z, whose transform is a power of (1 - q)^2 / (1 - 2 q cos t + q^2) up to a
    # constant. Beyond `reach` everything is below e^-80 of the rest; the length keeps
    # sums from wrapping.
    steps = (80.0 + 2.0 * k) * 2.0
    if not steps <= epsilon * _LARGEST_REACH:
        raise ValueError(
            f"epsilon must be at least {steps / _LARGEST_REACH:.3g} for k = {k}, so"
            f" that the noise reaches at most {_LARGEST_REACH} counts either side, got"
            f" {epsilon!r}"
        )
    reach = int(np.ceil(steps / epsilon)) + 2
    q, length = np.exp(-0.5 * epsilon), 1 << int(4 * reach).bit_length()
    angles = 2.0 * np.pi * np.arange(length // 2 + 1) / length
    each = (1.0 - q) ** 2 / ((1.0 - q) ** 2 + 4.0 * q * np.sin(0.5 * angles) ** 2)
    rest = np.maximum(np.fft.irfft(each ** (k - 1), length)[: reach + 1], 0.0)
    mass = q ** np.arange(reach + 1) * rest
    mass /= mass[0] + 2.0 * mass[1:].sum()
    second = 2.0 * float(mass @ np.arange(reach + 1.0) ** 2)
    beyond = np.maximum(np.cumsum(mass[::-1])[::-1] - mass, 0.0)
    at_zero = float(np.exp(-LatticeNoise(k, epsilon).log_normaliser))
    return second, beyond + 1e-14, at_zero
