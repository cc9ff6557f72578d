"""The square root in the Hellinger distance as a short sum of powers of the affinity.

sqrt(1 - z) = 1 - sum over j >= 1 of c_j z^j with c_j = Gamma(j - 1/2) / (2 sqrt(pi) j!), all
positive with sum 1. So E[H] = sum_j c_j (1 - E[BC^j]), and BC^j is a product over the categories.
Terms j < 32 are taken one by one. Beyond, c_j is smooth in j: each block of j from 2^s to
2^(s+1) - 1 is replaced by a Gauss rule for the uniform measure on its whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpbayes.laws.gauss_sums import block_rule
from dpbayes.log_gamma import stirling_series

_SINGLE_TERMS = 32
_NODES = 16
_WHOLE_POWERS = 12
_RATIO = 1.5
_LARGEST_GAP = 16.0
_NOTHING = 27.0


@dataclass(frozen=True)
class SquareRootSeries:
    """Powers j, their weights, and the weight `rest` of all powers beyond the last block."""

    powers: NDArray[np.float64]
    weights: NDArray[np.float64]
    rest: float

    def mean_root(self, deficits: NDArray[np.float64], rest_deficit: float) -> float:
        """Return E[sqrt(1 - z)] from 1 - E[z^j] at each power, and beyond all of them."""
        return float(np.dot(self.weights, deficits) + self.rest * rest_deficit)


def square_root_series(last: float) -> SquareRootSeries:
    """Return the series with blocks up to the one that contains the power `last`."""
    powers = [np.arange(1.0, _SINGLE_TERMS)]
    weights = [_coefficients(powers[0])]
    start = _SINGLE_TERMS
    while start <= max(last, _SINGLE_TERMS):
        nodes, counts = block_rule(start, start, _NODES)
        powers.append(nodes)
        weights.append(counts * _coefficients(nodes))
        start *= 2
    return SquareRootSeries(np.concatenate(powers), np.concatenate(weights), _beyond(start - 1))


@dataclass(frozen=True)
class FittedRoot:
    """sqrt(1 - z) as 1 - sum of weights z^powers, within `error` for 0 <= z <= e^-gap."""

    powers: NDArray[np.float64]
    weights: NDArray[np.float64]
    error: float

    def mean_root(
        self, mass: float, at_one: float, moments: NDArray[np.float64], each: float
    ) -> tuple[float, float]:
        """Return E[sqrt(1 - z); A] and its error.

        `mass` = P(A), `at_one` = P(A, z = 1), `moments` = E[z^s; A] for each power s, each of
        them right within `each`.
        """
        value = mass - at_one - float(self.weights @ (moments - at_one))
        return value, self.error * mass + each * (1.0 + float(np.abs(self.weights).sum()))

    def error_below(self, gap: float) -> float:
        """Return the largest error for z above e^-gap, up to z = 1.

        Measured where the root changes; closer to 1 than a part 10^-12 of the gap it does not.
        """
        depth = np.append(0.0, gap * np.geomspace(1e-12, 1.0, 2000))
        found = np.exp(-np.outer(depth, self.powers)) @ self.weights
        return float(np.abs(found - one_less_root(depth)).max())


def fitted_root(gap: float) -> FittedRoot:
    """Return a short sum of powers for outputs whose -ln z is 0 or at least `gap` > 0.

    Whole powers to 12, then powers that grow by half, with weights by least squares in -ln z; the
    error is measured on a grid five times as fine. 6 powers at a gap of 5, about 20 at .02, 50 at
    2e-8.

    >>> fitted_root(0.02).error < 1e-9
    True
    """
    return _fitted(int(np.floor(4.0 * np.log2(min(gap, _LARGEST_GAP)))))


@lru_cache(maxsize=256)
def _fitted(quarter_octaves: int) -> FittedRoot:
    gap = 2.0 ** (quarter_octaves / 4.0)
    seen = int(np.ceil(_NOTHING / gap))  # at higher powers z^j is nothing
    powers = [float(j) for j in range(1, min(_WHOLE_POWERS, seen) + 1)]
    while powers[-1] * _RATIO < 14.0 / gap:
        powers.append(powers[-1] * _RATIO)
    s = np.array(powers)
    if seen <= _WHOLE_POWERS:
        return FittedRoot(s, _coefficients(s), float(np.exp(-gap * (s[-1] + 1.0))))
    depth = np.geomspace(gap, 40.0, 2000)
    columns = np.exp(-np.outer(depth, s))
    sizes = np.linalg.norm(columns, axis=0)
    weights = np.linalg.lstsq(columns / sizes, one_less_root(depth), rcond=1e-14)[0] / sizes
    fine = np.geomspace(gap, 400.0, 10_001)
    error = np.abs(np.exp(-np.outer(fine, s)) @ weights - one_less_root(fine)).max()
    return FittedRoot(s, weights, float(error))


def one_less_root(depth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - sqrt(1 - e^-depth)."""
    root = np.sqrt(-np.expm1(-depth))
    return np.asarray(np.exp(-depth) / (1.0 + root))


def _coefficients(j: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(_log_gamma_ratio(j, -0.5, 1.0)) / (2.0 * np.sqrt(np.pi)))


def _beyond(j: int) -> float:
    # The coefficients above j sum to C(2j, j) / 4^j.
    return float(np.exp(_log_gamma_ratio(np.array([float(j)]), 0.5, 1.0))[0] / np.sqrt(np.pi))


def _log_gamma_ratio(j: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    # lnGamma(j + a) - lnGamma(j + b); a difference of two lnGamma loses digits in proportion to j.
    if j[0] < _SINGLE_TERMS - 1:
        return np.asarray(gammaln(j + a) - gammaln(j + b))
    bends = (j + a - 0.5) * np.log1p(a / j) - (j + b - 0.5) * np.log1p(b / j)
    series = stirling_series(j + a) - stirling_series(j + b)
    return np.asarray((a - b) * (np.log(j) - 1.0) + bends + series)
