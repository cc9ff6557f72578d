"""How many records a wanted accuracy needs: a proved bound, and the exact number beside it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats
from dpbayes.accuracy import split, stated_error
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.mechanisms import mechanism

LARGEST_PLAN = 2**52  # more records than this are not looked for
_LARGEST_REACH = 4_000_000
_NEGLIGIBLE = 80.0


class CountNoise(NamedTuple):
    """What the bound needs to know of noise Z, whole and with sum 0, added to k counts.

    `second` (k,) are E Z_i^2, `tails` (k, M) the probabilities P(Z_i < -m) for m = 0 … M-1, and
    `at_zero` is P(Z = 0).
    """

    second: Floats
    tails: Floats
    at_zero: float


@dataclass(frozen=True)
class RecordsNeeded:
    """A number of records that is enough, and what it rests on; make it with `records_needed`.

    `records` is enough by proof, for that n and every larger one; `bound` is the proved bound on
    the mean distance there.

    >>> plan = records_needed(0.1, 1.0, [0.5, 0.5])
    >>> int(plan), plan.exact, round(float(plan.mean_distance), 4)
    (64, 34, 0.0738)
    """

    records: int
    bound: float
    error: float
    epsilon: float
    shares: tuple[float, ...]
    prior: tuple[float, ...]
    name: str

    def __int__(self) -> int:
        return self.records

    @property
    def mean_distance(self) -> float:
        """The exact mean distance at `records`, at most `bound`."""
        return self._mean(self.records)

    @property
    def exact(self) -> int:
        """A number n whose exact mean distance is at most `error` while that of n - 1 is not, or 1.

        Records are split by `dpbayes.accuracy.split`. Raises ValueError where a mean so close to
        `error` could only be drawn.
        """
        low, n, tries = 0, self.records, 0
        mean, high = self._mean(n), n
        while high - low > 1:
            # The mean falls about like n^(-1/2); where that leads nowhere, half of what is left.
            n = round(n * (mean / self.error) ** 2) if tries < 8 else (low + high) // 2
            n = min(max(n, low + 1), high - 1)
            mean, tries = self._mean(n), tries + 1
            self._decided(n, mean)
            low, high = (low, n) if mean <= self.error else (n, high)
        return high

    def _decided(self, n: int, mean: float) -> None:
        if getattr(mean, "how", "") == "drawn" and abs(mean - self.error) <= stated_error(mean):
            raise ValueError(
                f"the mean at n = {n} was drawn, {mean:.6g} with an error of up to "
                f"{stated_error(mean):.2g}, and cannot be told from {self.error:g}; "
                f"{self.records} records are enough by proof"
            )

    def _mean(self, n: int) -> float:
        law = mechanism(self.name, self.epsilon).law(split(n, self.shares), self.prior)
        return law.mean_distance()


def records_needed(
    error: float,
    epsilon: float,
    shares: ArrayLike,
    prior: ArrayLike | None = None,
    name: str = "lattice",
) -> RecordsNeeded:
    """Return how many records bring the mean Hellinger distance of a release to at most `error`.

    For n >= `records` and all whole counts x with sum n and x_i > n shares_i - 1 (the rule of
    `dpbayes.accuracy.split` among others) the release has E[H] <= `error`. The bound is
    `distance_bound`, book: `thm-records-needed`. `error` in (0, 1), `epsilon` > 0, `shares`
    positive with sum 1, shape (k,); `prior` is flat if None; `name` is lattice, geometric (k = 2)
    or ilapMech. Raises ValueError for a share of 0, where no bound of this kind exists, for an
    `epsilon` whose noise is too wide to be summed, and where 2^52 records are not enough.

    >>> plan = records_needed(0.05, 1.0, [0.25] * 4)
    >>> plan.records, plan.exact
    (3137, 2337)
    """
    target = _validate.open_unit("error", error)
    budget = _validate.positive("epsilon", epsilon)
    _validate.same_labels(shares=shares, prior=prior)
    w = _validate.proportions("shares", _validate.positive_array("shares", shares))
    alpha = np.ones(w.size) if prior is None else _validate.prior("prior", prior, w.size)
    noise = count_noise(name, budget, w.size)

    def bound(n: int) -> float:
        return _bound(noise, np.maximum(w * n - 1.0, 0.0), alpha)

    records = _smallest(lambda n: bound(n) <= target)
    return RecordsNeeded(
        records, bound(records), target, budget, tuple(w.tolist()), tuple(alpha.tolist()), name
    )


def distance_bound(name: str, epsilon: float, counts: ArrayLike, prior: ArrayLike) -> float:
    """Return a proved upper bound on the mean Hellinger distance of a release, at most 1.

    The least value over whole m with 0 <= m <= min x_i and m < min a_i - 1/2, a = prior + counts,

        sqrt(P(Z != 0) sum_i E[Z_i^2] / (8 (a_i - 1/2 - m))) + sum_i P(Z_i < -m),

    Z being the noise that mechanism `name` adds; 10^-14 is added to a tail for rounding. Book:
    `thm-records-needed`.

    >>> round(distance_bound("lattice", 1.0, [250] * 4, [1] * 4), 4)
    0.0898
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    noise = count_noise(name, _validate.positive("epsilon", epsilon), x.size)
    return _bound(noise, x.astype(np.float64), alpha)


