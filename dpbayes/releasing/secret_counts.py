"""What independent noise says about the true counts when their number is secret.

Beforehand every number of records n is equally likely, the shares are Dirichlet(alpha), and the
counts are multinomial given both. Then

    P(x | y) is proportional to g(n) prod_i Gamma(alpha_i + x_i) / x_i! P(y_i | x_i),
    g(n) = n! / Gamma(A + n),  n = sum_i x_i,  A = sum_i alpha_i,

a product over the categories times one factor of the total. What is left out, factors
below e^-60 and pairs below 1e-15 of the largest, together changes probabilities by less than 1e-11
where epsilon is at least 0.1. Prior parameters far above 1 bend the factors, so that more of them
is needed: what stands at their ends is looked at, and they go on where it is too much. Book:
`thm-secret-reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from dpbayes.releasing.counting import Joint, Marginal, added_up, log_prior_factor, pick

Floats = NDArray[np.float64]
LogLikelihood = Callable[[int, NDArray[np.int64]], Floats]
"""ln P(noisy count | true counts), for one noisy count and an array of true ones."""

_TRIMS = (
    60.0,
    120.0,
    240.0,
    480.0,
    700.0,
)  # factors below e^-60 of the largest are left out, or less
_LEAST = 1e-26  # and so are sums of others below this share of the largest
_UNREACHED = 100.0
_STEEPEST = 0.9
_MOST_BENT = 600.0  # a wider range of the factor of the total is measured from its middle
_LARGEST_POWER = 700.0
_AT_AN_END = 1e-14  # probability of the last count kept above which less has to be left out
_RARE = 1e-15
_WIDEST = 1 << 21
_MOST_PAIRS = 1 << 24
_ROUNDS = 200


@dataclass(frozen=True)
class UnknownTotal:
    """The posterior of counts (k,) and of their total: a factor a category, one of the total.

    Each factor is an array over x = start, start + 1, …; `of_total` gives the factor of any totals,
    up to a constant in each call. Made by `secret_counts`, and for a group of categories.
    """

    starts: tuple[int, ...]
    factors: tuple[Floats, ...]
    of_total: Callable[[NDArray[np.int64]], Floats]
    least: Callable[[], float] | None = None
    """Works out the smallest epsilon at which every pair can be added up, for a refusal."""
    share: float = _LEAST
    """Sums of counts below this share of the largest are left out."""

    @property
    def pairs(self) -> int:
        """The largest number of pairs of a count and a total that have to be added up."""
        return max(f.size * o.size for f, (o, _) in zip(self.factors, self._others, strict=True))

    @property
    def within_reach(self) -> bool:
        """Whether every distribution of a count and the total can be computed."""
        return self.pairs <= _MOST_PAIRS

    def at_ends(self) -> float:
        """Return the largest probability of a count, or sum of others, beside one left out."""
        sums, first = sum_of(self.factors, self.starts, self.share)
        most = sum(start + f.size for start, f in zip(self.starts, self.factors, strict=True))
        low = sum(self.starts)
        total = self.of_total(np.arange(low, most + 1))
        every, found = float(sums @ total[first - low :][: sums.size]), 0.0
        if not 0.0 < every < np.inf:
            return 1.0
        for own, start, (others, others_from) in zip(
            self.factors, self.starts, self._others, strict=True
        ):
            for one, one_from, rest, rest_from in (
                (own, start, others, others_from),
                (others, others_from, own, start),
            ):
                for end in (0, one.size - 1) if one_from > 0 else (one.size - 1,):
                    place = one_from + end + rest_from - low
                    beside = float(rest @ total[place : place + rest.size])
                    found = max(found, float(one[end]) * beside / every)
        return found

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        values, _, weights = self.joint(i)
        return added_up(values, weights)

    def joint(self, i: int) -> Joint:
        """Return counts of category i, totals and the probability of each pair, three arrays.

        Pairs less likely than `_RARE` of the most likely one are left out.
        """
        others, first = self._others[i]
        own = self.factors[i]
        if own.size * others.size > _MOST_PAIRS:
            allowed = "larger" if self.least is None else f"at least {self.least():.3g}"
            raise ValueError(
                f"epsilon must be {allowed} for a noise-aware reading of a secret number of "
                f"records: {own.size * others.size} pairs of count and total are possible at this "
                f"one, at most {_MOST_PAIRS} are added up"
            )
        totals = np.add.outer(np.arange(own.size), np.arange(others.size)) + first + self.starts[i]
        weights = np.multiply.outer(own, others) * self.of_total(totals)
        kept = weights > _RARE * weights.max()
        values = np.broadcast_to((self.starts[i] + np.arange(own.size))[:, None], weights.shape)
        return values[kept], totals[kept], weights[kept] / weights[kept].sum()

    def total(self) -> Marginal:
        """Return the distribution of the number of records."""
        sums, first = sum_of(self.factors, self.starts, self.share)
        values = first + np.arange(sums.size)
        weights = sums * self.of_total(values)
        return values, weights / weights.sum()

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms, shape (size, k): a total, then the counts backwards."""
        values, weights = self.total()
        left = values[pick(rng, weights, size)]
        result = np.empty((size, len(self.factors)), dtype=np.int64)
        for i in range(len(self.factors) - 1, 0, -1):
            before, first = sum_of(self.factors[:i], self.starts[:i], self.share)
            steps = self.starts[i] + np.arange(self.factors[i].size)
            for total in np.unique(left):
                rows = np.flatnonzero(left == total)
                rest = total - steps - first
                inside = (rest >= 0) & (rest < before.size)
                chances = np.where(inside, before[np.clip(rest, 0, before.size - 1)], 0.0)
                result[rows, i] = steps[pick(rng, self.factors[i] * chances, rows.size)]
            left = left - result[:, i]
        result[:, 0] = left
        return result

    def group(self, indices: Sequence[int]) -> UnknownTotal:
        """Return the posterior of the counts of some categories and of their total."""
        outside = [i for i in range(len(self.factors)) if i not in indices]
        beside = partial(self._beside, outside)
        return _group(self.starts, self.factors, indices, beside, self.share)

    def _beside(self, outside: list[int], totals: NDArray[np.int64]) -> Floats:
        outer = [self.factors[i] for i in outside], [self.starts[i] for i in outside]
        rest, first = sum_of(*outer, self.share)
        low = int(totals.min())
        values = np.arange(low, int(totals.max()) + 1)
        every = np.add.outer(values, first + np.arange(rest.size))
        return np.asarray((self.of_total(every) @ rest)[totals - low])

    @cached_property
    def _others(self) -> list[tuple[Floats, int]]:
        k = len(self.factors)
        before = [(np.ones(1), 0)]
        for i in range(k - 1):
            before.append(_joined(*before[-1], self.factors[i], self.starts[i], self.share))
        after = [(np.ones(1), 0)]
        for i in range(k - 1, 0, -1):
            after.append(_joined(*after[-1], self.factors[i], self.starts[i], self.share))
        return [_joined(*before[i], *after[k - 1 - i], self.share) for i in range(k)]


