"""How many records a wanted accuracy needs: a proved bound, and the exact number beside it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats
from dpbayes.accuracy import split, stated_error
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.mechanisms import mechanism

LARGEST_PLAN = 2**52  # more records than this are not looked for
_LARGEST_REACH = 4_000_000


@dataclass(frozen=True)
class RecordsNeeded:
    """A number of records that is enough, and what it rests on; make it with `records_needed`.

    Every n from `records` on is enough by proof; `bound` is that on the mean distance at `records`.

    >>> plan = records_needed(0.1, 1.0, [0.5, 0.5])
    >>> plan.records, plan.exact, round(float(plan.mean_distance), 4)
    (64, 34, 0.0738)
    """

    records: int
    bound: float
    error: float
    epsilon: float
    shares: tuple[float, ...]
    prior: tuple[float, ...]

    @property
    def mean_distance(self) -> float:
        """The exact mean distance at `records`, at most `bound`."""
        return self._mean(self.records)

    @property
    def exact(self) -> int:
        """A number n whose exact mean distance is at most `error` while that of n - 1 is not, or 1.

        Raises ValueError where a mean so close to `error` could only be drawn.
        """
        low, n, tries = 0, self.records, 0
        mean, high = self._mean(n), n
        while high - low > 1:
            # The mean falls about like n^(-1/2); where that leads nowhere, half of what is left.
            n = round(n * (mean / self.error) ** 2) if tries < 8 else (low + high) // 2
            n = min(max(n, low + 1), high - 1)
            mean, tries = self._mean(n), tries + 1
            drawn = getattr(mean, "how", "") == "drawn"
            if drawn and abs(mean - self.error) <= stated_error(mean):
                raise ValueError(
                    f"the mean at n = {n} was drawn, {mean:.6g} with an error of up to "
                    f"{stated_error(mean):.2g}, and cannot be told from {self.error:g}; "
                    f"{self.records} records are enough by proof"
                )
            low, high = (low, n) if mean <= self.error else (n, high)
        return high

    def _mean(self, n: int) -> float:
        law = mechanism("lattice", self.epsilon).law(split(n, self.shares), self.prior)
        return law.mean_distance()


def records_needed(
    error: float, epsilon: float, shares: ArrayLike, prior: ArrayLike | None = None
) -> RecordsNeeded:
    """Return how many records bring the mean Hellinger distance of lattice noise to `error`.

    For n >= `records` and all whole counts x with sum n and x_i > n shares_i - 1 (as `dp.split`
    has them) E[H] <= `error`; book: `thm-records-needed`. `error` in (0, 1), `epsilon` > 0,
    `shares` (k,) positive with sum 1, `prior` (k,) flat if None. Raises ValueError for noise too
    wide to be summed, and where 2^52 records are not enough.

    >>> plan = records_needed(0.05, 1.0, [0.25] * 4)
    >>> plan.records, plan.exact
    (3137, 2337)
    """
    target = _validate.open_unit("error", error)
    budget = _validate.positive("epsilon", epsilon)
    _validate.same_labels(shares=shares, prior=prior)
    w = _validate.proportions("shares", _validate.positive_array("shares", shares))
    alpha = np.ones(w.size) if prior is None else _validate.prior("prior", prior, w.size)
    noise = count_noise(budget, w.size)

    def bound(n: int) -> float:  # it falls as n grows
        return _bound(noise, np.maximum(w * n - 1.0, 0.0), alpha)

    high = 1
    while bound(high) > target:
        if high >= LARGEST_PLAN:
            raise ValueError(f"error must be larger: more than {high} records would be needed")
        high *= 2
    enough = range(high + 1)
    n = bisect_left(enough, True, lo=high // 2 + 1, key=lambda n: bound(n) <= target)
    return RecordsNeeded(n, bound(n), target, budget, tuple(w.tolist()), tuple(alpha.tolist()))


def distance_bound(epsilon: float, counts: ArrayLike, prior: ArrayLike) -> float:
    """Return a proved upper bound on the mean Hellinger distance of lattice noise, at most 1.

    The least value over whole m with 0 <= m <= min x_i and m < min a_i - 1/2, a = prior + counts,

        sqrt(P(Z != 0) sum_i E[Z_i^2] / (8 (a_i - 1/2 - m))) + sum_i P(Z_i < -m),

    with 10^-14 added to a tail for rounding. Book: `thm-records-needed`.

    >>> round(distance_bound(1.0, [250] * 4, [1] * 4), 4)
    0.0898
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    noise = count_noise(_validate.positive("epsilon", epsilon), x.size)
    return _bound(noise, x.astype(np.float64), alpha)


def _bound(noise: tuple[float, Floats, float], x: Floats, alpha: Floats) -> float:
    a, (second, tails, at_zero) = alpha + x, noise
    top = min(np.floor(x.min()), np.ceil(a.min() - 0.5) - 1.0, tails.size - 1.0)
    if top < 0:
        return 1.0
    m = np.arange(int(top) + 1)
    square = sum(second / (8.0 * (one - 0.5 - m)) for one in a)
    values = np.sqrt((1.0 - at_zero) * np.asarray(square)) + a.size * tails[m]
    return float(min(values.min(), 1.0))


def count_noise(epsilon: float, k: int) -> tuple[float, Floats, float]:
    """Return E Z_i^2, P(Z_i < -m) for m = 0 … M-1, and P(Z = 0), of lattice noise on k counts."""
    # P(Z_1 = z) is proportional to q^|z| times the (k-1)-fold convolution of q^|.| at z, whose
    # transform is a power of (1 - q)^2 / (1 - 2 q cos t + q^2) up to a constant. Beyond `reach`
    # everything is below e^-80 of the rest; the length keeps sums from wrapping.
    reach = int(np.ceil((80.0 + 2.0 * k) * 2.0 / epsilon)) + 2
    if reach > _LARGEST_REACH:
        raise ValueError(
            f"epsilon must spread the noise over at most {_LARGEST_REACH} counts either side, "
            f"got one that spreads it over {reach}"
        )
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
