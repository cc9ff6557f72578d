"""Sums over very many whole numbers by a few: Gauss rules of the uniform measure on a block.

A sum of f(j) over the M integers of a block equals, for every polynomial f of degree below 2m, a
weighted sum over m nodes. The nodes are the zeros of the discrete Chebyshev (Gram) polynomials;
they lie inside the block and their weights are positive.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate

NODES = 16
"""Nodes per block; the series laws measure the error this leaves and report it."""

_LARGEST = 2**100


@lru_cache(maxsize=4096)
def block_rule(
    start: int, length: int, size: int = NODES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights with sum_j f(j) = sum_m w_m f(t_m) over start <= j < start + length.

    Exact for polynomials of degree below 2 `size`; a block of at most `size` integers is returned
    as it is, weights 1. Book: `thm-blocks`. `start` at least 0, `length` and `size` at least 1.

    >>> nodes, weights = block_rule(32, 1000, 5)
    >>> bool(abs(weights @ nodes**3 - sum(j**3 for j in range(32, 1032))) < 1e-2)
    True
    """
    first = _validate.integer("start", start, minimum=0, maximum=_LARGEST)
    count = _validate.integer("length", length, minimum=1, maximum=_LARGEST)
    nodes = _validate.integer("size", size, minimum=1)
    if count <= nodes:
        whole = np.arange(first, first + count, dtype=np.float64)
        return _validate.frozen(whole), _validate.frozen(np.ones(count))
    # Golub and Welsch: the three-term recurrence of the Gram polynomials as a symmetric matrix.
    degree = np.arange(1, nodes, dtype=np.float64)
    points = float(count)
    off = 0.5 * degree * np.sqrt((points - degree) * (points + degree) / (4 * degree**2 - 1))
    values, vectors = np.linalg.eigh(np.diag(off, 1) + np.diag(off, -1))
    centre = first + 0.5 * (points - 1.0)
    return _validate.frozen(centre + values), _validate.frozen(points * vectors[0] ** 2)


def block_nodes(
    start: int, stop: float, rate: float, sharpness: float = 8.0, size: int = NODES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights for the sum over the integers from `start` to at least `stop`.

    A block that begins at t has min(t, sharpness t^(3/2) / rate) integers: terms of the form
    p_j z^j with p_j of the exponential-of-root series at this `rate` are either spread over the
    scale t or, near their saddle, over t^(3/2) sqrt(2) / rate.
    """
    nodes, weights = [], []
    at = start
    while at <= stop:
        span = float(at) if rate <= 0 else min(float(at), sharpness * float(at) ** 1.5 / rate)
        length = size if span < 1.5 * size else int(span)
        block = block_rule(at, length, size)
        nodes.append(block[0])
        weights.append(block[1])
        at += length
    if not nodes:
        return np.zeros(0), np.zeros(0)
    return np.concatenate(nodes), np.concatenate(weights)
