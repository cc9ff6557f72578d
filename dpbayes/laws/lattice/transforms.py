"""Sums over noise vectors that add up to zero, as products of transforms read at zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 32


def zero_sum_means(
    columns: list[NDArray[np.float64]],
    steps: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    powers: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum over z with sum z = 0 of prod_i exp(log_weights + j columns[i]) at z_i.

    One value for each power j, shape (m,); `columns` and `log_weights` are over `steps`, -inf in a
    column marks steps that are impossible. The value of a circular convolution at 0 is the mean of
    the product of the transforms; the length leaves wrapped-around sums below e^-80 of the rest.
    Book: `thm-lattice-mean`.

    >>> steps = np.arange(-1, 2)
    >>> zero_sum_means([np.zeros(3)] * 2, steps, np.zeros(3), np.ones(1)).round(12)
    array([3.])
    """
    length = 1 << int(4 * steps.size - 1).bit_length()
    means = np.empty(powers.size)
    for first in range(0, powers.size, _BLOCK):
        block = powers[first : first + _BLOCK, None]
        product = np.ones((len(block), length // 2 + 1), dtype=np.complex128)
        for column in columns:
            finite = np.where(np.isfinite(column), column, -1e300)
            weights = np.where(np.isfinite(column), np.exp(log_weights + block * finite), 0.0)
            shifted = np.zeros((len(block), length))
            shifted[:, steps] = weights
            product *= np.fft.rfft(shifted, axis=1)
        means[first : first + _BLOCK] = np.fft.irfft(product, length, axis=1)[:, 0]
    return means
