"""The best answer to a noisy count when every data set is equally likely: Bayes' remap, k = 2.

The noisy count r of the truncated geometric mechanism says that the data were x with weight
e^(-epsilon |x - r|). The answer with the least expected distance need not be r.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity

LARGEST_WINDOW = 6_000
"""Counts whose distances are compared with one another; their square is the work."""

_TAIL = 46.0
_COLUMNS = 256
_TIE = 1e-12


@lru_cache(maxsize=64)
def best_answers(
    prior: tuple[float, float], n: int, epsilon: float, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best answer s to each noisy count r = low … high, and its expected distance.

    s minimises sum over x of e^(-epsilon |x - r|) H(x, s) over x, s in 0 … n; of equally good
    answers the one closest to r is taken. The expected distance is that sum over the sum of the
    weights. Data further than 46/epsilon from [low, high] weigh e^-46 and are left out; answers
    beyond those data are worse than the outermost of them, for H grows with the step. Book:
    `thm-count-certificate`, `lem-remap-local`. Raises ValueError when more than `LARGEST_WINDOW`
    counts matter.

    >>> best_answers((1.0, 1.0), 10, 0.1, 0, 10)[0]
    array([3, 3, 4, 4, 4, 5, 6, 6, 6, 7, 7])
    """
    reach = int(min(np.ceil(_TAIL / epsilon), n))
    first, last = max(low - reach, 0), min(high + reach, n)
    data = np.arange(first, last + 1)
    if data.size > LARGEST_WINDOW:
        raise ValueError(
            f"epsilon = {epsilon!r} with n = {n} records makes {data.size} counts matter; the "
            f"remap compares at most {LARGEST_WINDOW}"
        )
    inside = slice(low - first, high - first + 1)
    weights = smoothed(np.ones((data.size, 1)), epsilon)[inside, 0]
    best, answer = np.full(weights.size, np.inf), np.zeros(weights.size, dtype=np.int64)
    r = np.arange(low, high + 1)
    for start in range(0, data.size, _COLUMNS):
        tried = data[start : start + _COLUMNS]
        losses = smoothed(_distances(prior, n, data, tried), epsilon)[inside]
        for column, s in enumerate(tried):
            value = losses[:, column]
            closer = (value <= best * (1.0 + _TIE)) & (np.abs(s - r) < np.abs(answer - r))
            better = (value < best * (1.0 - _TIE)) | closer
            best, answer = np.where(better, value, best), np.where(better, s, answer)
    return _validate.frozen(answer), _validate.frozen(best / weights)


def answered(
    answers: NDArray[np.int64], n: int, log_probabilities: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return outputs (s, n - s) and their log-probabilities; `answers` (m,) never fall.

    Where every count 0 … n is noisy, every count is listed as an output, those that are no answer
    with probability 0.
    """
    listed = np.arange(n + 1) if answers.size == n + 1 else np.unique(answers)
    logs = np.full(listed.size, -np.inf)
    np.logaddexp.at(logs, np.searchsorted(listed, answers), log_probabilities)
    return np.column_stack((listed, n - listed)), logs


def best_candidates(table: NDArray[np.float64], losses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each output r the candidate s with the least sum over x of P[r | x] H(x, s).

    `table` P[r | x] and `losses` H(x, s) have shape (N, N); of equally good candidates the closest
    to r is taken, then the first.
    """
    expected = table.T @ losses
    tied = expected <= expected.min(axis=1, keepdims=True) * (1.0 + _TIE)
    return np.asarray(np.argmin(np.where(tied, losses, np.inf), axis=1))


def smoothed(values: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return sum over x of e^(-epsilon |x - r|) values[x] for all r, along the first axis."""
    from scipy.signal import lfilter

    q = np.exp(-epsilon)
    up = lfilter([1.0], [1.0, -q], values, axis=0)
    down = lfilter([1.0], [1.0, -q], values[::-1], axis=0)[::-1]
    return np.asarray(up + down - values)


def _distances(
    prior: tuple[float, float], n: int, data: NDArray[np.int64], answers: NDArray[np.int64]
) -> NDArray[np.float64]:
    # One column an answer: H between prior + (x, n - x) and prior + (s, n - s).
    result = np.empty((data.size, answers.size))
    for column, s in enumerate(answers):
        steps = (data - s).astype(np.float64)
        log_bc = affinity_by_step(prior[0] + s, steps) + affinity_by_step(prior[1] + n - s, -steps)
        result[:, column] = distance_from_log_affinity(np.minimum(log_bc, 0.0))
    return result
