"""How well released posteriors can be trusted: exact coverage and exact errors for k = 2.

Everything follows from the table P(r | x) of a mechanism: for each released count r, the analyst
either takes r for the truth (plug-in) or mixes over the x that may have led to r (noise-aware).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, gammaln

from dpbayes import _validate
from dpbayes.divergences import hellinger
from dpbayes.laws.law import listed
from dpbayes.mechanisms.protocol import Mechanism

LARGEST_N = 2000

_GRID = 2000


@dataclass(frozen=True)
class Reading:
    """One value for each way to read a release."""

    plug_in: float
    noise_aware: float


@dataclass(frozen=True)
class BinaryRelease:
    """A mechanism's table for n records of two categories, under a Beta prior (2,)."""

    mechanism: Mechanism
    n: int
    prior: NDArray[np.float64]

    def __post_init__(self) -> None:
        size = _validate.integer("n", self.n, minimum=1)
        if size > LARGEST_N:
            raise ValueError(f"n must be at most {LARGEST_N} for an exact table, got {size}")
        object.__setattr__(self, "prior", _validate.prior("prior", self.prior, 2))

    @cached_property
    def likelihood(self) -> NDArray[np.float64]:
        """P(r | x), rows x = 0 … n, columns r = 0 … n (counts of the first category)."""
        table = np.zeros((self.n + 1, self.n + 1))
        for x in range(self.n + 1):
            law = self.mechanism.law([x, self.n - x], self.prior)
            if not hasattr(law, "outputs"):
                raise ValueError(f"mechanism must list its outputs, got {self.mechanism.name}")
            known = listed(law, "coverage")
            np.add.at(table[x], known.outputs[:, 0], known.probabilities)
        return table

    @cached_property
    def prior_masses(self) -> NDArray[np.float64]:
        """P(x) before the release: the beta-binomial distribution."""
        a, b = self.prior
        x = np.arange(self.n + 1)
        choose = gammaln(self.n + 1) - gammaln(x + 1) - gammaln(self.n - x + 1)
        return np.asarray(np.exp(choose + betaln(a + x, b + self.n - x) - betaln(a, b)))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """P(x | r), rows r, columns x."""
        joint = (self.prior_masses[:, None] * self.likelihood).T
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @cached_property
    def _parameters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x = np.arange(self.n + 1)
        return self.prior[0] + x, self.prior[1] + self.n - x

    def plug_in_intervals(self, level: float) -> NDArray[np.float64]:
        """Return the central interval of Beta(prior + r) for each r, shape (n+1, 2)."""
        edges = _edges(level)
        a, b = self._parameters
        return np.asarray(betaincinv(a[:, None], b[:, None], edges))

    def noise_aware_intervals(self, level: float) -> NDArray[np.float64]:
        """Return the central interval of the mixture for each r, shape (n+1, 2)."""
        edges = _edges(level)
        low, high = np.zeros((self.n + 1, 2)), np.ones((self.n + 1, 2))
        a, b = self._parameters
        for _ in range(45):
            middle = (low + high) / 2
            reached = np.empty(middle.shape, dtype=bool)
            for end in (0, 1):
                mixed = (self.weights * betainc(a, b, middle[:, end, None])).sum(axis=1)
                reached[:, end] = mixed >= edges[end]
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def coverage(self, level: float = 0.95) -> Reading:
        """Return the probability that the interval contains theta, over prior, data and noise."""
        joint = (self.prior_masses[:, None] * self.likelihood).T
        a, b = self._parameters

        def covered(intervals: NDArray[np.float64]) -> float:
            inside = betainc(a, b, intervals[:, 1:]) - betainc(a, b, intervals[:, :1])
            return float((joint * inside).sum())

        return Reading(
            covered(self.plug_in_intervals(level)), covered(self.noise_aware_intervals(level))
        )

    @cached_property
    def _affinities(self) -> NDArray[np.float64]:
        # BC between the mixture of r (rows) and Beta(prior + x) (columns), by the midpoint rule in
        # phi with theta = sin^2 phi, where the integrands are smooth and periodic.
        phi = (np.arange(_GRID) + 0.5) * (np.pi / 2 / _GRID)
        theta = np.sin(phi) ** 2
        a, b = self._parameters
        logs = np.outer(a - 1, np.log(theta)) + np.outer(b - 1, np.log1p(-theta))
        jacobian = np.sin(2 * phi) * (np.pi / 2 / _GRID)
        root = np.exp(logs - betaln(a, b)[:, None]) * jacobian
        return np.asarray(np.sqrt(self.weights @ root) @ np.sqrt(root).T)

    def errors(self, power: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return E[H^power | x] of plug-in and noise-aware posterior, each of shape (n+1,).

        H is the Hellinger distance to the posterior of the true counts x.
        """
        a, b = self._parameters
        both = np.stack((a, b), axis=1)
        plug = hellinger(both[:, None, :], both[None, :, :])
        aware = np.sqrt(np.clip(1.0 - self._affinities.T, 0.0, 1.0))
        return (
            (self.likelihood * plug**power).sum(axis=1),
            (self.likelihood * aware**power).sum(axis=1),
        )

    def mean_error(self, power: int = 1) -> Reading:
        """Return E[H^power] over prior, data and noise."""
        plug, aware = self.errors(power)
        return Reading(float(self.prior_masses @ plug), float(self.prior_masses @ aware))


def _edges(level: float) -> NDArray[np.float64]:
    inside = _validate.open_unit("level", level)
    return np.array([(1 - inside) / 2, (1 + inside) / 2])
