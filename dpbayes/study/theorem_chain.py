"""Where A's Theorem 4.1 breaks: data sets on a chain, when all prior parameters but one
are large.

With the prior (b, B, ..., B) and B growing, posteriors differ by the first count alone:

    P[r_1 | x_1] proportional to C(n - r_1 + k - 2, k - 2) exp(-epsilon H(x_1, r_1) / (2
    S(x_1))),

where the binomial coefficient counts the ways to spread the other records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from dpbayes import _validate
from dpbayes.auditing.exact import PairAudit
from dpbayes.divergences import (
    affinity_by_step,
    distance_from_log_affinity,
    one_step_affinity,
)
from dpbayes.mechanisms.exponential import ExponentialMechanism


@dataclass(frozen=True)
class Chain:
    """expMech-delta on n records over k categories with the prior (b, B, ..., B) as B
    grows.

    `prior` is b > 0, or for k = 2 a pair (b, B). As A, B and C print it,
    gamma = ln(1 + epsilon / (2 ln(2 (n + 1) / delta))); d counts replaced records.
    Book: `thm-delta-false`.
    """

    k: int
    n: int
    epsilon: float
    delta: float
    prior: float | tuple[float, float]

    @property
    def _parameters(self) -> tuple[float, ...]:
        return self.prior if isinstance(self.prior, tuple) else (self.prior,)

    @property
    def logarithm(self) -> float:
        """Ln(2 (n + 1) / delta), by which the slack of the theorem is divided."""
        return float(np.log(2.0 * (self.n + 1) / self.delta))

    @property
    def gamma(self) -> float:
        """Ln(1 + epsilon / (2 ln(2 (n + 1) / delta))), as A, B and C print it."""
        return float(np.log1p(self.epsilon / (2.0 * self.logarithm)))

    def local(self) -> NDArray[np.float64]:
        """LS at x_1 = 0 ... n, shape (n+1,), read-only."""
        return _local(self.n, self._parameters)

    def smooth(self) -> NDArray[np.float64]:
        """S at x_1 = 0 ... n: the largest LS(x'') e^(-gamma d), every x'' tried in
        O(n).
        """
        ramp = self.gamma * np.arange(self.n + 1, dtype=np.float64)
        logs = np.log(self.local())
        below = np.maximum.accumulate(logs + ramp) - ramp
        above = np.maximum.accumulate((logs - ramp)[::-1])[::-1] + ramp
        return np.asarray(np.exp(np.maximum(below, above)))

    def log_probabilities(self) -> NDArray[np.float64]:
        """Logarithms of P[r_1 | x_1], shape (n+1, n+1): one row a data set, ways
        counted in.
        """
        at = np.arange(self.n + 1.0)
        steps = at - at[:, None]
        log_bc = affinity_by_step(self._parameters[0] + at[:, None], steps)
        for other in self._parameters[1:]:
            log_bc = log_bc + affinity_by_step(other + self.n - at[:, None], -steps)
        distances = distance_from_log_affinity(np.minimum(log_bc, 0.0))
        # The ways to spread the other records over the other categories.
        rest, extra = self.n - at, self.k - 2
        ways = gammaln(rest + extra + 1) - gammaln(rest + 1) - gammaln(extra + 1.0)
        weights = ways - self.epsilon / (2.0 * self.smooth()[:, None]) * distances
        return np.asarray(weights - logsumexp(weights, axis=1, keepdims=True))

    def audit(self) -> ChainAudit:
        """Return the exact delta(epsilon) and the largest loss over all neighbours and
        outputs.
        """
        log_p = self.log_probabilities()
        losses = log_p[1:] - log_p[:-1]
        # delta(epsilon) of the pairs (x + 1, x) and (x, x + 1), shape (2, n)
        ways = (log_p[1:], losses), (log_p[:-1], -losses)
        parts = [
            np.exp(p) * -np.expm1(np.minimum(self.epsilon - loss, 0.0))
            for p, loss in ways
        ]
        excess = np.stack(parts).sum(axis=2)
        way, at = np.unravel_index(int(np.argmax(excess)), excess.shape)
        pair = (int(at) + 1, int(at)) if way == 0 else (int(at), int(at) + 1)
        return ChainAudit(
            float(np.abs(losses).max()) / self.epsilon,
            float(excess.max()) / self.delta,
            pair,
        )


@lru_cache(maxsize=64)
def _local(n: int, prior: tuple[float, ...]) -> NDArray[np.float64]:
    inner = one_step_affinity(prior[0] + np.arange(float(n)))
    for other in prior[1:]:
        inner = inner + one_step_affinity(other + np.arange(n - 1.0, -1.0, -1.0))
    steps = np.concatenate(([0.0], inner, [0.0]))
    local = distance_from_log_affinity(np.minimum(steps[:-1], steps[1:]))
    return np.asarray(_validate.frozen(local))


@dataclass(frozen=True)
class ChainAudit:
    """The largest loss over epsilon, and delta(epsilon) over delta, attained at
    `pair`."""

    epsilon_ratio: float
    ratio: float
    pair: tuple[int, int]


def kink(chain: Chain) -> float:
    """Return the epsilon at which two ways to the smooth sensitivity meet, all else as
    in `chain`.

    With LS largest at x_1 = u and least at x_1 = v, there gamma |u - v| = ln(LS(u) /
    LS(v)), and next to v one record changes S by the full factor e^gamma.
    """
    local = chain.local()
    v = int(np.argmin(local))
    highest = np.flatnonzero(local >= local.max() * (1.0 - 1e-12))
    away = max(1, int(np.abs(highest - v).min()))
    gamma = float(np.log(local.max() / local[v])) / away
    return float(2.0 * chain.logarithm * np.expm1(gamma))


def at_kink(k: int, n: int, delta: float, prior: float, factor: float = 1.0) -> Chain:
    """Return the chain whose epsilon is `factor` times the one at its kink."""
    plan = Chain(k, n, 1.0, delta, prior)
    return replace(plan, epsilon=kink(plan) * factor)


def corner_pair(n: int, k: int) -> tuple[list[int], list[int]]:
    """Return the data sets (n, 0, ..., 0) and (n - 1, 1, 0, ..., 0) of k categories."""
    return [n] + [0] * (k - 1), [n - 1, 1] + [0] * (k - 2)


def enumerated_pair(
    mechanism: ExponentialMechanism,
    counts: ArrayLike,
    neighbour: ArrayLike,
    prior: ArrayLike,
) -> PairAudit:
    """Return the exact loss between two data sets, every candidate listed, however
    many.
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    other, _ = _validate.counts_and_prior(neighbour, prior)
    first, second = (mechanism.enumerated(data, alpha) for data in (x, other))
    laws = (first.log_probabilities, second.log_probabilities)
    return PairAudit(x, other, first.outputs, *laws)
