"""Laws on two categories that keep only the counts near the truth, and bound what they drop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity
from dpbayes.laws.finite import FiniteLaw, normalised

LARGEST_WINDOW = 300_000
"""Windows with more outputs than this are left to the series law, which is faster there."""

_DEPTH = 40.0
_ROUNDED = 1.0 + 1e-12  # so that a bound that is met is one in floats as well


def exponential_window(
    prior: NDArray[np.float64], counts: NDArray[np.int64], rate: float, exponent: float = 1.0
) -> FiniteLaw | None:
    """Return P[r] proportional to exp(-rate sqrt(1 - BC^exponent)) on the window that matters.

    k = 2. Kept are the outputs with rate * distance <= 40 + ln(n + 1): the distance grows on either
    side of x, so all others together weigh at most (n + 1) times the first one dropped, which
    bounds `mass_outside` by e^-40. Returns None when more than `LARGEST_WINDOW` outputs remain.
    Book: `thm-window`.
    """
    lam = _validate.positive("rate", rate)
    n, first = int(counts.sum()), int(counts[0])
    second = int(counts[1])

    def scores(steps: NDArray[np.float64]) -> NDArray[np.float64]:
        log_bc = affinity_of_counts(prior[0], first, first + steps)
        log_bc = log_bc + affinity_of_counts(prior[1], second, second - steps)
        return lam * distance_from_log_affinity(np.minimum(log_bc, 0.0), exponent)

    depth = _DEPTH + float(np.log1p(n))
    low = last_below(lambda d: float(scores(np.array([-float(d)]))[0]), first, depth)
    high = last_below(lambda d: float(scores(np.array([float(d)]))[0]), n - first, depth)
    if low + high + 1 > LARGEST_WINDOW:
        return None
    steps = np.arange(-low, high + 1)
    logs = -scores(steps.astype(np.float64))
    dropped = max(n - low - high, 0)
    edges = [scores(np.array([float(d)]))[0] for d in (-low - 1, high + 1) if 0 <= first + d <= n]
    kept = float(np.exp(logs).sum())
    outside = _ROUNDED * dropped * float(np.exp(-min(edges))) / kept if edges else 0.0
    outputs = np.column_stack((first + steps, n - first - steps))
    distances = None
    if exponent == 1.0:
        distances = -logs / lam
    return FiniteLaw(prior, counts, outputs, normalised(logs), outside, distances)


def last_below(value: Callable[[int], float], most: int, limit: float) -> int:
    """Return the last step in 0 … most whose value, increasing in the step, is at most `limit`."""
    if most == 0 or value(most) <= limit:
        return most
    low, high = 0, 1
    while high < most and value(high) <= limit:
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= limit else (low, middle)
    return low
