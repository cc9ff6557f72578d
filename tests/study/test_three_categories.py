"""Three categories: a loss above epsilon away from the chain, with a delta that covers it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from mpmath import exp, log, loggamma, mp, mpf, sqrt

import dpbayes as dp

PRIOR, N, EPSILON, DELTA = (10**9, 10**4, 10**4), 8, "8.03", "0.001"

Counts = tuple[int, ...]


def candidates(n: int) -> list[Counts]:
    return [(a, b - a - 1, n + 1 - b) for a, b in combinations(range(n + 2), 2)]


def distance(x: Counts, r: Counts) -> mpf:
    """Hellinger distance of two posteriors, by the gamma functions alone; totals are equal."""
    parts = (
        loggamma(mpf(a) + mpf(i + j) / 2) - (loggamma(mpf(a) + i) + loggamma(mpf(a) + j)) / 2
        for a, i, j in zip(PRIOR, x, r, strict=True)
    )
    return sqrt(1 - exp(sum(parts)))


def moved(x: Counts, r: Counts) -> int:
    return sum(abs(i - j) for i, j in zip(x, r, strict=True)) // 2


def exact_audit() -> tuple[mpf, mpf, Counts]:
    """Largest loss over epsilon, delta(epsilon) over delta, and the x it is attained at."""
    epsilon, delta = mpf(EPSILON), mpf(DELTA)
    gamma = log(1 + epsilon / (2 * log(2 * (N + 1) / delta)))
    every = candidates(N)
    pairs = {x: [y for y in every if moved(x, y) == 1] for x in every}
    local = {x: max(distance(x, y) for y in near) for x, near in pairs.items()}
    law = {}
    for x in every:
        smooth = max(local[y] * exp(-gamma * moved(x, y)) for y in every)
        weights = {r: exp(-epsilon * distance(x, r) / (2 * smooth)) for r in every}
        total = sum(weights.values())
        law[x] = {r: w / total for r, w in weights.items()}
    loss, excess, at = mpf(0), mpf(0), every[0]
    allowed = exp(epsilon)
    for x, near in pairs.items():
        for y in near:
            loss = max(loss, *(log(law[x][r] / law[y][r]) for r in every))
            over = sum(max(law[x][r] - allowed * law[y][r], mpf(0)) for r in every)
            if over > excess:
                excess, at = over, x
    return loss / epsilon, excess / delta, at


def test_loss_exceeds_epsilon_but_delta_covers_it() -> None:
    """The package's audit and an enumeration in 40 digits: a loss 1.49 epsilon, delta far below."""
    with mp.workdps(40):
        loss, excess, at = exact_audit()
    plan = dp.mechanism("expMech-delta", float(EPSILON), delta=float(DELTA))
    audit = dp.audit(plan, N, list(PRIOR))
    assert 1.4 < float(loss) < 1.6
    assert 0.0 < float(excess) < 0.01
    assert np.isclose(audit.epsilon / float(EPSILON), float(loss), rtol=1e-6)
    assert np.isclose(audit.delta(float(EPSILON)) / float(DELTA), float(excess), rtol=1e-4)
    assert at[0] >= N - 1


def test_the_corner_has_the_smaller_local_sensitivity() -> None:
    """All records in the category with the largest parameter: smaller by the root of two."""
    corner, beside = (
        dp.local_sensitivity(x, list(PRIOR)).value for x in ([N, 0, 0], [N - 1, 1, 0])
    )
    assert np.isclose(beside / corner, np.sqrt(2.0), rtol=1e-3)
