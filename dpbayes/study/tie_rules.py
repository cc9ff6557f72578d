"""Who pays the last records of a projection? Four rules, each a valid l2 projection, compared.

The l2 projection lowers the counts to a common level t; then a few records more must be given up,
one each, by categories above t. Which of them pay changes neither the sum of squares nor the
privacy, but it changes the mean distance and how much the answer depends on the order of the
categories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import hellinger
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.posteriors import compositions

RULES = ("largest", "smallest", "first", "last")

_TAIL = 1e-9


@dataclass(frozen=True)
class TieRule:
    """`mean` distance over all data sets of n records, the `worst`, and the `spread`.

    The spread is the largest difference between the mean distances of two data sets that differ
    in the order of their categories only. `error` is the probability of the noise that was left
    out: no mean or worst case is further than that from its value with all noise, the spread and
    the difference of two rules no further than twice that.
    """

    rule: str
    mean: float
    worst: float
    spread: float
    error: float


def project_by(noisy: NDArray[np.int64], rule: str) -> NDArray[np.int64]:
    """Return the l2 projection of each row, shape (N, k), with the last records paid by `rule`.

    "largest" and "smallest" go by the noisy counts, ties to the earlier category; "first" and
    "last" go by position.

    >>> project_by(np.array([[-3, 5, 8]]), "largest"), project_by(np.array([[-3, 5, 8]]), "first")
    (array([[0, 4, 6]]), array([[0, 3, 7]]))
    """
    _validate.choice("rule", rule, RULES)
    k = noisy.shape[1]
    total = noisy.sum(axis=1, keepdims=True)
    sums = np.cumsum(-np.sort(-noisy, axis=1), axis=1)
    level = ((sums - total) // np.arange(1, k + 1)).max(axis=1, keepdims=True)
    above = np.maximum(noisy - level, 0)
    owed = above.sum(axis=1, keepdims=True) - total
    place = np.broadcast_to(np.arange(k), noisy.shape)
    order = {"largest": -noisy, "smallest": noisy, "first": place, "last": -place}[rule]
    far = int(np.abs(order).max()) + 1
    ranks = np.argsort(np.argsort(np.where(above > 0, order, far), axis=1, kind="stable"), axis=1)
    return np.asarray(above - ((ranks < owed) & (above > 0)))


def compare_tie_rules(n: int, k: int, epsilon: float) -> list[TieRule]:
    """Return the four rules at n records, k categories, flat prior and this epsilon, by listing.

    Noise of positive part beyond a radius is left out, the same for all rules: of probability
    1e-9 at most, stated as `error`. Distances are at most 1, so no mean is off by more.

    >>> best = min(compare_tie_rules(4, 3, 2.0), key=lambda rule: rule.mean)
    >>> best.rule, best.spread
    ('largest', 0.0)
    >>> best.error < 1e-9
    True
    """
    reach = LatticeNoise(k, epsilon).reach(_TAIL)
    shifts, left_out = LatticeNoise(k, 1.0).points(reach), LatticeNoise(k, epsilon).outside(reach)
    weights = np.exp(-0.5 * epsilon * np.abs(shifts).sum(axis=1))
    weights /= weights.sum()
    table, prior = compositions(n, k), np.ones(k)
    rows = {row.tobytes(): i for i, row in enumerate(table)}
    found = []
    for rule in RULES:
        means = np.empty(len(table))
        for i, x in enumerate(table):
            landed, inverse = np.unique(project_by(x + shifts, rule), axis=0, return_inverse=True)
            distances = hellinger(prior + x, prior + landed)
            means[i] = weights @ distances[inverse.ravel()]
        classes: dict[int, list[float]] = {}
        for x, mean in zip(table, means, strict=True):
            classes.setdefault(rows[np.sort(x).tobytes()], []).append(float(mean))
        spread = max(max(group) - min(group) for group in classes.values())
        described = float(means.mean()), float(means.max()), round(spread, 12), left_out
        found.append(TieRule(rule, *described))
    return found
