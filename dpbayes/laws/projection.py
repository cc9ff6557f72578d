"""From a noisy vector of whole numbers back to a histogram: non-negative, with the right total."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PROJECTIONS = ("l2", "l1")

_AT_ONCE = 1 << 16  # rows, so that what is sorted of millions takes no memory to speak of


def project(noisy: NDArray[np.int64], how: str = "l2", reuse: bool = False) -> NDArray[np.int64]:
    """Return the nearest histogram with the same total for each row of `noisy`, shape (N, k).

    Negative entries become 0. The d records this creates are taken away again from the others:
    "l2" lowers all of them to a common deficit (the least sum of squares in whole numbers; when
    the last round does not reach everybody, the largest entries pay), "l1" takes them from the
    largest entry, then the next. Both change d records, the least possible in l1; ties go to the
    earlier category, so the result is a function of the row alone. Rows must have a total of at
    least 0. Book: `def-projection`.

    >>> project(np.array([[-3, 5, 8]]))
    array([[0, 4, 6]])
    >>> project(np.array([[-3, 5, 8]]), "l1")
    array([[0, 5, 5]])
    """
    if noisy.size and int(noisy.min()) >= 0:
        return noisy
    result = noisy if reuse else noisy.copy()
    rows = np.flatnonzero((noisy < 0).any(axis=1))
    land = _level if how == "l2" else _drain_largest
    for first in range(0, rows.size, _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        result[some] = land(noisy[some])
    return result


def _drain_largest(noisy: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(-noisy, axis=1, kind="stable")
    ranked = np.take_along_axis(np.maximum(noisy, 0), order, axis=1)
    excess = np.maximum(-noisy, 0).sum(axis=1, keepdims=True)
    before = np.cumsum(ranked, axis=1) - ranked
    ranked -= np.clip(excess - before, 0, ranked)
    result = np.empty_like(noisy)
    np.put_along_axis(result, order, ranked, axis=1)
    return result


def _level(noisy: NDArray[np.int64]) -> NDArray[np.int64]:
    k = noisy.shape[1]
    total = noisy.sum(axis=1, keepdims=True)
    order = np.argsort(-noisy, axis=1, kind="stable")
    ranked = np.take_along_axis(noisy, order, axis=1)
    sizes = np.arange(1, k + 1)
    # With the s largest entries kept, everyone pays (their sum - total) / s; the right s is the
    # largest for which the smallest kept entry can pay it.
    gap = np.cumsum(ranked, axis=1) - total
    kept = k - np.argmax((ranked * sizes >= gap)[:, ::-1], axis=1)[:, None]
    debt = np.take_along_axis(gap, kept - 1, axis=1)
    share, extra = np.divmod(debt, kept)
    position = np.arange(k)
    paid = share + (position < extra)
    lowered = np.where(position < kept, ranked - paid, 0)
    result = np.empty_like(noisy)
    np.put_along_axis(result, order, lowered, axis=1)
    return result
