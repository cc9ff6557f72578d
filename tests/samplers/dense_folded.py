"""Folded noise without classes, symmetry or rounding that counts: a whole system, fifty digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from dpbayes.posteriors import compositions


def dense(n: int, k: int, epsilon: Fraction) -> tuple[NDArray[np.int64], Any, list[Any]]:
    """Return all rows, the table of all e^(-epsilon d), and their weights, mpmath numbers."""
    rows = compositions(n, k)
    with mpmath.workdps(50):
        q = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        apart = (np.abs(rows[:, None] - rows).sum(axis=2) // 2).tolist()
        table = mpmath.matrix([[q**d for d in row] for row in apart])
        return rows, table, list(mpmath.lu_solve(table, mpmath.ones(len(rows), 1)))
