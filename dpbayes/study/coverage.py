"""How well released posteriors can be trusted: exact coverage and exact errors for k =
2.

The analyst takes the release r for the truth (plug-in) or mixes over x by P(x | r)
(noise-aware).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln
from scipy.stats import betabinom

from dpbayes import _validate
from dpbayes.divergences import hellinger
from dpbayes.laws.law import listed
from dpbayes.mechanisms.protocol import Mechanism

Array = NDArray[np.float64]

_NODES = 600  # the posterior of 2000 records is four times as wide as their spacing


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
    prior: Array

    @cached_property
    def likelihood(self) -> Array:
        """P(r | x), rows x = 0 … n, columns r = 0 … n (counts of the first
        category)."""
        table = np.zeros((self.n + 1, self.n + 1))
        for x, row in enumerate(table):
            law = listed(self.mechanism.law([x, self.n - x], self.prior), "coverage")
            np.add.at(row, law.outputs[:, 0], law.probabilities)
        return table

    @cached_property
    def prior_masses(self) -> Array:
        """P(x) before the release: the beta-binomial distribution."""
        return np.asarray(betabinom(self.n, *self.prior).pmf(np.arange(self.n + 1)))

    @cached_property
    def _joint(self) -> Array:
        return (self.prior_masses[:, None] * self.likelihood).T

    @cached_property
    def weights(self) -> Array:
        """P(x | r), rows r, columns x."""
        return np.asarray(self._joint / self._joint.sum(axis=1, keepdims=True))

    @cached_property
    def _parameters(self) -> tuple[Array, Array]:
        x = np.arange(self.n + 1)
        return self.prior[0] + x, self.prior[1] + self.n - x

    def noise_aware_intervals(self, level: float) -> Array:
        """Return the central interval of the mixture for each r, shape (n+1, 2)."""
        low, high = np.zeros((self.n + 1, 2)), np.ones((self.n + 1, 2))
        a, b = self._parameters
        for _ in range(45):
            middle = (low + high) / 2
            mixed = (self.weights[:, None, :] * betainc(a, b, middle[:, :, None])).sum(
                axis=2
            )
            reached = mixed >= _edges(level)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def coverage(self, level: float = 0.95) -> Reading:
        """Return the probability that the interval contains theta, over prior, data and
        noise.
        """
        a, b = self._parameters

        def covered(intervals: Array) -> float:
            inside = betainc(a, b, intervals[:, 1:]) - betainc(a, b, intervals[:, :1])
            return float((self._joint * inside).sum())

        plug_in: Array = betaincinv(a[:, None], b[:, None], _edges(level)).astype(
            np.float64
        )
        return Reading(covered(plug_in), covered(self.noise_aware_intervals(level)))

    @cached_property
    def _affinities(self) -> Array:
        # BC between the mixture of r (rows) and Beta(prior + x) (columns), by Gauss's
        # rule in phi with theta = sin^2 phi, where the integrands are smooth up to the
        # ends.
        at, parts = np.polynomial.legendre.leggauss(_NODES)
        phi = 0.25 * np.pi * (1.0 + at)
        theta = np.sin(phi) ** 2
        a, b = self._parameters
        logs = np.outer(a - 1, np.log(theta)) + np.outer(b - 1, np.log1p(-theta))
        jacobian = np.sin(2 * phi) * 0.25 * np.pi * parts
        root = np.exp(logs - betaln(a, b)[:, None]) * jacobian
        return np.asarray(np.sqrt(self.weights @ root) @ np.sqrt(root).T)

    def mean_error(self, power: int = 1) -> Reading:
        """Return E[H^power] over prior, data and noise, H the distance to the true
        posterior.
        """
        both = np.stack(self._parameters, axis=1)
        plug = hellinger(both[:, None, :], both[None, :, :])
        aware = np.sqrt(np.clip(1.0 - self._affinities, 0.0, 1.0))
        plug_in, noise_aware = (
            float((self._joint * h**power).sum()) for h in (plug, aware)
        )
        return Reading(plug_in, noise_aware)


def _edges(level: float) -> Array:
    inside = _validate.open_unit("level", level)
    return np.array([(1 - inside) / 2, (1 + inside) / 2])
