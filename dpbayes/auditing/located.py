"""Where the largest loss of an exponential mechanism can be, and its value there; two categories.

A bound that costs a few numbers for each pair of neighbours leaves out all pairs but those that
could hold the largest loss; these are computed completely, in the order of their bounds. What comes
out is the largest loss over all pairs. Book: `thm-located`, `thm-shifted`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.auditing.losses import Witness
from dpbayes.auditing.rows import Certificate, Rows, exponential_rows, score_rows
from dpbayes.auditing.score_tables import TwoCategories, two_categories
from dpbayes.auditing.shifted import offsets, shifted_bounds
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

LARGEST = 4_000_000
"""Most records; the bounds take about a hundred numbers each."""

_MOST_ENTRIES = 200_000_000  # of the rows of the pairs that are left: about ten seconds
_FINER = (None, 1.1, 1.03, 1.01)  # growths of offsets where the first bounds leave many pairs
_BEFORE_FINER = 8_000_000  # entries of rows that are computed before
_MOST_WEIGHTS = 60_000_000  # that are computed for one sharpening: some seconds
_ROUNDING = 1e-9
_SAME_LAW = 1e-9
_SMALLEST = -40.0  # logarithms of probabilities below this are not compared


@dataclass(frozen=True)
class _Side:
    """Bounds of the weights' sum on one side of each truth, the truth itself left out."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def loss_bounds(
    n: int,
    prior: NDArray[np.float64],
    rates: NDArray[np.float64],
    pairs: tuple[int, int] | None = None,
    growth: float | None = None,
) -> NDArray[np.float64]:
    """Return a bound on the loss, either way, of each pair x, x + 1 of first counts; shape (n,).

    With `pairs` only x from the first up to the second are taken. The weights are enclosed at
    offsets that grow by the factor `growth`, and by larger ones where it is left out.
    """
    return _bounds(two_categories(n, prior), rates, pairs or (0, n), growth)


def _bounds(
    table: TwoCategories,
    all_rates: NDArray[np.float64],
    pairs: tuple[int, int],
    growth: float | None,
) -> NDArray[np.float64]:
    first, last = pairs
    distance = np.sqrt(-np.expm1(table.steps(1, first, last)))
    rates = all_rates[first : last + 1]
    left, right = _sides(table, rates, first, growth)
    here, there = rates[:-1], rates[1:]
    # The share of outputs at x + 1 and beyond, drawn at x + 1; and of those up to x, drawn at x.
    beyond = 1.0 / (1.0 + left.low[1:] / (1.0 + right.high[1:]))
    before = 1.0 / (1.0 + right.low[:-1] / (1.0 + left.high[:-1]))
    low, high = np.log1p(left.low + right.low), np.log1p(left.high + right.high)
    rise, fall = np.maximum(there - here, 0.0), np.maximum(here - there, 0.0)
    forward = there * distance + rise
    forward += np.minimum(here * distance * beyond + fall, high[1:] - low[:-1])
    backward = here * distance + fall
    backward += np.minimum(there * distance * before + rise, high[:-1] - low[1:])
    return np.asarray(np.maximum(forward, backward) + _ROUNDING)


