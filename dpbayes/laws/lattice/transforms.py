"""Sums over noise vectors that add up to zero, as products of transforms read at zero."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

_BLOCK = 32
NUMBERS = 1 << 22  # in a block, so that long transforms take no memory to speak of


def zero_sum_means(
    columns: list[NDArray[np.float64]],
    steps: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    powers: NDArray[np.float64],
    log_scale: float = 0.0,
) -> NDArray[np.float64]:
    """Return the sum over z with sum z = 0 of prod_i exp(log_weights + j columns[i]) at z_i.

    One value for each power j, shape (m,), times e^log_scale; `columns` and `log_weights` are over
    `steps`, -inf in a column marks steps that are impossible. The weights are divided by their sum
    first, so that a product of thousands of columns stays in range. The value of a circular
    convolution at 0 is the mean of the product of the transforms; the length leaves wrapped-around
    sums below e^-80 of all weights. Book: `thm-lattice-mean`.

    >>> steps = np.arange(-1, 2)
    >>> zero_sum_means([np.zeros(3)] * 2, steps, np.zeros(3), np.ones(1)).round(12)
    array([3.])
    """
    means = np.empty(powers.size)
    total = float(logsumexp(log_weights))
    shares = log_weights - total
    length = 1 << int(max(4 * steps.size, _reach(shares, steps, len(columns))) - 1).bit_length()
    same = Counter(column.tobytes() for column in columns)  # equal shares: one transform for all
    different = [(np.frombuffer(column), times) for column, times in same.items()]
    rows = max(1, min(_BLOCK, NUMBERS // length))
    for first in range(0, powers.size, rows):
        block = powers[first : first + rows, None]
        product: NDArray[Any] = np.ones((1, 1))
        for column, times in different:
            finite = np.where(np.isfinite(column), column, 0.0)
            weights = np.where(np.isfinite(column), np.exp(shares + block * finite), 0.0)
            shifted = np.zeros((len(block), length))
            shifted[:, steps] = weights
            del weights
            transform = np.fft.rfft(shifted, axis=1)
            del shifted
            for _ in range(times):
                product = np.multiply(product, transform, out=product if product.size > 1 else None)
        means[first : first + rows] = np.fft.irfft(product, length, axis=1)[:, 0]
    return np.asarray(means * np.exp(log_scale + total * len(columns)))


def _reach(shares: NDArray[np.float64], steps: NDArray[np.int64], k: int) -> float:
    # Chernoff: sums of k steps beyond (k ln M(t) + 81) / t have together at most e^-81, each way.
    spread = np.sqrt(np.exp(shares) @ steps.astype(np.float64) ** 2) or 1.0
    tilts = np.sqrt(162.0 / k) / spread * np.geomspace(0.25, 1.0, 5)
    signed = logsumexp(shares + tilts[:, None] * steps, axis=1)
    mirrored = logsumexp(shares - tilts[:, None] * steps, axis=1)
    return float(((k * np.maximum(signed, mirrored) + 81.0) / tilts).min())
