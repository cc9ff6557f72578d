"""What an exact audit takes, and refusals, before any work, that name what fits."""

from __future__ import annotations

from bisect import bisect_right
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dpbayes.mechanisms.capabilities import Timed, own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import check_candidates

LARGEST_TABLE = 30_000_000
"""Most log-probabilities of an audit of three or more categories: 240 MB, all in
memory.
"""

LARGEST_STREAM = (10**5 + 1) ** 2
"""Most log-probabilities of an audit of two categories, two rows at a time: n =
100,000.
"""

LONGEST = 10.0
"""Most processor seconds that a mechanism may say its audit takes."""


def check_size(n: int, k: int) -> None:
    """Raise ValueError when all laws of n records over k categories are too many to
    audit.

    N = C(n + k - 1, k - 1) data sets have N^2 log-probabilities: at most
    `LARGEST_STREAM` of them at k = 2, `LARGEST_TABLE` beyond.
    """
    check_candidates(
        n, k, isqrt(LARGEST_STREAM if k == 2 else LARGEST_TABLE), "an audit"
    )


def check_time(mechanism: Mechanism, n: int, k: int) -> None:
    """Raise ValueError, naming the n that fits, where an audit would take longer than
    `LONGEST` processor seconds.

    Only a mechanism that is `Timed` says how long it takes, and at k = 2 none takes
    long.
    """
    timed = own(mechanism, Timed)
    if timed is None or k == 2 or timed.audit_seconds(n, k) <= LONGEST:
        return
    fits = bisect_right(range(1, n), LONGEST, key=lambda m: timed.audit_seconds(m, k))
    allowed = f"at k = {k} n up to {fits}"
    if fits == 0:
        fewer = max(
            j for j in range(2, k) if j == 2 or timed.audit_seconds(1, j) <= LONGEST
        )
        allowed = f"no n at k = {k}; n = 1 fits up to k = {fewer}"
    raise ValueError(
        f"n = {n} records over k = {k} categories are too many for an exact audit of"
        f" {mechanism.name} at epsilon = {float(mechanism.epsilon):g}; it takes"
        f" {allowed}. audit_pair compares two data sets"
    )


def check_entries(
    mechanism: Mechanism, outputs: int, counts: NDArray[np.int64]
) -> None:
    """Raise ValueError where the log-probabilities of all data sets are too many.

    `outputs` M for each of the N rows of `counts`, 8 M N bytes; limits as in
    `check_size`.
    """
    limit = LARGEST_STREAM if counts.shape[1] == 2 else LARGEST_TABLE
    if outputs * len(counts) > limit:
        raise ValueError(
            f"{mechanism.name} has {outputs} outputs for each of {len(counts)} data"
            f" sets, {outputs * len(counts) * 8 / 1e9:.3g} GB of probabilities; an"
            f" audit takes {limit * 8 / 1e9:.3g} GB: use fewer records"
        )
