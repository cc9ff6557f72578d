"""Sums over noise vectors that add up to zero, as products of transforms read at zero."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.special import logsumexp

_BLOCK = 32
NUMBERS = 1 << 22  # in a block, so that long transforms take no memory to speak of
_NOTHING = 60.0  # steps whose weights are e^-60 of the largest
_WRAPPED = 40.0  # e^-40 of what is returned may be sums that wrap around
_TILTS = np.geomspace(0.05, 1.0, 16)


def zero_sum_means(
    columns: list[NDArray[np.float64]],
    steps: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    powers: NDArray[np.float64],
    log_scale: float = 0.0,
) -> NDArray[np.float64]:
    """Return the sum over z with sum z = 0 of prod_i exp(log_weights + j columns[i]) at z_i.

    One value for each power j, shape (m,), times e^log_scale; `columns`, which are at most 0, and
    `log_weights` are over successive `steps`, -inf in a column marks steps that are impossible.
    The weights are divided by their sum first, so that a product of thousands of columns stays in
    range. The value of a circular convolution at 0 is the mean of the product of the transforms.
    Powers are taken in blocks, with the steps and the length that the least of each block needs:
    sums that wrap around add less than e^-40. Book: `thm-lattice-mean`.

    >>> steps = np.arange(-1, 2)
    >>> zero_sum_means([np.zeros(3)] * 2, steps, np.zeros(3), np.ones(1)).round(12)
    array([3.])
    """
    means = np.empty(powers.size)
    total = float(logsumexp(log_weights))
    shares = log_weights - total
    scale = log_scale + total * len(columns)
    same = Counter(column.tobytes() for column in columns)  # equal shares: one transform for all
    different = [(np.frombuffer(column), times) for column, times in same.items()]
    highest = np.max([column for column, _ in different], axis=0)
    order, first = np.argsort(powers, kind="stable"), 0
    while first < powers.size:
        most = shares + _times(float(powers[order[first]]), highest)
        felt = np.flatnonzero(most > most.max() - _NOTHING)
        near = slice(felt[0], felt[-1] + 1)
        asked = max(steps[near].size, _reach(most[near], steps[near], len(columns), scale))
        length = next_fast_len(math.ceil(asked), real=True)
        block = order[first : first + max(1, min(_BLOCK, NUMBERS // length))]
        product: NDArray[Any] = np.ones((1, 1))
        for column, times in different:
            padded = np.zeros((block.size, length))
            padded[:, steps[near]] = np.exp(
                shares[near] + _times(powers[block, None], column[near])
            )
            transform = np.fft.rfft(padded, axis=1)
            del padded
            for _ in range(times):
                product = np.multiply(product, transform, out=product if product.size > 1 else None)
        means[block] = np.fft.irfft(product, length, axis=1)[:, 0]
        first += block.size
    return np.asarray(means * np.exp(scale))


def _times(powers: float | NDArray[np.float64], column: NDArray[np.float64]) -> NDArray[Any]:
    """Return powers of a column; what is impossible stays so at the power 0 as well."""
    finite = np.isfinite(column)
    return np.where(finite, powers * np.where(finite, column, 0.0), -np.inf)


def _reach(most: NDArray[np.float64], steps: NDArray[np.int64], k: int, scale: float) -> float:
    # Chernoff: sums of k steps beyond (k ln M(t) + scale + 40) / t have together at most e^-40
    # of what is returned, each way, M(t) of the largest weights.
    middle = logsumexp(most)
    spread = np.sqrt(np.exp(most - middle) @ steps.astype(np.float64) ** 2) or 1.0
    tilts = np.sqrt(2.0 * max(scale + k * middle + _WRAPPED, _WRAPPED) / k) / spread * _TILTS
    sides = [logsumexp(most + sign * tilts[:, None] * steps, axis=1) for sign in (1.0, -1.0)]
    return float(((k * np.maximum(*sides) + scale + _WRAPPED) / tilts).min())
