"""Exact noise for real answers: whole numbers on a fine grid, from the system's random
bits.

The low digits of floating-point Laplace noise betray the true answer. Here both are
whole numbers on a grid of 2^-128, drawn exactly, and nothing is rounded afterwards: the
guarantee holds for the numbers returned. Coefficients below 2^-75 are rounded, which
moves an answer by less than 2^-56.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, integer, positive
from dpbayes.samplers.bits import SystemBits
from dpbayes.samplers.whole_numbers import two_sided_geometric
from dpbayes.tables.inference import coefficients

GRID_BITS = 128
_COARSE_BITS = 32  # scales are multiples of 2^-32
_LARGEST_COEFFICIENT = 2.0**20
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-12, 2.0**40
_LARGEST = int(LARGEST_SCALE) << GRID_BITS


def on_grid(query: ArrayLike, cells: int) -> NDArray[np.float64]:
    """Return the query with its coefficients as multiples of 2^-128: changed only below
    2^-75.
    """
    asked = coefficients("query", query, cells)
    largest = float(np.abs(asked).max())
    if largest > _LARGEST_COEFFICIENT:
        most = f"at most {_LARGEST_COEFFICIENT:g} in absolute value"
        raise ValueError(f"query must have coefficients of {most}, got {largest!r}")
    rounded = np.ldexp(np.rint(np.ldexp(asked, GRID_BITS)), -GRID_BITS)
    return frozen(coefficients("query", rounded, cells))


def true_answer(query: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """Return qx in units of the grid, without rounding."""
    cells = np.flatnonzero(query)
    units = np.ldexp(query[cells], GRID_BITS)
    return sum(int(u) * int(x) for u, x in zip(units, counts[cells], strict=True))


def scale_in_units(S: float, alpha: float) -> int:
    """Return the largest multiple of 2^-32 of at most S / alpha with 53 bits, in units
    of the grid.

    Rounding down keeps the promised length; charged is what the rounded scale really
    costs.
    """
    wanted = positive("S", S) / positive("alpha", alpha)
    if not SMALLEST_SCALE <= wanted <= LARGEST_SCALE:
        raise ValueError(
            f"length must need a noise scale between {SMALLEST_SCALE:g} and"
            f" {LARGEST_SCALE:g}, got one that needs {wanted:.3g}; ask for a length"
            " that suits the query"
        )
    coarse = int(Fraction(S) / Fraction(alpha) * 2**_COARSE_BITS)
    spare = max(0, coarse.bit_length() - 53)
    return coarse >> spare << spare << (GRID_BITS - _COARSE_BITS)


def as_float(units: int) -> float:
    """Return a number of grid units as a float, rounded to nearest."""
    return math.ldexp(float(units), -GRID_BITS)


def system_noise(scale: int) -> int:
    """Return k with probability proportional to exp(-|k| / scale), from the system's
    random bits.

    For integers z, z' that differ by d and sets B, P[z + k in B] <= e^(|d| / scale)
    P[z' + k in B].
    """
    return two_sided_geometric(
        SystemBits(), Fraction(1, integer("scale", scale, 1, _LARGEST))
    )
