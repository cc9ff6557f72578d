"""Folded noise with plateaus, and then the best answer to what it said.

Three categories. Near an edge the noise says more often than is likely that a count is zero or
small; whoever knows the law of the noise answers with a better histogram.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.simplex import Simplex, ring
from dpbayes.study.simplex_plateaus import Plateaus
from dpbayes.study.simplex_segments import apart
from dpbayes.study.simplex_windows import inside_of

Numbers = NDArray[np.int64]

_LOOKED, _COUNTED = 8.0, 24.0  # windows go so many times 1/epsilon: to choose, and for the mean
_BLOCK = 1_000_000  # distances formed at a time
_STEPS = 40  # most steps from what was said to its answer
_MOVES = ring(3, 1)


@dataclass(frozen=True)
class Answered:
    """What is answered where the noise says s: with a plateau, and without.

    `points`, `flats` (M, 3) are the answers to the row s of each class, `mean` is an upper bound on
    the mean distance over all data.
    """

    points: Numbers
    flats: Numbers
    mean: float


def answered(space: Simplex, epsilon: float, found: Plateaus) -> Answered:
    """Return better answers to what folded noise with plateaus says, and their mean distance.

    The answer a to s has a small sum over x of e^(-epsilon d(x, s)) H(x, a), with P_s in the place
    of s for a plateau: no histogram one replaced record from a has a smaller one in a window around
    s. A better answer to what an epsilon-private mechanism says is epsilon-private. Data beyond a
    wider window are charged the distance 1. Book: `thm-plateaus-answered`.

    >>> from dpbayes.study.simplex import simplex
    >>> from dpbayes.study.simplex_plateaus import plateaus
    >>> space = simplex(40)
    >>> noise = plateaus(space, 0.5)
    >>> round(noise.mean, 4), round(answered(space, 0.5, noise).mean, 4)
    (0.4694, 0.4555)
    """
    size = len(space.rows)
    none = np.zeros(size, dtype=np.int64)
    answers, total = [], np.zeros(size)
    for weights, half in (found.points, none), (found.flats, found.half):
        one = space.rows.copy()
        for wide in np.unique(half[weights > 0.0]):
            at = np.flatnonzero((half == wide) & (weights > 0.0))
            one[at] = _best(space, epsilon, at, 2 * int(wide))
            cost = _costs(space, epsilon, at, one[at][:, None], 2 * int(wide), _COUNTED)[:, 0]
            total[at] += weights[at] * (cost + _beyond(space, epsilon, 2 * int(wide)))
        answers.append(one)
    return Answered(answers[0], answers[1], space.mean(total))


def _best(space: Simplex, epsilon: float, at: Numbers, length: int) -> Numbers:
    # One record is replaced in the answer as long as that costs less.
    best, live = space.rows[at].copy(), np.arange(at.size)
    for _ in range(_STEPS):
        tried = best[live][:, None] + np.vstack([np.zeros((1, 3), dtype=np.int64), _MOVES])
        inside = (tried >= 0).all(axis=2)
        costs = _costs(space, epsilon, at[live], np.clip(tried, 0, space.n), length, _LOOKED)
        chosen = np.where(inside, costs, np.inf).argmin(axis=1)
        best[live] = tried[np.arange(live.size), chosen]
        live = live[chosen > 0]
        if not live.size:
            break
    return best


def _costs(
    space: Simplex, epsilon: float, at: Numbers, answers: Numbers, length: int, reach: float
) -> NDArray[np.float64]:
    # The sum over x within the reach of e^(-epsilon d(x, P_s)) H(x, a), (B, A), for the answers a
    # (B, A, 3) to the rows s of `at`.
    radius = _radius(space, epsilon, reach)
    steps = np.concatenate([ring(3, d) for d in range(radius + 1)])
    table, found = space.affinities(space.n), np.zeros(answers.shape[:2])
    block = max(1, _BLOCK // len(steps))
    for start in range(0, at.size, block):
        part = slice(start, start + block)
        inside, kept = inside_of(space.rows[at[part]], steps)
        x = np.where(inside, (space.rows[at[part]] + kept[:, None]).T.swapaxes(1, 2), 0)
        weights = inside * np.exp(-epsilon * apart(kept[:, :2].T, length))[:, None]
        for number in range(answers.shape[1]):
            rows = answers[part, number].T
            logs = sum(table[a, one - a + space.n] for a, one in zip(rows, x, strict=True))
            distance = distance_from_log_affinity(-np.asarray(logs))
            found[part, number] = (weights * distance).sum(axis=0)
    return found


def _beyond(space: Simplex, epsilon: float, length: int) -> float:
    # At least the sum of e^(-epsilon d(x, P_s)) over the x that `_costs` leaves out for the mean:
    # 6 d histograms at most are d records from s, and no more than length / 2 nearer to P_s.
    first, q = _radius(space, epsilon, _COUNTED) + 1, float(np.exp(-epsilon))
    if first > space.n:
        return 0.0
    rings = 6.0 * q**first * (first / (1.0 - q) + q / (1.0 - q) ** 2)
    return rings * float(np.exp(epsilon * length / 2.0))


def _radius(space: Simplex, epsilon: float, reach: float) -> int:
    return min(space.n, int(np.ceil(reach / epsilon)))
