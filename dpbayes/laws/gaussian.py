"""Discrete Gaussian noise on the whole vectors that sum to zero, and its exact privacy
curve.

P(z) is proportional to e^(-|z|^2 / (2 v)), |z| the Euclidean length. A replaced record
shifts the counts by e_i - e_j, and the privacy loss at z is (1 - (z_i - z_j)) / v: one
difference decides it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count

import numpy as np

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes.laws.convolution import Tilted

_DEPTH = 90.0  # e^-90 of the largest weight is where sums end
_LARGEST_REACH = 2_000_000
_ALL = 745.0  # e^-745 is the smallest positive float
_LOSS_ROUNDING = 1e-15  # of epsilon: more than a loss and epsilon are rounded by
# from this variance parameter on lattice sums are integrals up to 1e-40 of themselves
_WIDE = 32.0
# below it the masses that decide would leave the range of floats
SMALLEST_DELTA = 1e-300


def reach(variance: float, depth: float = _DEPTH) -> int:
    """Return a step t with P(|Z_i| > t) <= 2 e^-depth: Z_i is subgaussian with
    parameter v.
    """
    steps = int(np.ceil(np.sqrt(2.0 * depth * variance))) + 1
    if steps > _LARGEST_REACH:
        raise ValueError(
            "epsilon or delta must be larger: noise of variance parameter"
            f" {variance:.3g} reaches {steps} counts either side; at most"
            f" {_LARGEST_REACH} are summed"
        )
    return steps


def log_weights(variance: float, steps: Whole) -> Floats:
    """Return -z^2 / (2 v) for whole steps z of any shape, v the variance parameter."""
    return np.asarray(-0.5 * steps.astype(np.float64) ** 2 / variance)


@lru_cache(maxsize=256)
def _parities(k: int, variance: float) -> Floats:
    """Return what even and odd differences of two entries weigh besides e^(-d^2/(4v)).

    With z_i + z_j = -s it is the sum over the s of the same parity as d of
    e^(-s^2/(4v)) times the sum over the k - 2 other entries with total s. At k = 2
    these are none, and s = 0.
    """
    if variance >= _WIDE:
        return np.array([1.0, 0.0 if k == 2 else 1.0])
    steps = np.arange(-reach(variance), reach(variance) + 1)
    others = np.ones(1)
    for _ in range(k - 2):  # positive numbers keep their relative accuracy
        others = np.convolve(others, np.exp(log_weights(variance, steps)))
        others /= others.max()
    s = np.arange(others.size) - others.size // 2
    weights = others * np.exp(0.5 * log_weights(variance, s))
    return np.array([weights[s % 2 == 0].sum(), weights[s % 2 == 1].sum()])


def difference(k: int, variance: float, depth: float = _DEPTH) -> Floats:
    """Return P(Z_i - Z_j = d) for d = -D … D, for any two of the k categories.

    Book: `thm-discrete-gaussian`.

    >>> difference(2, 0.1)[difference(2, 0.1) > 1e-6].round(6)
    array([4.50000e-05, 9.99909e-01, 4.50000e-05])
    """
    top = reach(2.0 * variance, depth)
    d = np.arange(-top, top + 1)
    mass = np.exp(0.5 * log_weights(variance, d)) * _parities(k, variance)[d % 2]
    return np.asarray(mass / mass.sum())


def delta(k: int, variance: float, epsilon: float, releases: int = 1) -> float:
    """Return the exact delta(epsilon) of T = `releases` independent draws, one record
    replaced.

    Losses add up to (T - D) / v with D the sum of T differences: delta is the sum over
    D < T - epsilon v of P(D) (1 - e^(epsilon - loss)).

    >>> round(delta(2, 2.0, 1.0), 9)
    0.141351339
    """
    if variance >= _WIDE:
        d, masses = _wide_difference(k, variance, epsilon, releases)
    else:
        masses = _power(difference(k, variance, _ALL), releases)
        d = np.arange(masses.size) - masses.size // 2
    excess = (releases - d) / variance - epsilon
    over = excess > 0.0
    return float((masses[over] * -np.expm1(-excess[over])).sum())


def _wide_difference(
    k: int, variance: float, epsilon: float, releases: int
) -> tuple[Whole, Floats]:
    """Return the D < T - epsilon v that matter, and their probabilities; D sums T
    differences.

    By Poisson's summation formula T convolutions of e^(-d^2/(4v)) are e^(-d^2/(4vT)) on
    the same whole numbers (the even ones at k = 2), and its sum is sqrt(4 pi v T) (half
    of it); both hold up to a share T e^(-pi^2 v / 3) of the value, and the parities of
    `difference` weigh the same.
    """
    step, width = (2 if k == 2 else 1), reach(2.0 * variance * releases)
    first = min(int(np.ceil(releases - epsilon * variance)), width)
    d = np.arange(min(first, 0) - width, first + 1)
    d = d[d % step == 0]
    scale = 4.0 * variance * releases
    return d, np.exp(-(d.astype(np.float64) ** 2) / scale) * step / np.sqrt(
        np.pi * scale
    )


def _power(one: Floats, times: int) -> Floats:
    """Return the `times`-fold convolution of a symmetric law with itself, by squaring.

    Both factors stay symmetric without the zeros at their ends, so the middle stays 0.
    """
    result, square = np.ones(1), one
    while times:
        if times % 2:
            result = np.trim_zeros(np.convolve(result, square))
        times //= 2
        if times:
            square = np.trim_zeros(np.convolve(square, square))
    return result


@lru_cache(maxsize=256)
def variance_for(
    k: int, epsilon: float, delta_allowed: float, releases: int = 1
) -> float:
    """Return the least v, up to 1e-12, with delta(epsilon) <= delta_allowed (1 - 1e-9).

    The v of T releases of Gaussian noise grows with T, not with T^2. Where noise is
    narrow delta(epsilon) is not monotone in v: as v rises it falls up to each j /
    epsilon, where the outcome of loss j / v ceases to count, and may rise from there.
    The first of these v that is enough is looked for, then bisection goes down from it.
    Raises ValueError for a delta below `SMALLEST_DELTA`.

    >>> round(variance_for(2, 20.0, 1e-6), 6)
    0.05
    """
    budget = _validate.positive("epsilon", epsilon)
    target = _validate.open_unit("delta", delta_allowed) * (1.0 - 1e-9)
    if delta_allowed < SMALLEST_DELTA:
        raise ValueError(
            f"delta must be at least {SMALLEST_DELTA:g} here, got {delta_allowed!r}"
        )
    # What fewer releases spend all spend: most noise that is too narrow is found out by
    # a few.
    some = [4**i for i in range(releases.bit_length()) if 4**i < releases]

    def enough(v: float) -> bool:
        # A loss that rounding takes for epsilon may be larger: it is compared with a
        # little less.
        least = budget * (1.0 - _LOSS_ROUNDING)
        return all(delta(k, v, least, t) <= target for t in [*some, releases])

    return _bisected(enough, *_bracket(enough, budget))


def _bracket(enough: Callable[[float], bool], budget: float) -> tuple[float, float]:
    """Return variances low < high, high the first enough one that is looked at.

    High is a power of 2, or the first j / epsilon that is enough, if that is smaller.
    """
    high = 1.0
    while not enough(high):
        high *= 2.0
    low = high / 2.0
    while low > 1e-6 and enough(low):
        low, high = low / 2.0, low
    for j in count(1):
        narrow = j / budget * (1.0 + 4.0 * _LOSS_ROUNDING)
        if narrow >= min(high, _WIDE):
            return low, high
        if enough(narrow):
            return (j - 1) / budget * (1.0 + 4.0 * _LOSS_ROUNDING), narrow
        low = max(low, narrow)
    raise AssertionError("count does not end")


def _bisected(enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least variance above `low` that is enough, up to 1e-12."""
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class GaussianNoise:
    """Noise for k categories with P(z) proportional to e^(-|z|^2 / (2 v)), sum z = 0.

    Its methods mean what those of `LatticeNoise` do, so that `lattice` and `landing`
    take either; only the size of noise is another one, the largest |z_i|.

    >>> noise = GaussianNoise(2, 0.5)
    >>> noise.points(1).tolist(), noise.fall(np.array([0, 1])).tolist()
    ([[-1, 1], [0, 0], [1, -1]], [0.0, 1.0])
    """

    k: int
    variance: float

    def fall(self, steps: Whole) -> Floats:
        """Return z^2 / (2 v), minus ln of the weight of a step z of one category; any
        shape.
        """
        return -log_weights(self.variance, steps)

    def scaled(self, total: int, centres: Whole) -> tuple[float, list[Floats]]:
        """Return ln f and rows r_j (total + 1,), prod_j w(u_j - c_j) = f prod_j
        r_j(u_j).

        For all u >= 0 with this total, `centres` c (b,). The likeliest u is max(c +
        shift, 0), up to rounding; e^(shift u / v) times the weight of u - c is largest
        there, and each row is divided by its largest.
        """
        ranked = np.sort(centres)[::-1]
        shares = (total - np.cumsum(ranked)) / np.arange(1, ranked.size + 1)
        shift = float(shares[ranked + shares >= 0.0][-1])
        u, log_factor, rows = np.arange(total + 1), -shift * total / self.variance, []
        for c in centres.tolist():
            logs = -self.fall(u - c) + shift / self.variance * u
            log_factor += float(logs.max())
            rows.append(np.exp(logs - logs.max()))
        return log_factor, rows

    def levels(self) -> int:
        """Return about how many levels a landing vector's sum has, see `landing`.

        The weight at a level t falls about like e^(-t^2 / (2 v)): eight standard
        deviations leave nothing that a float sees.
        """
        return int(8.0 * np.sqrt(self.variance)) + 2

    @cached_property
    def _tilted(self) -> Tilted:
        top = reach(self.variance)
        logs = log_weights(self.variance, np.arange(-top, top + 1))
        return Tilted(logs[None], -top, np.array([self.k]))

    @cached_property
    def log_normaliser(self) -> float:
        """Ln of the sum of the weights of all noise vectors, as one convolution read at
        0.
        """
        return self._tilted.log_at_zero()

    @property
    def _spread(self) -> float:
        # twice the variance of an entry
        return 2.0 * self.variance * (1.0 - 1.0 / self.k)

    def reach(self, tail: float) -> int:
        """Return a size c with P(some |Z_i| > c) <= `tail`: 2 k e^(-c^2 / (2 v (1 -
        1/k))).

        Each entry is subgaussian with variance v (1 - 1/k), and there are k of them
        with two sides each; `outside` is this bound.
        """
        return int(np.ceil(np.sqrt(self._spread * np.log(2.0 * self.k / tail))))

    def outside(self, size: int) -> float:
        """Return a bound of P(some |Z_i| > size), by subgaussian tails as in
        `reach`.
        """
        return float(2.0 * self.k * np.exp(-(size**2) / self._spread))

    def number_of_points(self, size: int) -> float:
        """Return at least how many vectors with entries up to this size there are.

        The free k - 1 entries make (2 size + 1)^(k-1); for some the last is out of
        reach.
        """
        return float(2 * size + 1) ** (self.k - 1)

    def points(self, size: int) -> Whole:
        """Return all z with sum 0 and |z_i| <= size, shape (N, k)."""
        grid = np.indices((2 * size + 1,) * (self.k - 1), dtype=np.int64) - size
        free = grid.reshape(self.k - 1, -1)
        last = -free.sum(axis=0)
        return np.asarray(np.vstack((free, last)).T[np.abs(last) <= size])

    def draw(self, rng: np.random.Generator, size: int) -> Whole:
        """Return `size` independent draws, shape (size, k), for experiments.

        Releases are drawn from fair bits by `samplers.whole_numbers.sum_zero_gaussian`.
        """
        return self._tilted.draw(rng, size)
