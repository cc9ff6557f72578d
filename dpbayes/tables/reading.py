"""The posterior an analyst should hold after a release: one that knows how the noise
was made.

p(theta | release) = sum over x of P(x | release) p(theta | x), a mixture of Dirichlet
distributions over the count vectors x, a product over the categories but for their sum.
With a public number of records the reading is exact; a secret one is any number
beforehand, and the reading is by draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, gammaln, logsumexp

from dpbayes import _validate as check
from dpbayes._roots import root
from dpbayes._stirling import stirling_series
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.mechanisms.capabilities import LogLikelihoodAt, LogLikelihoods, own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions, floats_around, number_of_candidates
from dpbayes.tables.count_noise import Weighted

LARGEST_LISTED = 3000  # candidate sets above are not searched one law at a time
# of counts of unknown total: means are right to a hundredth of their spread
DRAWS = 10_000
_LARGEST_TOTAL = 2_000_000
_WIDEST = 1 << 22


def log_prior_factor(alpha: float, values: Whole) -> Floats:
    """Return ln(Gamma(alpha + x) / x!), for large alpha less lnGamma(alpha), a
    constant.
    """
    steps = values.astype(np.float64)
    # above it lnGamma(alpha + x) loses digits that its change with x needs
    if alpha < 1e4:
        gammas = gammaln(alpha + steps)
        if alpha < 1e-290:  # lnGamma overflows; Gamma(alpha) is 1 / alpha
            gammas = np.where(steps == 0.0, -np.log(alpha), gammas)
        return np.asarray(gammas - gammaln(steps + 1.0))
    rise = (alpha + steps - 0.5) * np.log1p(steps / alpha) + steps * (
        np.log(alpha) - 1.0
    )
    rise += stirling_series(alpha + steps) - stirling_series(np.array([alpha]))
    return np.asarray(rise - gammaln(steps + 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class ListedCounts(ByValue):
    """Histograms (N, k) with their probabilities (N,); their totals may differ."""

    histograms: Whole
    weights: Floats

    def joint(self, i: int) -> tuple[Whole, Whole, Floats]:
        """Return values of the count of category i, of the total, and their
        probabilities.
        """
        return self.histograms[:, i], self.histograms.sum(axis=1), self.weights

    def sample(self, rng: np.random.Generator, size: int) -> Whole:
        """Return `size` independent histograms, shape (size, k)."""
        return np.asarray(
            self.histograms[rng.choice(self.weights.size, size, p=self.weights)]
        )


@dataclass(frozen=True, eq=False, repr=False)
class ProductCounts(ByValue):
    """Independent counts, one a category, given that their sum is n."""

    n: int
    counts: tuple[Weighted, ...]

    @cached_property
    def sums(self) -> list[list[Weighted]]:
        """The laws of the sums of the first 0, 1, ... counts, and of the last."""
        orders = self.counts, self.counts[::-1]
        return [
            list(accumulate(one, initial=Weighted(0, np.ones(1)))) for one in orders
        ]

    def joint(self, i: int) -> tuple[Whole, Whole, Floats]:
        """Return values of the count of category i, the total n beside each, and their
        probabilities.
        """
        before, after = self.sums
        values, others = (
            self.counts[i].values,
            before[i] + after[len(self.counts) - 1 - i],
        )
        weights = self.counts[i].weights * others.at(self.n - values)
        return values, np.full(values.size, self.n), weights / weights.sum()

    def sample(self, rng: np.random.Generator, size: int) -> Whole:
        """Return independent histograms (size, k)."""
        return self.with_totals(rng, np.full(size, self.n))

    def with_totals(self, rng: np.random.Generator, totals: Whole) -> Whole:
        """Return one histogram for each total, drawn from the last count backwards."""
        left = totals
        result = np.empty((totals.size, len(self.counts)), dtype=np.int64)
        for i in range(len(self.counts) - 1, 0, -1):
            known, rows = np.unique(left, return_inverse=True)
            values = self.counts[i].values
            table = self.counts[i].weights * self.sums[0][i].at(known[:, None] - values)
            cumulative = np.cumsum(table, axis=1)
            aim = rng.random(totals.size) * cumulative[rows, -1]
            result[:, i] = values[_places(cumulative, rows, aim)]
            left = left - result[:, i]
        result[:, 0] = left
        return result


def _places(cumulative: Floats, rows: Whole, aims: Floats) -> Whole:
    """Return how many entries of its row of `cumulative` each aim reaches."""
    found = np.empty(aims.size, dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    edges = np.searchsorted(rows[order], np.arange(len(cumulative) + 1))
    for row, (start, stop) in enumerate(pairwise(edges)):
        these = order[start:stop]
        found[these] = np.searchsorted(cumulative[row], aims[these], side="right")
    return found


@dataclass(frozen=True, eq=False, repr=False)
class NoiseAwarePosterior(ByValue):
    """The mixture of Dirichlet(prior + x) over x from `counts`, `n` records (None where
    secret); `labels` (k,) name the categories where they have names.
    """

    prior: Floats
    n: int | None
    counts: ListedCounts | ProductCounts
    labels: tuple[Any, ...] = ()

    def _shown(self) -> dict[str, object]:
        named = {"labels": self.labels} if self.labels else {}
        return {"n": self.n, **named, "prior": self.prior, "mean": self.mean}

    @property
    def mean(self) -> Floats:
        """Mean of the category probabilities, shape (k,)."""
        mixtures = (self._mixture(i) for i in range(self.prior.size))
        return np.array([float(weights @ (a / (a + b))) for a, b, weights in mixtures])

    def _mixture(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Return the parameters (a, b) of the beta laws that share i mixes, and their
        weights.
        """
        place = check.integer("i", i, minimum=0, maximum=self.prior.size - 1)
        values, totals, weights = self.counts.joint(place)
        kept = weights > 1e-16  # others are below the rounding of the sum
        a = self.prior[i] + values[kept]
        return (
            a,
            self.prior.sum() + totals[kept] - a,
            weights[kept] / weights[kept].sum(),
        )

    def density(self, i: int, proportions: ArrayLike) -> Floats:
        """Return the density of the probability of category i at points in (0, 1)."""
        theta, (a, b, weights) = (
            np.asarray(proportions, dtype=np.float64),
            self._mixture(i),
        )
        logs = np.multiply.outer(np.log(theta), a - 1) + np.multiply.outer(
            np.log1p(-theta), b - 1
        )
        return np.asarray(np.exp(logs - betaln(a, b)) @ weights)

    def credible_interval(self, i: int, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of category i; rounded outward where n is
        public."""
        inside = check.open_unit("level", level)
        a, b, weights = self._mixture(i)

        def reached(theta: float) -> float:
            return float(betainc(a, b, theta) @ weights)

        low, high = (1 - inside) / 2, (1 + inside) / 2
        if self.n is not None:
            return floats_around(reached, low)[0], floats_around(reached, high)[1]
        near = partial(root, low=0.0, high=1.0, xtol=1e-12, rtol=1e-9)
        return near(lambda t: reached(t) - low), near(lambda t: reached(t) - high)

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return the central interval of every category, shape (k, 2); as in
        scipy.stats.
        """
        return np.array(
            [self.credible_interval(i, confidence) for i in range(self.prior.size)]
        )

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` independent draws of the category probabilities, shape (size,
        k).
        """
        generator = check.generator("rng", rng)
        histograms = self.counts.sample(
            generator, check.integer("size", size, minimum=0)
        )
        gammas = generator.standard_gamma(self.prior + histograms)
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


def noise_aware(
    mechanism: Mechanism, noisy: Whole, n: int, prior: Floats, repaired: bool = False
) -> NoiseAwarePosterior:
    """Return the noise-aware posterior given the noisy value a mechanism drew:
    `def-noise-aware`.

    `noisy` is what was drawn before clamping or projection: k-1 counts for the Laplace
    family, one for geometric, k for lattice; for the others, or if `repaired`, the
    released histogram, read by listing at most `LARGEST_LISTED` candidates. Where the
    noise hides the number of records `n`, it is not used, and the posterior is one of
    `DRAWS` draws, seeded with what was released.

    >>> from dpbayes.mechanisms import mechanism
    >>> aware = noise_aware(mechanism("geometric", 1.0), np.array([7]), 10, np.ones(2))
    >>> isinstance(aware, NoiseAwarePosterior), aware.mean.round(4)
    (True, array([0.6617, 0.3383]))
    >>> np.round(aware.credible_interval(0, 0.9), 4)
    array([0.3688, 0.9099])
    """
    check.offering("mechanism", mechanism, "law")
    noisy, prior = check.whole_numbers("noisy", noisy), check.prior("prior", prior)
    n, independent = check.integer("n", n, 0), own(mechanism, LogLikelihoodAt)
    of_counts = own(mechanism, LogLikelihoods)
    listed = check.flag("repaired", repaired)
    if independent is not None and not listed:
        return NoiseAwarePosterior(
            prior, None, _drawn(prior, noisy.tolist(), independent.log_likelihood_at)
        )
    if of_counts is None or listed:
        return NoiseAwarePosterior(prior, n, _listed(mechanism, noisy, n, prior))
    parts = of_counts.log_likelihoods(noisy, n, int(prior.size))
    if len(parts) != prior.size:
        raise ValueError(
            f"prior must have {len(parts)} entries for what was drawn, got {prior}"
        )
    return NoiseAwarePosterior(prior, n, _product(n, prior, parts))


def _product(n: int, prior: Floats, parts: Sequence[Floats]) -> ProductCounts:
    """Return the posterior for a known total from ln P(noisy | x) at x = 0 ... n, each
    category.
    """
    if n > _LARGEST_TOTAL:
        raise ValueError(
            f"n must be at most {_LARGEST_TOTAL} for a noise-aware posterior, got {n}"
        )
    values = np.arange(n + 1)
    before = {float(a): log_prior_factor(a, values) for a in set(prior)}
    logs = [part + before[float(a)] for part, a in zip(parts, prior, strict=True)]
    # A common factor e^(tilt x), which changes nothing, brings the unconditioned sum
    # near n.
    low, high, tilt = -math.inf, math.inf, 0.0
    for _ in range(200):
        counts = tuple(Weighted.of_logs(0, log + tilt * values) for log in logs)
        excess, variance = (
            sum(one.mean for one in counts) - n,
            sum(one.variance for one in counts),
        )
        if excess**2 <= 1.0 + variance:
            break
        low, high = (low, tilt) if excess > 0.0 else (tilt, high)
        tilt -= excess / max(variance, 1.0)
        tilt = tilt if low < tilt < high else 0.5 * (low + high)
    return ProductCounts(n, counts)


def _listed(
    mechanism: Mechanism, released: Whole, n: int, prior: Floats
) -> ListedCounts:
    """Return the posterior of the counts by the law of every histogram."""
    histograms, logs = listed_likelihoods(mechanism, released, n, prior)
    logs += sum(
        log_prior_factor(a, x) for a, x in zip(prior, histograms.T, strict=True)
    )
    return ListedCounts(histograms, np.exp(logs - logsumexp(logs)))


def listed_likelihoods(
    mechanism: Mechanism, released: Whole, n: int, prior: Floats
) -> tuple[Whole, Floats]:
    """Return all histograms of n records, and ln P(released | each), by their laws."""
    size = number_of_candidates(n, prior.size)
    if size > LARGEST_LISTED:
        raise ValueError(
            f"n = {n} records over k = {prior.size} categories have {size} candidates;"
            f" a noise-aware posterior for {mechanism.name} takes at most"
            f" {LARGEST_LISTED}"
        )
    asked: Any = (mechanism, n, tuple(prior.tolist()))
    try:
        histograms, likelihood = _kept_table(*asked)
    except TypeError:  # a mechanism that cannot be looked up
        histograms, likelihood = _table(*asked)
    with np.errstate(divide="ignore"):
        logs = np.log(likelihood @ (histograms == released).all(axis=1))
    return histograms, logs


def _table(
    mechanism: Mechanism, n: int, prior: tuple[float, ...]
) -> tuple[Whole, Floats]:
    """Return all histograms (N, k), and P(release | counts), counts in rows, (N, N)."""
    histograms = compositions(n, len(prior))
    laws = (mechanism.law(x, np.array(prior)) for x in histograms)
    return histograms, np.array([law.probability(histograms) for law in laws])


_kept_table = lru_cache(maxsize=1)(_table)


def _drawn(
    prior: Floats,
    noisy: Sequence[int],
    log_likelihood_at: Callable[[int, Whole], Floats],
) -> ListedCounts:
    """Return draws of the counts: of their total from its exact law, then of each.

    Any total is equally likely beforehand.
    """
    mass, tilt, rng = (
        float(prior.sum()),
        0.0,
        np.random.default_rng([abs(y) for y in noisy]),
    )
    for _ in range(50):
        pairs = zip(prior, noisy, strict=True)
        windows = [_window(a, y, partial(log_likelihood_at, y), tilt) for a, y in pairs]
        wanted = (1.0 - mass) / (
            sum(one.mean for one in windows) + max(1.0, mass / 2.0)
        )
        if abs(wanted - tilt) < 1e-6 * (1.0 + abs(tilt)):
            break
        tilt = 0.5 * (tilt + wanted)
    together = ProductCounts(0, tuple(windows))
    total = together.sums[0][-1]
    with np.errstate(divide="ignore"):
        logs = np.log(total.weights) - tilt * total.values
    law = Weighted.of_logs(total.start, logs - log_prior_factor(mass, total.values))
    totals = rng.choice(law.values, DRAWS, p=law.weights)
    drawn = together.with_totals(rng, totals)
    return ListedCounts(drawn, np.full(DRAWS, 1.0 / DRAWS))


def _window(
    alpha: float, y: int, likelihood: Callable[[Whole], Floats], tilt: float
) -> Weighted:
    """Return the tilted law of one count, over all values that it may have."""
    reach = 64
    while reach <= _WIDEST:
        values = np.arange(max(0, y - reach), max(0, y) + reach + 1)
        logs = log_prior_factor(alpha, values) + likelihood(values) + tilt * values
        found = Weighted.of_logs(int(values[0]), logs)
        if found.values[-1] < values[-1] and (
            values[0] == 0 or found.start > values[0]
        ):
            return found
        reach *= 2
    wide = f"a noisy count of {y} leaves more than {_WIDEST} counts open"
    raise ValueError(f"epsilon must be larger, or the prior nearer to 1: {wide}")
