"""Where the largest loss of an exponential mechanism can be, and its value there; two categories.

A bound that costs a few numbers for each pair of neighbours leaves out all pairs but those that
could hold the largest loss; these are computed completely, in the order of their bounds. What comes
out is the largest loss over all pairs. Book: `thm-located`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.auditing.losses import Witness
from dpbayes.auditing.rows import Certificate, Rows, exponential_rows, score_rows
from dpbayes.auditing.score_tables import TwoCategories, two_categories
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

LARGEST = 4_000_000
"""Most records; the bounds take about a hundred numbers each."""

_MOST_ENTRIES = 200_000_000  # of the rows of the pairs that are left: about ten seconds
_SINGLE, _FINE = 12, 200
_ROUNDING = 1e-9
_SAME_LAW = 1e-9
_SMALLEST = -40.0  # logarithms of probabilities below this are not compared


@dataclass(frozen=True)
class _Side:
    """Bounds of the weights' sum on one side of each truth, the truth itself left out."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def loss_bounds(
    n: int, prior: NDArray[np.float64], rates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a bound on the loss, either way, of each pair x, x + 1 of first counts; shape (n,)."""
    table = two_categories(n, prior)
    distance = np.sqrt(-np.expm1(table.steps(1)))
    left, right = _sides(n, table, rates)
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
    bounds = loss_bounds(n, prior, rates)
    rows = exponential_rows(score_rows("hellinger", n, prior), rates)
    best, entries = Witness(rows.counts[0], rows.counts[0], rows.outputs[0], -1.0), 0
    for x in np.argsort(-bounds, kind="stable"):
        if bounds[x] <= best.loss:
            compared = [n // 2, int(best.counts[0]), int(best.neighbour[0])]
            return best, replace(rows, certificate=_compared(mechanism, prior, rows, compared))
        entries += 2 * (n + 1)
        if entries > _MOST_ENTRIES:
            return None
        losses = rows.row(int(x)) - rows.row(int(x) + 1)
        high, low = int(losses.argmax()), int(losses.argmin())
        for value, at, ends in ((losses[high], high, (x, x + 1)), (-losses[low], low, (x + 1, x))):
            if value > best.loss:
                pair = rows.counts[ends[0]], rows.counts[ends[1]]
                best = Witness(*pair, rows.outputs[at], float(value))
    return best, rows


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


def _sides(n: int, table: TwoCategories, rates: NDArray[np.float64]) -> tuple[_Side, _Side]:
    """Return bounds of the sums of e^(-rate H) below and above each truth.

    Weights fall on either side. So those of the counts from one offset up to the next lie between
    the weights at the two, and one distance H(x, x + offset) serves both sides.
    """
    left, right = (_Side(np.zeros(n + 1), np.zeros(n + 1)) for _ in range(2))
    offsets = _offsets(n)
    room = np.arange(n + 1.0)
    for i, by in enumerate(offsets):
        before = offsets[i - 1] if i else 0
        size = (offsets[i + 1] if i + 1 < len(offsets) else n + 1) - by
        distances = np.sqrt(-np.expm1(table.steps(by)))
        inner = n + 1 - by
        ends = (
            (right, slice(0, inner), room[:inner][::-1]),
            (left, slice(by, n + 1), room[:inner]),
        )
        for side, where, further in ends:
            weights = np.exp(-rates[where] * distances)
            side.low[where] += (by - before) * weights
            side.high[where] += np.minimum(size, further + 1.0) * weights
    return left, right


def _offsets(n: int) -> list[int]:
    found = [1]
    while True:
        last = found[-1]
        growth = 1.0 if last < _SINGLE else 1.2 if last < _FINE else 2.0
        found.append(max(last + 1, int(growth * last)))
        if found[-1] > n:
            return found[:-1]
