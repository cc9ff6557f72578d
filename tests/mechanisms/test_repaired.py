"""expMech-repaired: thousands of random audits, what breaks expMech-delta, its own numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.calibrations import RepairedCalibration
from dpbayes.mechanisms.protocol import guarantee
from dpbayes.study.theorem_chain import corner_pair, enumerated_pair


def random_audit(rng: np.random.Generator, k: int, most: int) -> tuple[float, float]:
    """Return actual over nominal epsilon, and delta(epsilon), of one random setting."""
    n = int(rng.integers(1, most + 1))
    prior = np.exp(rng.uniform(np.log(1e-9), np.log(1e4), k))
    epsilon = float(np.exp(rng.uniform(np.log(0.02), np.log(40.0))))
    delta = float(np.exp(rng.uniform(np.log(1e-12), np.log(0.5))))
    share = float(rng.uniform(0.02, 0.98))
    mechanism = dp.mechanism("expMech-repaired", epsilon, delta=delta, share=share)
    audit = dp.audit(mechanism, n, prior)
    assert audit.delta(epsilon) <= delta
    return audit.epsilon / epsilon, audit.delta(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "most", "audits"), [(2, 12, 120), (3, 4, 30), (4, 3, 15)])
def test_random_audits_keep_the_promise(k: int, most: int, audits: int) -> None:
    rng = np.random.default_rng(100 * k)
    found = [random_audit(rng, k, most) for _ in range(audits)]
    assert max(ratio for ratio, _ in found) <= 1.0
    assert max(delta for _, delta in found) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("k", "most", "audits"), [(2, 40, 400), (3, 7, 100), (4, 4, 30)])
def test_hundreds_of_random_audits(k: int, most: int, audits: int) -> None:
    rng = np.random.default_rng(7 + k)
    found = [random_audit(rng, k, most) for _ in range(audits)]
    assert max(ratio for ratio, _ in found) <= 1.0
    assert max(delta for _, delta in found) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_it_keeps_the_promise_where_the_claimed_mechanism_breaks_it(share: float) -> None:
    prior = [0.02, 1e8, 1e8, 1e8]
    claimed = dp.mechanism("expMech-delta", 0.784, delta=1e-6)
    repaired = dp.mechanism("expMech-repaired", 0.784, delta=1e-6, share=share)
    pair = corner_pair(178, 4)
    assert enumerated_pair(claimed, *pair, prior).delta(0.784) > 1e-4
    assert enumerated_pair(repaired, *pair, prior).delta(0.784) == 0.0
    # At its own kink S changes by the full e^gamma; n is such that gamma reaches it.
    for n in (60, 110):
        found = enumerated_pair(repaired, *corner_pair(n, 4), prior)
        assert found.epsilon <= 0.784


@pytest.mark.parametrize(
    ("n", "share", "mean"),
    [(1000, 0.1, 0.3831), (1000, 0.2, 0.0699), (10_000, 0.1, 0.0192), (100_000, 0.1, 0.0061)],
)
def test_means_of_balanced_data(n: int, share: float, mean: float) -> None:
    mechanism = dp.mechanism("expMech-repaired", 0.8, delta=1e-8, share=share)
    found = mechanism.law([n // 2, n // 2], [1, 1]).mean_distance()
    assert found == pytest.approx(mean, abs=6e-5)


def test_the_law_is_the_definition() -> None:
    n, prior, epsilon, delta, share = 7, [0.3, 2.0, 1.0], 1.4, 1e-3, 0.3
    mechanism = dp.mechanism("expMech-repaired", epsilon, delta=delta, share=share)
    law = mechanism.law([4, 1, 2], prior)
    with mpmath.workdps(30):
        gamma = mpmath.log(1 + share * epsilon / mpmath.log(36 / mpmath.mpf(delta)))
    counts = dp.compositions(n, 3)
    local = np.array([dp.local_sensitivity(x, prior).value for x in counts])
    away = np.abs(counts - np.array([4, 1, 2])).sum(axis=1) / 2
    smooth = float((local * np.exp(-float(gamma) * away)).max())
    weights = np.exp(-(1 - share) * epsilon * law.distances / (2 * smooth))
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-6)


def test_the_promise_is_the_theorem() -> None:
    mechanism = dp.mechanism("expMech-repaired", "0.8", delta=1e-8, share=0.25)
    for k in (2, 3, 7):
        promised = guarantee(mechanism, k)
        assert (promised.bound, promised.failure) == (Fraction(4, 5), Fraction(1, 10**8))
        assert promised.theorem == "thm-repaired"
    # A larger divisor flattens the weights, not the price of the sensitivity.
    flatter = dp.mechanism("expMech-repaired", "0.8", delta=1e-8, share=0.25, divisor=4.0)
    assert guarantee(flatter, 2).bound == Fraction(2, 5) + Fraction(1, 5)


def test_it_can_be_released() -> None:
    release = dp.release(dp.mechanism("expMech-repaired", 0.8), [5, 4, 6], [1.0, 1.0, 1.0])
    assert int(np.sum(release.counts)) == 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta must"),
        ({"share": 1.0}, "share must"),
        ({"share": 0.0}, "share must"),
    ],
)
def test_bad_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dp.mechanism("expMech-repaired", 1.0, **options)


def test_a_share_too_small_for_floats_is_refused() -> None:
    with pytest.raises(ValueError, match="share \\* epsilon must be at least"):
        RepairedCalibration(1e-8, 1e-10).gamma(100, 1.0)


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-300, 0.02), (1e-8, 1e-6), (1e-8, 3e-9)])
def test_a_small_rate_is_lowered_by_more_than_rounding_can_add(
    delta: float, epsilon: float
) -> None:
    mended, n = RepairedCalibration(delta, 0.2), 400
    with mpmath.workdps(40):
        logarithm = mpmath.log(mpmath.mpf(n + 1) / mpmath.mpf(delta))
        proved = mpmath.log1p(mpmath.mpf(0.2) * mpmath.mpf(epsilon) / logarithm)
        below = proved - mended.gamma(n, epsilon)
        values = mended.rule(n, epsilon, 2).profile(n, np.ones(2), "hellinger")
        logs = [mpmath.log(mpmath.mpf(float(value))) for value in values]
        changes = [abs(a - b) for a, b in pairwise(logs)]
    assert 2e-12 < below < 1e-11 + 1.1e-6 * proved
    assert max(changes) <= proved


def test_the_promise_holds_at_a_rate_near_zero() -> None:
    mechanism = dp.mechanism("expMech-repaired", 0.02, delta=1e-300)
    audit = dp.audit(mechanism, 60, [0.1, 3.0])
    assert audit.delta(0.02) <= 1e-300


@pytest.mark.parametrize(("n", "k"), [(1, 2), (40, 2), (9, 4)])
def test_the_rate_stays_below_that_of_the_theorem_by_a_millionth(n: int, k: int) -> None:
    with mpmath.workdps(40):
        candidates = mpmath.binomial(n + k - 1, k - 1)
        logarithm = mpmath.log(candidates / mpmath.mpf(1e-7))
        proved = mpmath.log1p(mpmath.mpf(0.3) * mpmath.mpf(0.9) / logarithm)
        below = 1 - RepairedCalibration(delta=1e-7, share=0.3).gamma(n, 0.9, k) / proved
        # Less than this, and rounding of S could break the promise; more is noise for nothing.
        assert 0.9e-6 < below < 1.1e-6


@pytest.mark.parametrize(("n", "k"), [(10, 2), (137, 3), (10**6, 2), (10**4, 5)])
def test_the_least_share_that_an_error_names_is_enough(n: int, k: int) -> None:
    calibration = RepairedCalibration(delta=1e-8, share=0.5)
    with pytest.raises(ValueError, match="share \\* epsilon must be at least") as refused:
        calibration.gamma(n, 1e-12, k)
    found = re.search(r"at least (\S+) for", str(refused.value))
    assert found
    assert calibration.gamma(n, 2 * float(found[1]), k) > 0