def _bound(noise: CountNoise, x: Floats, alpha: Floats) -> float:
    a = alpha + x
    top = min(np.floor(x.min()), np.ceil(a.min() - 0.5) - 1.0, noise.tails.shape[1] - 1.0)
    if top < 0:
        return 1.0
    m = np.arange(int(top) + 1)
    square = sum(noise.second[i] / (8.0 * (a[i] - 0.5 - m)) for i in range(a.size))
    values = np.sqrt((1.0 - noise.at_zero) * np.asarray(square)) + noise.tails[:, m].sum(axis=0)
    return float(min(values.min(), 1.0))


def _smallest(enough: Callable[[int], bool]) -> int:
    # The bound falls as n grows: a doubling search, then bisection.
    high = 1
    while not enough(high):
        if high >= LARGEST_PLAN:
            raise ValueError(
                f"error must be larger: more than {LARGEST_PLAN} records would be needed"
            )
        high *= 2
    return bisect_left(range(high + 1), True, lo=high // 2 + 1, key=enough)


def count_noise(name: str, epsilon: float, k: int) -> CountNoise:
    """Return the noise of a mechanism on k counts: lattice, geometric (k = 2) or ilapMech.

    >>> count_noise("geometric", 1.0, 2).second.round(6)
    array([1.841347, 1.841347])
    """
    _validate.choice("name", name, ("lattice", "geometric", "ilapMech"))
    if name == "geometric" and k != 2:
        raise ValueError(f"shares must have 2 entries for geometric, got {k}")
    return (_improved_laplace if name == "ilapMech" else _lattice)(epsilon, k)


def _lattice(epsilon: float, k: int) -> CountNoise:
    # P(Z_1 = z) is proportional to q^|z| times the (k-1)-fold convolution of q^|.| at z, whose
    # transform is a power of (1 - q)^2 / (1 - 2 q cos t + q^2) up to a constant.
    q = np.exp(-0.5 * epsilon)
    reach, length = _reach(2.0 / epsilon, k)
    angles = 2.0 * np.pi * np.arange(length // 2 + 1) / length
    each = (1.0 - q) ** 2 / ((1.0 - q) ** 2 + 4.0 * q * np.sin(0.5 * angles) ** 2)
    rest = np.maximum(np.fft.irfft(each ** (k - 1), length)[: reach + 1], 0.0)
    mass = q ** np.arange(reach + 1) * rest
    total = mass[0] + 2.0 * mass[1:].sum()
    second = 2.0 * (mass * np.arange(reach + 1) ** 2).sum() / total
    at_zero = float(np.exp(-LatticeNoise(k, epsilon).log_normaliser))
    return CountNoise(np.full(k, second), np.tile(_beyond(mass / total), (k, 1)), at_zero)


def _improved_laplace(epsilon: float, k: int) -> CountNoise:
    # floor(Y) is G or -(G + 1) with equal chances, P(G = g) = (1 - q) q^g; the last count gets
    # minus the sum of the others.
    scale = (1.0 if k == 2 else 2.0) / epsilon
    q = np.exp(-1.0 / scale)
    reach, length = _reach(scale, k)
    steps = np.arange(reach)
    mass = 0.5 * (1.0 - q) * q**steps
    table = np.zeros(length)
    table[: steps.size] = mass
    table[-1 - steps] += mass
    power = np.fft.rfft(table) ** (k - 1)
    others = np.maximum(np.fft.irfft(power, length), 0.0)[: reach + 1]
    each = (table * np.minimum(np.arange(length), length - np.arange(length)) ** 2).sum()
    second = np.full(k, each)
    second[-1] = (k - 1) * (each - 0.25) + 0.25 * (k - 1) ** 2
    down = 0.5 * q ** np.arange(reach + 1)
    tails = np.vstack((np.tile(down, (k - 1, 1)), _beyond(others)))
    return CountNoise(second, tails, float((0.5 * (1.0 - q)) ** (k - 1)))


def _reach(scale: float, k: int) -> tuple[int, int]:
    # Beyond `reach` everything is below e^-80 of the rest; the length keeps sums from wrapping.
    reach = int(np.ceil((_NEGLIGIBLE + 2.0 * k) * scale)) + 2
    if reach > _LARGEST_REACH:
        raise ValueError(
            f"epsilon must spread the noise over at most {_LARGEST_REACH} counts either side, "
            f"got one that spreads it over {reach}"
        )
    return reach, 1 << int(4 * reach).bit_length()


def _beyond(mass: Floats) -> Floats:
    # P(> m) from the masses at 0, 1, …; rounding of the transform is paid for.
    tail = np.cumsum(mass[::-1])[::-1] - mass
    return np.asarray(np.maximum(tail, 0.0) + 1e-14)
