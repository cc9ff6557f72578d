"""Laws in ball arithmetic: an enclosure of ln P for every output, for k = 2 or a small n.

The counterparts of the mechanisms' laws in floats, written from the same definitions; audits use
them where a rounded number is not enough. Book: `thm-exact-candidates`, `thm-audit-complete`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.posteriors import compositions
from dpbayes.samplers.sensitivities import Enclosed

Balls = list[Any]


def ball(library: Any, number: Enclosed | Fraction) -> Any:
    """Return a ball around an enclosed number or a fraction."""
    if isinstance(number, Fraction):
        return library.arb(library.fmpq(number.numerator, number.denominator))
    return ball(library, number.low).union(ball(library, number.high))


def exponential(
    library: Any,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    epsilon: Fraction,
    factor: Fraction,
    sensitivity: Enclosed,
) -> Balls:
    """Return ln P[r], P proportional to e^(-epsilon H / (factor S)), for r in order of R."""
    n, truth = int(counts.sum()), counts.tolist()
    rate = ball(library, epsilon / factor) / ball(library, sensitivity)
    tables = [_affinities(library, float(a), int(x), n) for a, x in zip(prior, counts, strict=True)]
    weights = []
    for row in compositions(n, counts.size).tolist():
        if row == truth:
            weights.append(library.arb(0))
            continue
        log_bc = sum(table[r] for table, r in zip(tables, row, strict=True))
        weights.append(-rate * (-log_bc.expm1()).sqrt())
    total = sum((weight.exp() for weight in weights), library.arb(0)).log()
    return [weight - total for weight in weights]


def _affinities(library: Any, prior: float, count: int, n: int) -> Balls:
    grid = _log_gammas(library, prior, n, library.ctx.prec)
    return [grid[count + r] - (grid[2 * count] + grid[2 * r]) / 2 for r in range(n + 1)]


@lru_cache(maxsize=64)
def _log_gammas(library: Any, prior: float, n: int, precision: int) -> Balls:
    # lnGamma(prior + j/2) for j = 0 … 2n: all that psi needs.
    half = library.arb(1) / 2
    return [(library.arb(prior) + j * half).lgamma() for j in range(2 * n + 1)]


def rounded_laplace(
    library: Any, counts: NDArray[np.int64], rate: Fraction, nearest: bool
) -> Balls:
    """Return ln P[r] of clamp(round(x + Y)), Y ~ Laplace(1/rate), for r = 0 … n; k = 2."""
    n, x = int(counts.sum()), int(counts[0])
    below = Fraction(1, 2) if nearest else Fraction(0)  # round(y) = t for t - below <= y < ...
    speed = ball(library, rate)

    def tail(edge: Fraction) -> Any:  # P(Y >= |edge|)
        return (-speed * ball(library, abs(edge))).exp() / 2

    masses = []
    for r in range(n + 1):
        low, high = Fraction(r - x) - below, Fraction(r - x + 1) - below
        if n == 0:
            mass = library.arb(1)
        elif r == 0:
            mass = tail(high) if high <= 0 else 1 - tail(high)
        elif r == n:
            mass = tail(low) if low >= 0 else 1 - tail(low)
        elif low >= 0:
            mass = tail(low) - tail(high)
        else:
            mass = tail(high) - tail(low) if high <= 0 else 1 - tail(low) - tail(high)
        masses.append(mass.log())
    return masses


def two_counts(counts: NDArray[np.int64]) -> None:
    """Refuse counts that are not two: these laws are enclosed for two categories only."""
    if counts.size != 2:
        raise ValueError(f"prior must have 2 parameters for an enclosure, got {counts.size}")


def truncated_geometric(library: Any, counts: NDArray[np.int64], epsilon: Fraction) -> Balls:
    """Return ln P[r] of x + Z clamped to [0, n], P(Z = z) proportional to e^(-epsilon |z|)."""
    two_counts(counts)
    n, x = int(counts.sum()), int(counts[0])
    if n == 0:
        return [library.arb(0)]
    speed = ball(library, epsilon)
    ends = -((-speed).exp() + 1).log()
    inside = ends + (-(-speed).expm1()).log()
    return [-speed * abs(r - x) + (ends if r in (0, n) else inside) for r in range(n + 1)]
