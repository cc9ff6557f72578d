"""Three categories: losses above epsilon, on the chain and away from it, that delta covers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from mpmath import exp, log, loggamma, mp, mpf, sqrt

import dpbayes as dp
from dpbayes.divergences import affinity_by_step
from dpbayes.study.theorem_chain import Chain, at_kink

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


@pytest.mark.slow
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


def corner_losses(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities of every output at x_1 = n and at x_1 = n - 1, without the whole table."""
    b, n = float(chain.prior), chain.n
    at, laws = np.arange(n + 1.0), []
    smooth = chain.smooth()
    for x in (n, n - 1):
        steps = affinity_by_step(np.full(n + 1, b + x), at - x)
        weights = -chain.epsilon / (2.0 * smooth[x]) * np.sqrt(-np.expm1(np.minimum(steps, 0.0)))
        weights += sum(np.log(n - at + j) for j in range(1, chain.k - 1))  # ways, up to a factor
        laws.append(weights - np.log(np.exp(weights - weights.max()).sum()) - weights.max())
    return laws[0], laws[1]


def corner(k: int, n: int, ell: float, b: float) -> tuple[float, float, Chain]:
    """At the kink: largest loss of that pair over epsilon, and its delta(epsilon) over delta."""
    chain = at_kink(k, n, 2.0 * (n + 1) * np.exp(-ell), b)
    p, q = corner_losses(chain)
    losses = np.concatenate([p - q, q - p])
    gain = np.exp(np.concatenate([p, q])) * -np.expm1(np.minimum(chain.epsilon - losses, 0.0))
    return float(losses.max() / chain.epsilon), float(gain.sum() / chain.delta), chain


def test_corner_pair_is_that_of_the_whole_audit() -> None:
    for k, n, ell, b in ((3, 60, 6.0, 1e-6), (4, 110, 14.0, 0.05)):
        loss, excess, chain = corner(k, n, ell, b)
        audit = chain.audit()
        assert audit.pair in ((n, n - 1), (n - 1, n))
        assert np.isclose(audit.epsilon_ratio, loss, rtol=1e-9)
        assert np.isclose(audit.ratio, excess, rtol=1e-6)


@pytest.mark.slow
def test_many_records_at_the_kink_do_not_break_it_for_three_categories() -> None:
    """The linear chain predicts a loss above epsilon for many records; saturation prevents it.

    Where few records do exceed epsilon, delta covers it a hundred times over; four categories, the
    control, break the promise with the same code.
    """
    for n in (200, 1000, 5000):
        for part in np.linspace(0.05, 1.0, 12):
            ell = np.log(2.0 * (n + 1)) + 0.7 + 120.0 * part**2
            for b in (1e-9, 0.02, 0.3):
                loss, excess, _ = corner(3, n, ell, b)
                assert loss < 1.0
                assert excess == 0.0
    few = [corner(3, 60, ell, 1e-9) for ell in np.linspace(5.5, 12.0, 14)]
    assert max(loss for loss, _, _ in few) > 1.01
    assert 0.0 < max(excess for _, excess, _ in few) < 0.01
    control = [corner(4, 1000, ell, 0.9) for ell in (50.0, 60.0, 67.0)]
    assert max(excess for _, excess, _ in control) > 1e6