def secret_counts(
    prior: Floats,
    noisy: NDArray[np.int64],
    likelihood: LogLikelihood,
    least: Callable[[], float] | None = None,
) -> UnknownTotal:
    """Return the posterior of counts and total given one noisy count a category, shape (k,).

    `least` tells a refusal the smallest epsilon that would do. Raises ValueError where the factors
    bend so much that floats do not hold as much of them as is needed.
    """
    for trim in _TRIMS:
        found = _trimmed(prior, noisy, likelihood, least, trim)
        if not found.within_reach or found.at_ends() <= _AT_AN_END:
            return found
    raise ValueError(
        "prior must be nearer to 1, or epsilon larger, for a noise-aware reading of a secret "
        f"number of records, got parameters up to {float(prior.max()):g}"
    )


def _trimmed(
    prior: Floats,
    noisy: NDArray[np.int64],
    likelihood: LogLikelihood,
    least: Callable[[], float] | None,
    trim: float,
) -> UnknownTotal:
    # The posterior with factors down to e^-trim of their largest.
    total_prior = float(prior.sum())
    tilt = 0.0
    # Beyond its slope in the noise a tilt would have no largest count.
    far = np.array([int(max(noisy.max(), 0)) + 1, int(max(noisy.max(), 0)) + 2])
    steepest = -_STEEPEST * float(-np.diff(likelihood(int(noisy.max()), far))[0])
    for _ in range(_ROUNDS):
        windows = [
            _window(float(a), int(y), likelihood, tilt, trim)
            for a, y in zip(prior, noisy, strict=True)
        ]
        expected = sum(float(w @ (s + np.arange(w.size))) for s, w in windows)
        wanted = float(
            _log_of_total(total_prior, np.array([expected]))[0]
            - _log_of_total(total_prior, np.array([expected + 1.0]))[0]
        )
        wanted = max(wanted, steepest)
        if abs(wanted - tilt) < 1e-3:
            break
        tilt = 0.5 * (tilt + wanted)
    factor = partial(_of_secret_total, total_prior, tilt, expected)
    starts, factors = tuple(s for s, _ in windows), tuple(w for _, w in windows)
    share = min(_LEAST, float(np.exp(-trim))) if trim > _TRIMS[0] else _LEAST
    return UnknownTotal(starts, factors, factor, least, share)


