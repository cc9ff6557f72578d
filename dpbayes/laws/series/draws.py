"""Exact draws of counts with probability proportional to a power of the affinity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.inversion import steps_at
from dpbayes.laws.series.candidate_sums import AffinitySums

_LARGEST_BATCH = 2_000_000


def constrained_steps(
    rng: np.random.Generator, sums: AffinitySums, exponent: float, size: int
) -> NDArray[np.int64]:
    """Return `size` draws of steps d (k,) with sum 0 and P proportional to BC(x, x + d)^exponent.

    All categories but the widest are drawn independently from their tilted factors, the widest
    takes what is missing and is accepted with its own factor over the largest: about one in
    sqrt(k) is. Book: `thm-exact-samples`.
    """
    if exponent == 0.0:
        n, k = int(sums.counts.sum()), sums.counts.size
        return uniform_histograms(rng, n, k, size) - sums.counts
    factors, rows = sums.factors(exponent), sums.windows().rows
    peaks = factors.masses.max(axis=1)
    last = int(np.argmin(peaks[rows]))
    accept = factors.masses[rows[last]] / peaks[rows[last]]
    cumulative = np.cumsum(factors.masses, axis=1)
    found: list[NDArray[np.int64]] = []
    missing, rate = size, 1.0 / np.sqrt(rows.size)
    while missing > 0:
        batch = min(int(1.2 * missing / rate) + 20, max(_LARGEST_BATCH // rows.size, 20))
        steps = _independent(rng, cumulative, rows, last, batch) - factors.down
        steps[:, last] = 0
        steps[:, last] = -steps.sum(axis=1)
        place = steps[:, last] + factors.down
        inside = (place >= 0) & (place < accept.size)
        chance = np.where(inside, accept[np.clip(place, 0, accept.size - 1)], 0.0)
        kept = steps[rng.random(batch) < chance][:missing]
        found.append(kept)
        missing -= len(kept)
        rate = max(0.5 * rate, len(kept) / batch, 1e-6)
    return np.concatenate(found)


def _independent(
    rng: np.random.Generator,
    cumulative: NDArray[np.float64],
    rows: NDArray[np.int64],
    last: int,
    batch: int,
) -> NDArray[np.int64]:
    places = np.zeros((batch, rows.size), dtype=np.int64)
    for category, row in enumerate(rows):
        if category != last:
            levels = rng.random(batch) * cumulative[row, -1]
            places[:, category] = steps_at(cumulative[row], levels)
    return np.asarray(np.minimum(places, cumulative.shape[1] - 1))


def uniform_histograms(rng: np.random.Generator, n: int, k: int, size: int) -> NDArray[np.int64]:
    """Return histograms of n records over k categories drawn uniformly, shape (size, k).

    A multinomial whose probabilities are uniform on the simplex gives each histogram the same
    probability 1/C(n+k-1, k-1).
    """
    proportions = rng.dirichlet(np.ones(k), size)
    return np.asarray(rng.multinomial(n, proportions), dtype=np.int64)
