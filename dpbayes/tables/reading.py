"""The posterior an analyst should hold after a release: one that knows how the noise was made.

p(theta | release) = sum over x of P(x | release) p(theta | x), a mixture of Dirichlet distributions
over the count vectors that may have been the true ones. With a Dirichlet prior the counts are
Dirichlet-multinomial beforehand, a product over the categories but for their sum; noise that acts
on each count keeps it a product. With a public number of records the reading is exact; where that
number is secret, every number is equally likely beforehand, and the reading is by draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

from dpbayes import _validate
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions, floats_around, number_of_candidates
from dpbayes.tables.counts_given_noise import (
    ListedCounts,
    ProductCounts,
    drawn_counts,
    log_prior_factor,
)

LARGEST_LISTED = 3000
"""Candidate sets above this are not searched one law at a time."""

DRAWS = 10_000
"""Count vectors drawn where the number of records is secret: shares are right to 1/sqrt(10,000) of
their posterior standard deviation."""

_NO_WEIGHT = 1e-16  # below the rounding of the sum of the others


@dataclass(frozen=True)
class NoiseAwarePosterior:
    """The mixture of Dirichlet(prior + x) over x drawn from `counts`; book: `def-noise-aware`.

    `n` is the number of records, None where it is secret; `counts.total()` is then its posterior.

    >>> from dpbayes.mechanisms import mechanism
    >>> chosen = mechanism("geometric", epsilon=1.0)
    >>> aware = noise_aware(chosen, np.array([7]), 10, np.ones(2))
    >>> aware.mean.round(4)
    array([0.6617, 0.3383])
    >>> [round(end, 4) for end in aware.credible_interval(0, level=0.9)]
    [0.3688, 0.9099]
    """

    prior: NDArray[np.float64]
    n: int | None
    counts: ListedCounts | ProductCounts

    @property
    def k(self) -> int:
        """Number of categories."""
        return int(self.prior.size)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of the category probabilities, shape (k,)."""
        if self.n is None:
            return np.array([self._mean(i) for i in range(self.k)])
        expected = np.array([np.dot(*self.counts.marginal(i)) for i in range(self.k)])
        return np.asarray((self.prior + expected) / (self.prior.sum() + self.n))

    def _mean(self, i: int) -> float:
        a, b, weights = self._mixture(i)
        return float(weights @ (a / (a + b)))

    def _mixture(
        self, i: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        values, totals, weights = self.counts.joint(
            _validate.integer("i", i, minimum=0, maximum=self.k - 1)
        )
        kept = weights > _NO_WEIGHT
        a = self.prior[i] + values[kept]
        return a, self.prior.sum() + totals[kept] - a, weights[kept] / weights[kept].sum()

    def density(self, i: int, proportions: ArrayLike) -> NDArray[np.float64]:
        """Return the density of the probability of category i at points in (0, 1)."""
        theta = np.asarray(proportions, dtype=np.float64)
        a, b, weights = self._mixture(i)
        logs = np.multiply.outer(np.log(theta), a - 1) + np.multiply.outer(np.log1p(-theta), b - 1)
        return np.asarray(np.exp(logs - betaln(a, b)) @ weights)

    def cumulative(self, i: int, proportions: ArrayLike) -> NDArray[np.float64]:
        """Return P(theta_i <= t) for each t in [0, 1]."""
        theta = np.asarray(proportions, dtype=np.float64)
        a, b, weights = self._mixture(i)
        return np.asarray(betainc(a, b, theta[..., None]) @ weights)

    def credible_interval(self, i: int, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of category i with posterior probability `level`.

        With a public number of records its ends are rounded outward.
        """
        inside = _validate.open_unit("level", level)
        a, b, weights = self._mixture(i)

        def reached(theta: float) -> float:
            return float(betainc(a, b, theta) @ weights)

        low, high = (1 - inside) / 2, (1 + inside) / 2
        if self.n is None:
            return _reaching(reached, low), _reaching(reached, high)
        return floats_around(reached, low)[0], floats_around(reached, high)[1]

    def interval(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """Return the central interval of every category, shape (k, 2); as in scipy.stats."""
        return np.array([self.credible_interval(i, confidence) for i in range(self.k)])

    def group(self, indices: Sequence[int]) -> NoiseAwarePosterior:
        """Return the posterior of the shares *within* some categories, at least 2 of them.

        Given the counts x, shares within a group are Dirichlet(prior + x) of the group alone,
        whatever happens outside. Its number of records is not known: `counts.total()`.
        """
        places = [_validate.integer("indices", i, minimum=0) for i in indices]
        if len(set(places)) != len(places) or len(places) < 2 or max(places) >= self.k:
            raise ValueError(
                f"indices must be at least 2 different ones below {self.k}, got {list(indices)}"
            )
        return NoiseAwarePosterior(self.prior[places], None, self.counts.group(places))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws of the category probabilities, shape (size, k)."""
        generator = _validate.generator("rng", rng)
        histograms = self.counts.sample(generator, _validate.integer("size", size, minimum=0))
        gammas = generator.standard_gamma(self.prior + histograms)
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


def _reaching(reached: Callable[[float], float], share: float) -> float:
    """Return where a distribution function on [0, 1] reaches a share."""
    from scipy.optimize import brentq  # slow to import, and only this reading needs it

    return float(brentq(lambda theta: reached(theta) - share, 0.0, 1.0, xtol=1e-12, rtol=1e-9))


def noise_aware(
    mechanism: Mechanism,
    noisy: NDArray[np.int64],
    n: int,
    prior: NDArray[np.float64],
    repaired: bool = False,
    rng: np.random.Generator | None = None,
) -> NoiseAwarePosterior:
    """Return the noise-aware posterior given the noisy value a mechanism drew.

    `noisy` is what was drawn before clamping or projection: k-1 counts for the Laplace family,
    one for geometric, k for lattice; for the others the released histogram. These others are
    searched one law at a time, so their candidate sets may hold at most `LARGEST_LISTED`. Where the
    noise hides the number of records, `n` is not used and the posterior is one of `DRAWS` draws
    from `rng`, by default one seeded with what was released: the same release is read alike.

    With `repaired`, `noisy` is the released histogram of any mechanism, after clamping and
    projection, shape (k,) and summing to n: a 0 then stands for every noisy count that was raised
    to 0. The laws are searched one at a time, as for the others. For `geometric` the two readings
    agree, as its tail beyond an end is proportional to its probability at the end.

    >>> from dpbayes.mechanisms import mechanism
    >>> chosen, flat = mechanism("geometric", epsilon=1.0), np.ones(2)
    >>> noise_aware(chosen, np.array([0]), 10, flat).mean.round(4)
    array([0.1318, 0.8682])
    >>> noise_aware(chosen, np.array([0, 10]), 10, flat, repaired=True).mean.round(4)
    array([0.1318, 0.8682])
    """
    _validate.offering("mechanism", mechanism, "law")
    noisy, prior = _validate.whole_numbers("noisy", noisy), _validate.prior("prior", prior)
    n = _validate.integer("n", n, 0)
    if _validate.flag("repaired", repaired):
        return _listed(mechanism, noisy, n, prior)
    independent = own(mechanism, "log_likelihood_at")
    if independent is not None:
        seeded = rng or np.random.default_rng([abs(int(y)) for y in noisy])
        likelihoods = [partial(independent, int(y)) for y in noisy]
        centres = [int(y) for y in noisy]
        return NoiseAwarePosterior(
            prior, None, drawn_counts(prior, centres, likelihoods, seeded, DRAWS)
        )
    of_counts = own(mechanism, "log_likelihoods")
    if of_counts is None:
        return _listed(mechanism, noisy, n, prior)
    values, parts = np.arange(n + 1), of_counts(noisy, n, int(prior.size))
    if len(parts) != prior.size:
        raise ValueError(f"prior must have {len(parts)} entries for what was drawn, got {prior}")
    logs = [
        part + log_prior_factor(float(alpha), values)
        for part, alpha in zip(parts, prior, strict=True)
    ]
    return NoiseAwarePosterior(prior, n, ProductCounts.from_logs(n, logs))


def _listed(
    mechanism: Mechanism, released: NDArray[np.int64], n: int, prior: NDArray[np.float64]
) -> NoiseAwarePosterior:
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
    return NoiseAwarePosterior(prior, n, ListedCounts.from_logs(prior, histograms, logs))