def group_of_known(
    n: int, starts: Sequence[int], factors: Sequence[Floats], indices: Sequence[int]
) -> UnknownTotal:
    """Return the posterior of some categories' counts and their total where all sum to n."""
    outside = [i for i in range(len(factors)) if i not in indices]
    rest, first = sum_of([factors[i] for i in outside], [starts[i] for i in outside])

    def of_total(totals: NDArray[np.int64]) -> Floats:
        places = n - totals - first
        inside = (places >= 0) & (places < rest.size)
        return np.asarray(np.where(inside, rest[np.clip(places, 0, rest.size - 1)], 0.0))

    return _group(starts, factors, indices, of_total)


def _group(
    starts: Sequence[int],
    factors: Sequence[Floats],
    indices: Sequence[int],
    of_total: Callable[[NDArray[np.int64]], Floats],
    share: float = _LEAST,
) -> UnknownTotal:
    chosen = tuple(starts[i] for i in indices), tuple(factors[i] for i in indices)
    return UnknownTotal(*chosen, of_total, share=share)


def _of_secret_total(
    total_prior: float, tilt: float, middle: float, totals: NDArray[np.int64]
) -> Floats:
    low = int(totals.min())
    values = np.arange(low, int(totals.max()) + 1)
    logs = _log_of_total(total_prior, values) + tilt * (values - low)
    top = float(logs.max())
    if top - float(logs.min()) > _MOST_BENT:
        top = float(_log_of_total(total_prior, np.array([middle]))[0]) + tilt * (middle - low)
    return np.asarray(np.exp(np.minimum(logs - top, _LARGEST_POWER))[totals - low])


def _log_of_total(total_prior: float, values: NDArray[np.int64] | Floats) -> Floats:
    return -log_prior_factor(total_prior, values)


def _window(
    alpha: float, y: int, likelihood: LogLikelihood, tilt: float, trim: float
) -> tuple[int, Floats]:
    """Return the first value and the tilted factor of one category, summing to 1."""
    reach = 64
    while True:
        low, high = max(0, y - reach), max(0, y) + reach
        values = np.arange(low, high + 1)
        chances = likelihood(y, values)
        logs = log_prior_factor(alpha, values) + chances - tilt * (values - low)
        reached = np.ones(values.size, dtype=bool)
        if trim > _TRIMS[0]:  # what the noise hardly reaches does not matter, however bent it is
            reached = chances > chances.max() - _UNREACHED
        logs = logs - logs[reached].max()
        wanted = reached & (logs > -trim)
        cut = (low > 0 and wanted[0]) or wanted[-1]
        if not cut:
            break
        reach *= 2
        if reach > _WIDEST:
            raise ValueError(
                f"a noisy count of {y} leaves more than {_WIDEST} possible counts open; a "
                "noise-aware reading needs a larger epsilon or a prior nearer to 1"
            )
    kept = np.flatnonzero(wanted)
    part = np.exp(logs[kept[0] : kept[-1] + 1])
    return low + int(kept[0]), part / part.sum()


def _joined(
    a: Floats, start_a: int, b: Floats, start_b: int, share: float = _LEAST
) -> tuple[Floats, int]:
    """Return the law of a sum, without its negligible ends, and where it starts."""
    both = np.convolve(a, b)
    kept = np.flatnonzero(both > share * both.max())
    return both[kept[0] : kept[-1] + 1], start_a + start_b + int(kept[0])


def sum_of(
    factors: Sequence[Floats], starts: Sequence[int], share: float = _LEAST
) -> tuple[Floats, int]:
    """Return the law of the sum of independent counts, up to a constant, and where it starts."""
    sums, first = np.ones(1), 0
    for factor, start in zip(factors, starts, strict=True):
        sums, first = _joined(sums, first, factor, start, share)
    return sums, first
