"""The square root in the Hellinger distance as a short sum of powers of the affinity.

sqrt(1 - z) = 1 - sum over j >= 1 of c_j z^j with c_j = Gamma(j - 1/2) / (2 sqrt(pi) j!), all
positive with sum 1. So E[H] = sum_j c_j (1 - E[BC^j]), and BC^j is a product over the categories.
Terms j < 32 are taken one by one. Beyond, c_j is smooth in j: each block of j from 2^s to
2^(s+1) - 1 is replaced by a Gauss rule for the uniform measure on its whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpbayes.laws.gauss_sums import block_rule
from dpbayes.log_gamma import stirling_series

_SINGLE_TERMS = 32
_NODES = 16


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
