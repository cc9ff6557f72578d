"""The fine grid on which real answers are computed and perturbed, in whole numbers only.

Adding floating-point Laplace noise leaks: the low digits of the sum tell the true answer apart.
Here coefficients are rounded once to multiples of 2^-32, the true answer and the noise are integers
on that grid, and the noise is a discrete Laplace variable drawn exactly from the operating system's
random bits. Nothing is rounded afterwards, so the privacy guarantee holds for the numbers returned.
The law differs from the continuous one of the inference by less than 2^-32 / scale. The question is
that with the rounded coefficients, whose answer differs by at most 2^-33 for each record counted.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, integer, positive
from dpbayes.queries import _arrays

GRID_BITS = 32
_LARGEST_COEFFICIENT = 2.0**20
_SMALLEST_SCALE = 2.0**-12
_LARGEST_SCALE = 2.0**40

Uniform = Callable[[int], int]


def on_grid(query: ArrayLike, cells: int) -> NDArray[np.float64]:
    """Return the query with its coefficients rounded to multiples of 2^-32.

    >>> on_grid([1.0, 0.5, 0.0], 3)
    array([1. , 0.5, 0. ])
    """
    coefficients = _arrays.query("query", query, cells)
    if np.any(np.abs(coefficients) > _LARGEST_COEFFICIENT):
        raise ValueError(
            f"query must have coefficients of at most {_LARGEST_COEFFICIENT:g} in absolute value, "
            f"got {float(np.abs(coefficients).max())!r}"
        )
    rounded = np.ldexp(np.rint(np.ldexp(coefficients, GRID_BITS)), -GRID_BITS)
    return frozen(_arrays.query("query", rounded, cells))


def true_answer(query: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """Return qx in units of the grid, without rounding."""
    cells = np.flatnonzero(query)
    units = np.ldexp(query[cells], GRID_BITS)
    return sum(int(u) * int(x) for u, x in zip(units, counts[cells], strict=True))


def scale_in_units(sensitivity: float, alpha: float) -> int:
    """Return the largest scale of at most S / alpha, in units of the grid, with 53 leading bits.

    Rounding down keeps the promised length of the interval; the budget that the rounded scale
    really costs, S / scale, is what is recorded and charged.

    >>> scale_in_units(1.0, 0.5) == 2 * 2**32
    True
    """
    wanted = positive("sensitivity", sensitivity) / positive("alpha", alpha)
    if not _SMALLEST_SCALE <= wanted <= _LARGEST_SCALE:
        raise ValueError(
            f"the noise scale must lie between {_SMALLEST_SCALE:g} and {_LARGEST_SCALE:g}, got "
            f"{wanted!r}; ask for a length that suits the query"
        )
    exact = Fraction(sensitivity) / Fraction(alpha)
    units = int(exact * 2**GRID_BITS)
    spare = max(0, units.bit_length() - 53)
    return units >> spare << spare


def as_float(units: int) -> float:
    """Return a number of grid units as a float, rounded to nearest.

    >>> as_float(3 * 2**31)
    1.5
    """
    return math.ldexp(float(units), -GRID_BITS)


def system_noise(scale: int) -> int:
    """Return a discrete Laplace integer of this scale, P(k) proportional to exp(-|k| / scale).

    The bits come from the operating system; there is no seed. For integers z, z' that differ by d
    and every set B, P[z + noise in B] <= e^(|d| / scale) P[z' + noise in B].
    """
    return discrete_laplace(scale, secrets.randbelow)


def discrete_laplace(scale: int, below: Uniform) -> int:
    """Return a discrete Laplace integer, given a source of uniform integers below a bound.

    Exact rejection with integers only: |k| = U + scale V with U uniform, kept with probability
    exp(-U / scale), and V geometric with ratio 1/e; minus zero is drawn again.

    Source: the sampler of Canonne, Kamath and Steinke (2020), section 5; own code.
    """
    t = integer("scale", scale, 1)
    while True:
        remainder = below(t)
        if not _bernoulli_exp(remainder, t, below):
            continue
        whole = 0
        while _bernoulli_exp(1, 1, below):
            whole += 1
        size = remainder + t * whole
        negative = below(2) == 1
        if negative and size == 0:
            continue
        return -size if negative else size


def _bernoulli_exp(numerator: int, denominator: int, below: Uniform) -> bool:
    """Return True with probability exp(-numerator / denominator), for a ratio in [0, 1].

    The first k at which a coin of probability ratio / k fails is odd with that probability.
    """
    k = 1
    while below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
