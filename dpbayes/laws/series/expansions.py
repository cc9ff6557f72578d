"""Functions of the affinity written as short sums of its powers, with the error they make.

An expansion stands for f(z) = sum_m w_m z^(t_m) for 0 <= z < 1 together with the value at z = 1,
the true posterior itself, which takes what the sum leaves over. Its error is measured, not
assumed: it is a function of z alone, whatever the number of categories and records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.gauss_sums import NODES, block_nodes
from dpbayes.laws.series.weight_coefficients import log_coefficients

LAST = 42.0
"""What is smaller than e^-42 of the rest is left out."""

_LONGEST = 2.0**80
_GRID = 400


@dataclass(frozen=True)
class WeightExpansion:
    """exp(-rate sqrt(1 - z)) as sum_m exp(log_weights_m) z^(exponents_m), plus `atom` at z = 1.

    `slopes` are -rate d(ln w_m)/d(rate), for the mean of sqrt(1 - z). All weights are positive.
    Book: `thm-series`.
    """

    rate: float
    exponents: NDArray[np.float64]
    log_weights: NDArray[np.float64]
    slopes: NDArray[np.float64]
    atom: float

    def __post_init__(self) -> None:
        for name in ("exponents", "log_weights", "slopes"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))

    def errors(self, nearest: float, log_floor: float) -> tuple[float, float]:
        """Return the largest errors of weight and of distance times weight over all z.

        Errors at z = exp(-c), `nearest` <= c, are relative to w(z) + e^`log_floor`: if that is the
        mean weight over R (in units where the largest weight is 1), their double bounds the
        relative error of the sum of weights, and the absolute error of the mean distance.
        """
        c = np.geomspace(nearest, max(80.0, 2.0 * nearest), _GRID)
        roots = np.sqrt(-np.expm1(-c))
        # Both may lie far below the smallest float: only their ratio is formed.
        log_scale = np.logaddexp(-self.rate * roots, log_floor)
        terms = np.exp(self.log_weights - np.outer(c, self.exponents) - log_scale[:, None])
        exact = np.exp(-self.rate * roots - log_scale)
        weight = np.abs(terms.sum(axis=1) - exact)
        mean = np.abs(terms @ self.slopes / self.rate - roots * exact)
        return float(np.max(weight)), float(np.max(mean))


def expand_weight(
    rate: float, nearest: float, log_candidates: float, size: int = NODES
) -> WeightExpansion:
    """Return the expansion of exp(-rate sqrt(1 - z)) that serves every z <= exp(-nearest).

    `log_candidates` is the logarithm of the number of candidates: terms whose share of the
    partition function is below e^-42 even if every candidate had z = 1 are left out, at both ends.
    `size` is the number of nodes that stand for a block of terms.
    """
    lam = _validate.positive("rate", rate)
    gap = _validate.positive("nearest", nearest)
    depth = LAST + log_candidates
    start = _first_index(lam, depth)
    own = lam * float(np.sqrt(-np.expm1(-gap)))
    stop = min((LAST + min(own, log_candidates)) / gap, _LONGEST)
    exponents, counts = block_nodes(start, stop, lam, size=size)
    if exponents.size == 0:
        nothing = np.zeros(0)
        return WeightExpansion(lam, nothing, nothing, nothing, 1.0)
    logs, slopes = log_coefficients(lam, exponents)
    log_weights = logs + np.log(counts)
    atom = max(0.0, 1.0 - float(np.exp(log_weights).sum()))
    return WeightExpansion(lam, exponents, log_weights, slopes, atom)


def _first_index(rate: float, depth: float) -> int:
    # sum_{j<t} p_j <= exp(t c - rate sqrt(1 - e^-c)) for every c > 0 (Chernoff); the largest t for
    # which some c brings it below e^-depth.
    c = np.geomspace(1e-18, 40.0, 2000)
    with np.errstate(over="ignore"):
        best = float(np.max((rate * np.sqrt(-np.expm1(-c)) - depth) / c))
    return int(min(best, _LONGEST)) if best >= 1.0 else 0
