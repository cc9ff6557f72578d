"""How good a private answer about two categories can be: proofs for each n, epsilon and prior.

A lower bound on the mean distance of every epsilon-DP mechanism that answers with a histogram comes
from one number v(x) for each data set. Whether these numbers are allowed is decided exactly by a
recursion along the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.geometric import best_answers
from dpbayes.mechanisms.optimum import distance_table

LARGEST = 3_000
"""Most records; all distances between counts are kept."""

LEAST_EPSILON = 1e-9
"""Least epsilon; below it the bound is lost to rounding."""


@dataclass(frozen=True)
class Certificate:
    """Bounds on the least mean distance over all data sets of n records, k = 2, histograms out.

    `attained` is the mean of the remapped geometric mechanism; no epsilon-DP mechanism that
    answers with histograms has a mean below `lower`. `answers` (n + 1,) is the remap.
    """

    attained: float
    lower: float
    answers: NDArray[np.int64]

    @property
    def gap(self) -> float:
        """`attained` over `lower`, less 1."""
        return self.attained / self.lower - 1.0


def certificate(n: int, epsilon: float, prior: ArrayLike = (1.0, 1.0)) -> Certificate:
    """Return what the remapped geometric mechanism attains, and a proved lower bound for all.

    Every data set (x, n - x), x = 0 … n, has the same weight. Book: `thm-count-certificate`. `n`
    in 1 … `LARGEST`, `epsilon` at least `LEAST_EPSILON`, `prior` of shape (2,). Rounding lowers the
    bound by a part of about n 1e-16 / epsilon.

    >>> found = certificate(40, 0.02)
    >>> round(found.attained, 6), found.gap < 1e-12
    (0.715845, True)
    """
    size, budget = _validate.integer("n", n, minimum=1), _validate.positive("epsilon", epsilon)
    if size > LARGEST:
        raise ValueError(f"n must be at most {LARGEST} for a certificate, got {n!r}")
    if budget < LEAST_EPSILON:
        raise ValueError(
            f"epsilon must be at least {LEAST_EPSILON:g} for a certificate, got {epsilon!r}"
        )
    alpha = _validate.prior("prior", prior, 2)
    answers, expected = best_answers((float(alpha[0]), float(alpha[1])), size, budget, 0, size)
    losses = distance_table(size, alpha)
    q = float(np.exp(-budget))
    kernel_sums = _kernel(np.ones(size + 1), q)
    prices = _inverse_kernel(expected * kernel_sums, q)
    # Lowering every price by t adds t sum(u) >= t u(s) to the value of a column.
    shift = max(0.0, -float(least_columns(losses - prices[:, None], q).min()))
    # Noisy counts at the ends stand for all beyond them.
    parts = np.full(size + 1, np.tanh(0.5 * budget))
    parts[[0, -1]] = 1.0 / (1.0 + q)
    attained = float((parts * kernel_sums) @ expected) / (size + 1)
    lower = float(prices.sum()) / (size + 1) - shift
    return Certificate(attained, min(lower, attained), answers)


def least_columns(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Return min over u of sum_x u(x) values[x, s], for each s; `values` has shape (m, m).

    u runs over the vectors with q <= u(x+1)/u(x) <= 1/q and u(s) = 1. Given u(x+1), the best
    continuation beyond it is u(x+1) V(x+1); so V(x) = values(x) + q V(x+1) where V(x+1) >= 0 and
    values(x) + V(x+1)/q where it is negative. The same from the other side.

    >>> least_columns(np.array([[0.0, 2.0], [1.0, -1.0]]), 0.5)
    array([0.5, 0. ])
    """
    after = _continued(values[::-1], q)[::-1]
    before = _continued(values, q)
    return np.asarray(np.diagonal(before + after - values))


def _continued(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    # Column s is needed down to row s only; past it a division by q may overflow.
    result = np.empty_like(values)
    best = result[0] = values[0]
    for i in range(1, len(values)):
        best = values[i] + np.where(best >= 0.0, q * best, best / q)
        best = np.clip(best, -1e200, None)
        result[i] = best
    return result


def _kernel(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    at = np.arange(values.size)
    return np.asarray(q ** np.abs(at[:, None] - at) @ values)


def _inverse_kernel(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    # The inverse of (q^|x - r|) is tridiagonal.
    scaled = (1.0 + q * q) * values
    scaled[[0, -1]] -= q * q * values[[0, -1]]
    scaled[1:] -= q * values[:-1]
    scaled[:-1] -= q * values[1:]
    return np.asarray(scaled / (1.0 - q * q))
