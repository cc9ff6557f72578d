"""The posterior an analyst should hold after a release: one that knows how the noise was made.

p(theta | release) = sum over x of P(x | release) p(theta | x), a mixture of Dirichlet distributions
over the count vectors x. Beforehand these are Dirichlet-multinomial, a product over the categories
but for their sum; noise that acts on each count keeps it a product. With a public number of records
the reading is exact; a secret one is any number beforehand, and the reading is by draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, gammaln, logsumexp

from dpbayes import _validate as check
from dpbayes.divergences import stirling_series
from dpbayes.mechanisms.protocol import Mechanism, own
from dpbayes.posteriors import compositions, floats_around, number_of_candidates

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LARGEST_LISTED = 3000  # candidate sets above are not searched one law at a time
DRAWS = 10_000  # of counts of unknown total: means are right to a hundredth of their spread
_TRIM = 50.0  # factors below e^-50 of the largest are left out
_LARGEST_TOTAL = 2_000_000
_WIDEST = 1 << 22
_LARGE = 1e4  # from here on lnGamma(alpha + x) has lost digits that its change with x needs
_TINY = 1e-290  # below it lnGamma overflows; there Gamma(alpha) is 1 / alpha
_FEWEST = 400  # independent draws that the weighted ones must be worth: errors of a twentieth
_NO_WEIGHT = 1e-16  # below the rounding of the sum of the others


def log_prior_factor(alpha: float, values: Whole) -> Floats:
    """Return ln(Gamma(alpha + x) / x!), for large alpha less lnGamma(alpha), a constant."""
    steps = values.astype(np.float64)
    if alpha < _LARGE:
        gammas = gammaln(alpha + steps)
        if alpha < _TINY:
            gammas = np.where(steps == 0.0, -np.log(alpha), gammas)
        return np.asarray(gammas - gammaln(steps + 1.0))
    rise = (alpha + steps - 0.5) * np.log1p(steps / alpha) + steps * (np.log(alpha) - 1.0)
    rise += stirling_series(alpha + steps) - stirling_series(np.array([alpha]))
    return np.asarray(rise - gammaln(steps + 1.0))


@dataclass(frozen=True)
class ListedCounts:
    """Histograms (N, k) with their probabilities (N,); their totals may differ."""

    histograms: Whole
    weights: Floats

    def joint(self, i: int) -> tuple[Whole, Whole, Floats]:
        """Return values of the count of category i, of the total, and their probabilities."""
        return self.histograms[:, i], self.histograms.sum(axis=1), self.weights

    def sample(self, rng: np.random.Generator, size: int) -> Whole:
        return np.asarray(self.histograms[rng.choice(self.weights.size, size, p=self.weights)])


@dataclass(frozen=True)
class ProductCounts:
    """A product of one factor a category, arrays over x = start, start + 1, ..., at the total n."""

    n: int
    starts: tuple[int, ...]
    factors: tuple[Floats, ...]

    @cached_property
    def _before(self) -> list[Floats]:
        return _sums(self.factors)

    @cached_property
    def _after(self) -> list[Floats]:
        return _sums(self.factors[::-1])[::-1]

    def joint(self, i: int) -> tuple[Whole, Whole, Floats]:
        steps = np.arange(self.factors[i].size)
        others = np.convolve(self._before[i], self._after[i + 1])
        weights = self.factors[i] * _at(others, self.n - sum(self.starts) - steps)
        return self.starts[i] + steps, np.full(steps.size, self.n), weights / weights.sum()

    def sample(self, rng: np.random.Generator, size: int) -> Whole:
        """Return independent histograms (size, k): the last category first, then backwards."""
        left = np.full(size, self.n - sum(self.starts))
        result = np.empty((size, len(self.factors)), dtype=np.int64)
        for i in range(len(self.factors) - 1, 0, -1):
            known, rows = np.unique(left, return_inverse=True)
            steps = np.arange(self.factors[i].size)
            table = self.factors[i] * _at(self._before[i], known[:, None] - steps)
            cumulative = np.cumsum(table, axis=1)
            aim = rng.random(size) * cumulative[rows, -1]
            result[:, i] = (cumulative[rows] <= aim[:, None]).sum(axis=1)
            left = left - result[:, i]
        result[:, 0] = left
        return np.asarray(result + np.array(self.starts))


@dataclass(frozen=True)
class NoiseAwarePosterior:
    """The mixture of Dirichlet(prior + x) over x from `counts`, `n` records (None where secret).

    >>> from dpbayes.mechanisms import mechanism
    >>> chosen = mechanism("geometric", epsilon=1.0)
    >>> aware = noise_aware(chosen, np.array([7]), 10, np.ones(2))
    >>> aware.mean.round(4), np.round(aware.credible_interval(0, level=0.9), 4)
    (array([0.6617, 0.3383]), array([0.3688, 0.9099]))
    """

    prior: Floats
    n: int | None
    counts: ListedCounts | ProductCounts

    @property
    def mean(self) -> Floats:
        """Mean of the category probabilities, shape (k,)."""
        mixtures = (self._mixture(i) for i in range(self.prior.size))
        return np.array([float(weights @ (a / (a + b))) for a, b, weights in mixtures])

    def _mixture(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Return the parameters (a, b) of the beta laws that share i mixes, and their weights."""
        place = check.integer("i", i, minimum=0, maximum=self.prior.size - 1)
        values, totals, weights = self.counts.joint(place)
        kept = weights > _NO_WEIGHT
        a = self.prior[i] + values[kept]
        return a, self.prior.sum() + totals[kept] - a, weights[kept] / weights[kept].sum()

    def density(self, i: int, proportions: ArrayLike) -> Floats:
        """Return the density of the probability of category i at points in (0, 1)."""
        theta, (a, b, weights) = np.asarray(proportions, dtype=np.float64), self._mixture(i)
        logs = np.multiply.outer(np.log(theta), a - 1) + np.multiply.outer(np.log1p(-theta), b - 1)
        return np.asarray(np.exp(logs - betaln(a, b)) @ weights)

    def credible_interval(self, i: int, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of category i; rounded outward where n is public."""
        inside = check.open_unit("level", level)
        a, b, weights = self._mixture(i)

        def reached(theta: float) -> float:
            return float(betainc(a, b, theta) @ weights)

        low, high = (1 - inside) / 2, (1 + inside) / 2
        if self.n is not None:
            return floats_around(reached, low)[0], floats_around(reached, high)[1]
        near = partial(brentq, a=0.0, b=1.0, xtol=1e-12, rtol=1e-9)
        return near(lambda t: reached(t) - low), near(lambda t: reached(t) - high)

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return the central interval of every category, shape (k, 2); as in scipy.stats."""
        return np.array([self.credible_interval(i, confidence) for i in range(self.prior.size)])

    def group(self, indices: Sequence[int]) -> NoiseAwarePosterior:
        """Return the posterior of shares *within* at least 2 categories, of `DRAWS` draws."""
        places = [check.integer("indices", i, minimum=0) for i in indices]
        k = self.prior.size
        if len(set(places)) != len(places) or len(places) < 2 or max(places) >= k:
            raise ValueError(f"indices must be at least 2 different ones below {k}, got {places}")
        counts = self.counts
        if isinstance(counts, ProductCounts):
            drawn = counts.sample(np.random.default_rng(counts.n), DRAWS)
            counts = ListedCounts(drawn, np.full(DRAWS, 1.0 / DRAWS))
        inside = ListedCounts(counts.histograms[:, places], counts.weights)
        return NoiseAwarePosterior(self.prior[places], None, inside)

    def records(self, confidence: float = 0.95) -> tuple[int, int]:
        """Return the central interval of the number of records."""
        (_, totals, weights), inside = self.counts.joint(0), check.open_unit("level", confidence)
        levels = [(1 - inside) / 2, (1 + inside) / 2]
        low, high = np.quantile(totals, levels, weights=weights, method="inverted_cdf")
        return int(low), int(high)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` independent draws of the category probabilities, shape (size, k)."""
        generator = check.generator("rng", rng)
        histograms = self.counts.sample(generator, check.integer("size", size, minimum=0))
        gammas = generator.standard_gamma(self.prior + histograms)
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


def noise_aware(
    mechanism: Mechanism,
    noisy: Whole,
    n: int,
    prior: Floats,
    repaired: bool = False,
) -> NoiseAwarePosterior:
    """Return the noise-aware posterior given the noisy value a mechanism drew: `def-noise-aware`.

    `noisy` is what was drawn before clamping or projection: k-1 counts for the Laplace family,
    one for geometric, k for lattice; for the others, or if `repaired`, the released histogram, read
    by listing at most `LARGEST_LISTED` candidates. Where the noise hides the number of records, `n`
    is not used and the posterior is one of `DRAWS` draws, seeded with what was released.

    >>> from dpbayes.mechanisms import mechanism
    >>> chosen, flat = mechanism("geometric", epsilon=1.0), np.ones(2)
    >>> noise_aware(chosen, np.array([0]), 10, flat).mean.round(4)
    array([0.1318, 0.8682])
    """
    check.offering("mechanism", mechanism, "law")
    noisy, prior = check.whole_numbers("noisy", noisy), check.prior("prior", prior)
    n, independent = check.integer("n", n, 0), own(mechanism, "log_likelihood_at")
    of_counts = own(mechanism, "log_likelihoods")
    if check.flag("repaired", repaired) or independent is of_counts is None:
        return NoiseAwarePosterior(prior, n, _listed(mechanism, noisy, n, prior))
    if independent is not None:
        rng = np.random.default_rng([abs(int(y)) for y in noisy])
        likelihoods = [partial(independent, int(y)) for y in noisy]
        return NoiseAwarePosterior(prior, None, _drawn(prior, noisy.tolist(), likelihoods, rng))
    parts = of_counts(noisy, n, int(prior.size))
    if len(parts) != prior.size:
        raise ValueError(f"prior must have {len(parts)} entries for what was drawn, got {prior}")
    return NoiseAwarePosterior(prior, n, _product(n, prior, parts))


def _product(n: int, prior: Floats, parts: Sequence[Floats]) -> ProductCounts:
    """Return the posterior for a known total from ln P(noisy | x) at x = 0 ... n, each category."""
    if n > _LARGEST_TOTAL:
        raise ValueError(f"n must be at most {_LARGEST_TOTAL} for a noise-aware posterior, got {n}")
    values = np.arange(n + 1)
    logs = [part + log_prior_factor(float(a), values) for part, a in zip(parts, prior, strict=True)]

    # A common factor e^(tilt x), which changes nothing, centres the unconditioned sum at the total.
    def tilted(tilt: float) -> list[Floats]:
        return [np.exp(log + tilt * values - (log + tilt * values).max()) for log in logs]

    def excess(tilt: float) -> float:
        return sum(float(w @ values) / float(w.sum()) for w in tilted(tilt)) - n

    reach = 1.0
    while excess(-reach) > 0.5 or excess(reach) < -0.5:
        reach *= 2.0
    tilt = min(-reach, reach, key=lambda end: abs(excess(end)))  # where an end is near enough
    if excess(-reach) * excess(reach) < 0.0:
        tilt = float(brentq(excess, -reach, reach, xtol=0.25 / max(n, 1) ** 2))
    kept = [(w, np.flatnonzero(w > math.exp(-_TRIM))) for w in tilted(tilt)]
    factors = [w[places[0] : places[-1] + 1] for w, places in kept]
    starts = tuple(int(places[0]) for _, places in kept)
    return ProductCounts(n, starts, tuple(w / w.sum() for w in factors))


def _listed(mechanism: Mechanism, released: Whole, n: int, prior: Floats) -> ListedCounts:
    """Return the posterior of the counts by the law of every histogram."""
    size = number_of_candidates(n, prior.size)
    if size > LARGEST_LISTED:
        raise ValueError(
            f"n = {n} records over k = {prior.size} categories have {size} candidates; a "
            f"noise-aware posterior for {mechanism.name} takes at most {LARGEST_LISTED}"
        )
    histograms = compositions(n, prior.size)
    likelihood = [mechanism.law(x, prior).probability(released) for x in histograms]
    with np.errstate(divide="ignore"):
        logs = np.log(likelihood)
    logs += sum(log_prior_factor(float(a), x) for a, x in zip(prior, histograms.T, strict=True))
    return ListedCounts(histograms, np.exp(logs - logsumexp(logs)))


def _drawn(
    prior: Floats,
    centres: Sequence[int],
    likelihoods: Sequence[Callable[[Whole], Floats]],
    rng: np.random.Generator,
) -> ListedCounts:
    """Return weighted draws of counts, tilted for their secret total, any total equally likely."""
    mass, tilt = float(prior.sum()), 0.0
    for _ in range(50):
        each = zip(prior.tolist(), centres, likelihoods, strict=True)
        windows = [_window(a, y, of, tilt) for a, y, of in each]
        expected = sum(float(weights @ values) for values, weights in windows)
        wanted = (1.0 - mass) / (expected + max(1.0, mass / 2.0))
        if abs(wanted - tilt) < 1e-6 * (1.0 + abs(tilt)):
            break
        tilt = 0.5 * (tilt + wanted)
    drawn = np.stack([rng.choice(v, DRAWS, p=w) for v, w in windows], axis=1)
    totals = drawn.sum(axis=1)
    logs = -log_prior_factor(mass, totals) - tilt * totals
    weights = np.exp(logs - logsumexp(logs))
    worth = 1.0 / float(weights @ weights)
    if worth < _FEWEST:
        worth_of = f"{DRAWS} draws of a secret number of records are worth {worth:.0f}"
        raise ValueError(f"epsilon must be larger, or the prior nearer to 1: {worth_of}")
    return ListedCounts(drawn, weights)


def _window(
    alpha: float, y: int, likelihood: Callable[[Whole], Floats], tilt: float
) -> tuple[Whole, Floats]:
    """Return the values that one count may have, and its tilted factor, summing to 1."""
    reach = 64
    while reach <= _WIDEST:
        values = np.arange(max(0, y - reach), max(0, y) + reach + 1)
        logs = log_prior_factor(alpha, values) + likelihood(values) + tilt * values
        logs -= logs.max()
        kept = logs > -_TRIM
        if not (kept[-1] or (kept[0] and values[0] > 0)):
            weights = np.exp(logs[kept])
            return values[kept], weights / weights.sum()
        reach *= 2
    wide = f"a noisy count of {y} leaves more than {_WIDEST} counts open"
    raise ValueError(f"epsilon must be larger, or the prior nearer to 1: {wide}")


def _sums(factors: Sequence[Floats]) -> list[Floats]:
    """Return the laws of the sums of the first 0, 1, 2, … counts, less their starts."""
    sums = [np.ones(1)]
    for factor in factors:
        sums.append(np.convolve(sums[-1], factor))
    return sums


def _at(values: Floats, index: Whole) -> Floats:
    inside = (index >= 0) & (index < values.size)
    return np.where(inside, values[np.clip(index, 0, values.size - 1)], 0.0)
