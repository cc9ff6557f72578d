"""The exact law of the noise on one count, or on the sum of several, of one release.

Noise that is added count by count, or that is conditioned on a sum of zero, stays of
that kind when categories are put together: the noise of a sum is a convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.mechanisms.capabilities import LogLikelihoodAt, LogLikelihoods, own
from dpbayes.mechanisms.protocol import Mechanism

DEPTH = 50.0  # weights below e^-50 of the largest are left out
_BY_HAND = 1 << 24  # products up to which a convolution is summed term by term
_WIDEST = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(ByValue):
    """Probabilities `weights` of the whole numbers from `start` on."""

    start: int
    weights: Floats

    @classmethod
    def of_logs(cls, start: int, logs: Floats) -> Weighted:
        """Return probabilities from their logarithms, up to a constant."""
        top = logs.max()
        places = np.flatnonzero(logs > top - DEPTH)
        weights = np.exp(logs[places[0] : places[-1] + 1] - top)
        return cls(start + int(places[0]), weights / weights.sum())

    @classmethod
    def of_weights(cls, start: int, weights: Floats) -> Weighted:
        """Return probabilities from numbers they are proportional to."""
        with np.errstate(divide="ignore"):
            return cls.of_logs(start, np.log(weights))

    def __add__(self, other: Weighted) -> Weighted:
        small = self.weights.size * other.weights.size <= _BY_HAND
        convolved = np.convolve if small else _by_transform
        weights = np.maximum(convolved(self.weights, other.weights), 0.0)
        return Weighted.of_weights(self.start + other.start, weights)

    def __neg__(self) -> Weighted:
        return Weighted(1 - self.start - self.weights.size, self.weights[::-1])

    @property
    def values(self) -> Whole:
        """The whole numbers that have a weight, shape (N,), one after the other."""
        return self.start + np.arange(self.weights.size)

    @property
    def mean(self) -> float:
        """The mean, sum w_v v."""
        return float(self.weights @ self.values)

    @property
    def variance(self) -> float:
        """The variance, sum w_v (v - mean)^2."""
        return float(self.weights @ (self.values - self.mean) ** 2)

    def at(self, values: Whole) -> Floats:
        """Return the weight of each of `values`, 0 where there is none; same shape."""
        index = values - self.start
        inside = (index >= 0) & (index < self.weights.size)
        return np.where(
            inside, self.weights[np.clip(index, 0, self.weights.size - 1)], 0.0
        )

    def quantile(self, share: float) -> int:
        """Return the smallest value that is not exceeded with probability `share`."""
        reached = np.cumsum(self.weights) >= share - 1e-12
        return self.start + int(np.argmax(reached)) if reached.any() else self.start

    def nodes(self, most: int) -> tuple[Whole, Floats]:
        """Return at most `most` values and their weights, which stand for all.

        They are the medians of equal shares of the probability, or all values where
        these are no more.
        """
        if self.weights.size <= most:
            return self.values, self.weights
        aims = (np.arange(most) + 0.5) / most
        places = np.searchsorted(np.cumsum(self.weights), aims)
        values, times = np.unique(places, return_counts=True)
        return self.start + np.minimum(values, self.weights.size - 1), times / most


def _by_transform(one: Floats, other: Floats) -> Floats:
    """Return the convolution by the fast Fourier transform, to 1e-16 of its largest."""
    # of numpy: scipy.signal takes longer to import than a plan to work out
    size = one.size + other.size - 1
    length = 1 << (size - 1).bit_length()
    spectrum = np.fft.rfft(one, length) * np.fft.rfft(other, length)
    return np.asarray(np.fft.irfft(spectrum, length)[:size])


@dataclass(frozen=True)
class CountNoise:
    """The noise of a mechanism whose law is a product over k categories.

    `one` is the law of the step of one noisy count, the first `noisy` of the k counts
    have one; with `public` the true counts sum to n, which the reader knows.
    """

    one: Weighted
    noisy: int
    k: int
    public: bool

    @cached_property
    def _powers(self) -> dict[int, Weighted]:
        return {0: Weighted(0, np.ones(1)), 1: self.one}

    def factor(self, cells: frozenset[int]) -> Weighted | None:
        """Return the factor of the sum of these counts: its noise before any condition.

        None where one of them is not noisy, so that the sum may be anything.
        """
        return None if max(cells, default=-1) >= self.noisy else self._sum(len(cells))

    def _sum(self, m: int) -> Weighted:
        if m not in self._powers:
            half = self._sum(m // 2)
            self._powers[m] = half + half + self.one if m % 2 else half + half
        return self._powers[m]

    def law(self, cells: frozenset[int]) -> Weighted:
        """Return the law of the error of the noisy sum of these counts.

        >>> from dpbayes.mechanisms import mechanism
        >>> noise = count_noise_of(mechanism("lattice", 1.0), 2)
        >>> float(noise.law(frozenset({0})).at(np.array([0]))[0].round(9))
        0.462117157
        """
        kind = len(cells), max(cells, default=-1) >= self.noisy
        if kind not in self._laws:
            self._laws[kind] = self._law(cells)
        return self._laws[kind]

    @cached_property
    def _laws(self) -> dict[tuple[int, bool], Weighted]:
        return {}

    def _law(self, cells: frozenset[int]) -> Weighted:
        inside = self.factor(cells)
        outside = self.factor(frozenset(range(self.k)) - cells)
        if not self.public or outside is None:
            assert inside is not None, "at most one part holds a count without noise"
            return inside
        if inside is None:
            return -outside
        other = outside.at(-inside.values)
        return Weighted.of_weights(inside.start, inside.weights * other)


def count_noise_of(mechanism: Mechanism, k: int) -> CountNoise | None:
    """Return the noise of a mechanism on k categories, None if it is no such product.

    Raises ValueError where it is spread over more than 2^22 counts either side.
    """
    try:
        return _kept(mechanism, k)  # type: ignore[arg-type]
    except TypeError:  # a mechanism that cannot be looked up
        return _count_noise(mechanism, k)


def _count_noise(mechanism: Mechanism, k: int) -> CountNoise | None:
    by_value = own(mechanism, LogLikelihoodAt)
    by_counts = own(mechanism, LogLikelihoods)
    size = _validate.integer("k", k, minimum=2)
    if by_value is not None:
        one = _steps(
            lambda w: by_value.log_likelihood_at(w, np.arange(2 * w + 1)),
            mechanism.epsilon,
        )
        return CountNoise(one, size, size, public=False)
    if by_counts is None:
        return None

    def parts(w: int, noisy: int) -> Sequence[Floats]:
        return by_counts.log_likelihoods(np.full(noisy, w), 2 * w, size)

    # a category whose noise the others leave over has a factor all the same
    noisy = size - 1 if len(parts(1, size - 1)) == size else size
    one = _steps(lambda w: parts(w, noisy)[0], mechanism.epsilon)
    return CountNoise(one, noisy, size, public=True)


_kept = lru_cache(maxsize=16)(_count_noise)


def _steps(logs_at: Callable[[int], Floats], epsilon: float) -> Weighted:
    """Return the law of y - x from ln P(y = w | x) at x = 0 ... 2w."""
    reach = 64
    while reach <= _WIDEST:
        logs = logs_at(reach)[::-1]  # steps from -reach to reach
        if max(logs[0], logs[-1]) < logs.max() - DEPTH:
            return Weighted.of_logs(-reach, logs)
        reach *= 2
    raise ValueError(
        f"epsilon must be larger to read a release, got {float(epsilon):g}: its noise"
        f" is spread over more than {_WIDEST} counts either side"
    )
