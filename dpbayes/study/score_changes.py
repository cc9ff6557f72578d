"""How scores and smooth sensitivities change when one record is replaced, checked one by one.

What D shows by a picture (the score changes most at the true posterior) or proves (Theorem 4.1) is
computed here over every candidate and every neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.rows import score_rows
from dpbayes.laws.metrics import Yardstick, metric_function
from dpbayes.posteriors import compositions, neighbours
from dpbayes.sensitivity import local_sensitivity, profile, smooth_sensitivity


def score_changes(
    counts: ArrayLike, prior: ArrayLike, metric: Yardstick = "hellinger"
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all candidates (N, k) and the largest change of the score of each, shape (N,).

    The change of r is the maximum over neighbours x' of |H(BI(x), r) - H(BI(x'), r)|; by the
    triangle inequality it is largest at r = BI(x). Source: D, section 7.1 and Figure 2, C, Figure
    1; book: `thm-local-at-truth`. `counts` hold at least one record.

    >>> outputs, changes = score_changes([2, 1], [1, 1])
    >>> float(changes.max()) == float(changes[(outputs == [2, 1]).all(axis=1)][0])
    True
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    distance = metric_function(metric)
    outputs = compositions(int(x.sum()), x.size)
    own = distance(alpha + x, alpha + outputs)
    moved = [np.abs(own - distance(alpha + y, alpha + outputs)) for y in neighbours(x)]
    return outputs, np.asarray(np.max(moved, axis=0))


@dataclass(frozen=True)
class Steepest:
    """The largest 1/S(x) - 1/S(x') over neighbours, and a pair (x, x') that attains it."""

    value: float
    witness: tuple[tuple[int, ...], tuple[int, ...]]


def steepest_smooth_change(
    n: int, prior: ArrayLike, gamma: float = 1.0, metric: Yardstick = "hellinger"
) -> Steepest:
    """Return the largest change of 1/S over all neighbouring histograms of n records.

    Theorem 4.1 of D says that it is at most gamma. Book: `thm-smooth-change`. For k = 2 all
    histograms cost O(n); beyond, every histogram is enumerated, so keep n small.

    >>> steepest_smooth_change(100, [1, 1]).value <= 1.0
    True
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior)
    if alpha.size == 2:
        return _along_counts(1.0 / profile(size, alpha, True, gamma, metric=metric), size)
    best = Steepest(-np.inf, ((), ()))
    for x in compositions(size, alpha.size):
        here = 1.0 / smooth_sensitivity(x, alpha, gamma, metric=metric).value
        for y in neighbours(x):
            change = here - 1.0 / smooth_sensitivity(y, alpha, gamma, metric=metric).value
            if change > best.value:
                best = Steepest(float(change), (_plain(x), _plain(y)))
    return best


def _along_counts(inverse: NDArray[np.float64], n: int) -> Steepest:
    changes = np.diff(inverse)
    at = int(np.argmax(np.abs(changes)))
    low, high = (at, n - at), (at + 1, n - at - 1)
    return Steepest(float(abs(changes[at])), (high, low) if changes[at] > 0 else (low, high))


def prior_splits(
    counts: ArrayLike, prior: ArrayLike
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the pairs of counts and even prior that share a posterior, the given pair among them.

    The prior's total, rounded down to an even number, is split over the categories in positive even
    numbers; a split counts when it leaves whole counts of at least 0 in every category. Source: D,
    Figure 2, which states the posterior and not the prior.

    >>> [prior.tolist() for _, prior in prior_splits([3, 3, 3], [2, 2, 4])]
    [[2.0, 2.0, 4.0], [2.0, 4.0, 2.0], [4.0, 2.0, 2.0]]
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    posterior = x + alpha
    splits = 2.0 * compositions(int(alpha.sum()) // 2, x.size)
    left = posterior - splits
    whole = np.all((splits > 0) & (left >= 0) & (left == np.floor(left)), axis=1)
    pairs = [(posterior - s, s) for s in splits[whole]]
    if not any(np.array_equal(s, alpha) for _, s in pairs):
        pairs = [(x.astype(float), alpha), *pairs]
    return [(rest.astype(np.int64), s) for rest, s in pairs]


def _plain(counts: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(c) for c in counts)


def shortcut_excess(counts: ArrayLike, prior: ArrayLike, metric: Yardstick = "hellinger") -> float:
    """Return by how much some candidate's score changes more than the true posterior's.

    The largest entry of :func:`score_changes` minus the closed form of the local sensitivity; zero
    up to rounding, because the distance is a metric. Book: `thm-local`.

    >>> abs(shortcut_excess([30, 10, 10], [8, 4, 4])) < 1e-12
    True
    """
    _, changes = score_changes(counts, prior, metric)
    return float(changes.max()) - local_sensitivity(counts, prior, metric).value


def span_of_change(n: int, prior: ArrayLike) -> float:
    """Return the largest span over r of H(x, r)/LS(x) - H(x', r)/LS(x'), over all neighbours.

    Where it is at most 2, expMech-local is epsilon-DP for these n and this prior at every epsilon:
    its loss is at most epsilon/2 times the span. k = 2, with O(n^2) distances. Book: `thm-span`.

    >>> round(span_of_change(100, [1, 1]), 9), round(span_of_change(100, [0.1, 0.1]), 4)
    (2.0, 2.1274)
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    sensitivities = profile(size, alpha, False)
    before, widest = None, 0.0
    for distances, sensitivity in zip(
        score_rows("hellinger", size, alpha), sensitivities, strict=True
    ):
        score = distances / sensitivity
        if before is not None:
            widest = max(widest, float(np.ptp(score - before)))
        before = score
    return widest