def located(mechanism: Any, n: int, prior: NDArray[np.float64]) -> tuple[Witness, Rows] | None:
    """Return the largest loss over all neighbours, and all rows, some compared with the law.

    None where the bounds leave too many pairs. `mechanism` is an exponential one that scores by the
    Hellinger distance, `prior` has two parameters.
    """
    rates = np.asarray(mechanism.rates(n, prior))
    table = two_categories(n, prior)
    bounds = _bounds(table, rates, (0, n), None)
    rows = exponential_rows(score_rows("hellinger", n, prior), rates)
    best, entries = Witness(rows.counts[0], rows.counts[0], rows.outputs[0], -1.0), 0
    finer = list(_FINER)
    done = np.zeros(n, dtype=bool)
    while True:
        x = int(np.argmax(np.where(done, -np.inf, bounds)))
        if done[x] or bounds[x] <= best.loss:
            compared = [n // 2, int(best.counts[0]), int(best.neighbour[0])]
            return best, replace(rows, certificate=_compared(mechanism, prior, rows, compared))
        if entries >= _BEFORE_FINER and finer:
            _sharpen(table, rates, bounds, best.loss, finer.pop(0))
            continue
        entries += 2 * (n + 1)
        if entries > _MOST_ENTRIES:
            return None
        done[x] = True
        losses = rows.row(x) - rows.row(x + 1)
        high, low = int(losses.argmax()), int(losses.argmin())
        for value, at, ends in ((losses[high], high, (x, x + 1)), (-losses[low], low, (x + 1, x))):
            if value > best.loss:
                pair = rows.counts[ends[0]], rows.counts[ends[1]]
                best = Witness(*pair, rows.outputs[at], float(value))


def _sharpen(
    table: TwoCategories,
    rates: NDArray[np.float64],
    bounds: NDArray[np.float64],
    reached: float,
    growth: float | None,
) -> None:
    """Lower the bounds that are above the loss reached, by bounds from shifted outputs.

    They are at the two ends of the range, or everywhere; one stretch is taken in each half, or all
    of them together. With a `growth` the weights are enclosed at more offsets.
    """
    n = bounds.size
    halves = [
        begin + np.flatnonzero(bounds[begin:end] > reached)
        for begin, end in ((0, n // 2), (n // 2, n))
    ]
    stretches = [(int(open_[0]), int(open_[-1]) + 1) for open_ in halves if open_.size]
    if 2 * sum(end - begin for begin, end in stretches) > n:
        stretches = [(0, n)]
    for pairs in stretches:
        if len(offsets(n, growth)) * (pairs[1] - pairs[0]) <= _MOST_WEIGHTS:
            some = slice(*pairs)
            found = shifted_bounds(table, rates, pairs, growth)
            if growth is not None:
                found = np.minimum(found, _bounds(table, rates, pairs, growth))
            bounds[some] = np.minimum(bounds[some], found)


def _compared(
    mechanism: Mechanism, prior: NDArray[np.float64], rows: Rows, chosen: list[int]
) -> Certificate:
    """Return by how much these rows differ from `.law`, at outputs near and far from each truth."""
    largest, n = 0.0, len(rows.counts) - 1
    for i in chosen:
        steps = np.append(0, 2 ** np.arange(n.bit_length()))
        places = np.unique(np.concatenate((i - steps, i + steps)))
        places = places[(places >= 0) & (places <= n)]
        ours = rows.row(i)[places]
        seen = ours > _SMALLEST
        theirs = np.log(
            mechanism.law(rows.counts[i], prior).probability(rows.outputs[places[seen]])
        )
        gap = float(np.max(np.abs(ours[seen] - theirs)))
        if not gap <= _SAME_LAW * -_SMALLEST:
            raise ArithmeticError(
                f"the audit of {mechanism.name} computed another law at counts "
                f"{rows.counts[i].tolist()} than its .law returns: log-probabilities differ by up "
                f"to {gap:.3g}"
            )
        largest = max(largest, gap)
    return Certificate(len(chosen), largest)


def applies(mechanism: Mechanism, n: int, k: int) -> bool:
    """Return whether the largest loss of a mechanism can be located by these bounds."""
    metric = getattr(mechanism, "metric", None)
    scored = own(mechanism, "rates") is not None and metric == "hellinger"
    return scored and k == 2 and n <= LARGEST


def _sides(
    table: TwoCategories, rates: NDArray[np.float64], first: int = 0, growth: float | None = None
) -> tuple[_Side, _Side]:
    """Return bounds of the sums of e^(-rate H) below and above the truths from `first` on.

    Weights fall on either side. So those of the counts from one offset up to the next lie between
    the weights at the two.
    """
    n, many = table.first.n, rates.size
    left, right = (_Side(np.zeros(many), np.zeros(many)) for _ in range(2))
    starts = offsets(n, growth)
    truths = first + np.arange(float(many))
    last = first + many
    for i, by in enumerate(starts):
        before = starts[i - 1] if i else 0
        size = (starts[i + 1] if i + 1 < len(starts) else n + 1) - by
        above, below = min(last, n + 1 - by), max(first, by)
        if first == 0 and last == n + 1:  # both sides need the same distances
            shared = np.sqrt(-np.expm1(table.steps(by)))
            found = [(right, first, above, shared), (left, below, last, shared)]
        else:
            found = [
                (side, begin, end, np.sqrt(-np.expm1(table.steps(by, begin - down, end - down))))
                for side, begin, end, down in ((right, first, above, 0), (left, below, last, by))
                if begin < end
            ]
        for side, begin, end, distances in found:
            where = slice(begin - first, end - first)
            further = n - truths[where] if side is right else truths[where]
            weights = np.exp(-rates[where] * distances)
            side.low[where] += (by - before) * weights
            side.high[where] += np.minimum(size, further - by + 1.0) * weights
    return left, right
