"""An exact draw from an exponential mechanism: ball arithmetic decides, more bits when it cannot.

The candidates' weights e^(-rate H) are irrational, so no finite computation holds them. Interval
("ball") arithmetic encloses them, a uniform number is known to as many bits as were drawn, and
the choice is made once the enclosures leave no doubt. Book: `thm-exact-candidates`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.counts import draw_count
from dpbayes.samplers.histograms import draw_histogram

LARGEST = 200_000
"""Candidate sets above this are refused where all have to be visited in a random order."""

LARGEST_LISTED = 500
"""Up to this many candidates a list is faster than steps above a mixture."""

FIRST_PRECISION = 128
BITS = 8


def flint() -> Any:
    """Return the module of ball arithmetic, or say how to get it."""
    try:
        import flint as module
    except ImportError as error:
        raise ImportError(
            "a release of an exponential mechanism needs ball arithmetic: install python-flint, "
            "for example as the extra dpbayes[release]"
        ) from error
    return module


def check_size(counts: NDArray[np.int64]) -> None:
    """Refuse candidate sets above `LARGEST`."""
    n, k = int(counts.sum()), counts.size
    size = number_of_candidates(n, k)
    if size > LARGEST:
        raise ValueError(
            f"n = {n} records over k = {k} categories have {size} candidates; a release that "
            f"visits them in a random order takes at most {LARGEST}, use lattice instead"
        )


def draw_candidate(
    source: BitSource, counts: NDArray[np.int64], prior: NDArray[np.float64], rate: Fraction
) -> NDArray[np.int64]:
    """Return r in R with probability exactly proportional to e^(-rate H(BI(x), BI(r))).

    Small sets are listed. Beyond, nothing is, whatever n and k are: `dpbayes.samplers.counts` draws
    at two categories, `dpbayes.samplers.histograms` at more.
    """
    library = flint()
    if counts.size == 2:
        return draw_count(source, library, counts, prior, rate)
    if number_of_candidates(int(counts.sum()), counts.size) > LARGEST_LISTED:
        return draw_histogram(source, library, counts, prior, rate)
    candidates = compositions(int(counts.sum()), counts.size)
    precision, known, bits = FIRST_PRECISION, 0, 0
    while True:
        with library.ctx.workprec(precision):
            ladder = _cumulative(library, candidates, counts, prior, rate)
            while 2 * bits < precision:
                known, bits = (known << BITS) | source.bits(BITS), bits + BITS
                chosen = settled(library, ladder, known, bits)
                if chosen is not None:
                    return np.asarray(candidates[chosen])
        precision *= 2


def settled(library: Any, ladder: list[Any], known: int, bits: int) -> int | None:
    """Return the choice by a uniform number in [known, known + 1] / 2^bits, or None if it is open.

    `ladder` are balls around the sums of the first weights. Book: `thm-exact-candidates`.
    """
    # Comparisons of balls are true only when they hold for all points in them.
    unit = library.fmpq(1, 1 << bits)
    low, high = ladder[-1] * (known * unit), ladder[-1] * ((known + 1) * unit)
    first, last = 0, len(ladder) - 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if high < ladder[middle] else (middle + 1, last)
    above = bool(high < ladder[first]) or first == len(ladder) - 1
    below = first == 0 or bool(ladder[first - 1] < low)
    return first if above and below else None


def _cumulative(
    library: Any,
    candidates: NDArray[np.int64],
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    rate: Fraction,
) -> list[Any]:
    tables = affinity_tables(library, counts, prior)
    truth = counts.tolist()
    total = library.arb(0)
    ladder = []
    for row in candidates.tolist():
        total = total + (1 if row == truth else weight(library, tables, row, rate))
        ladder.append(total)
    return ladder


def weight(library: Any, tables: list[list[Any]], row: list[int], rate: Fraction) -> Any:
    """Return an enclosure of e^(-rate H) for a candidate that is not the truth."""
    speed = library.arb(library.fmpq(rate.numerator, rate.denominator))
    log_bc = sum(table[r] for table, r in zip(tables, row, strict=True))
    return (-speed * (-log_bc.expm1()).sqrt()).exp()


def affinity_tables(
    library: Any, counts: NDArray[np.int64], prior: NDArray[np.float64]
) -> list[list[Any]]:
    """Return enclosures of psi for every category and every released count 0 … n."""
    n = int(counts.sum())
    return [_affinities(library, float(prior[i]), int(counts[i]), n) for i in range(counts.size)]


def _affinities(library: Any, prior: float, count: int, n: int) -> list[Any]:
    # psi(a, b) = lnGamma((a + b)/2) - (lnGamma(a) + lnGamma(b))/2 with a = prior + count and
    # b = prior + r; the digits that cancel are far fewer than the precision carries.
    half = library.arb(1) / 2
    exact = library.arb(prior)
    own = [(exact + r).lgamma() * half for r in range(n + 1)]
    between = [(exact + (count + r) * half).lgamma() for r in range(n + 1)]
    return [between[r] - own[count] - own[r] for r in range(n + 1)]
