"""Promises: exact numbers, sentences that never say less, and the type they belong
to."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.mechanisms.calibrations import (
    DeltaCalibration,
    RepairedCalibration,
    SmoothCalibration,
)
from dpbayes.mechanisms.capabilities import own
from dpbayes.mechanisms.geometric import IndependentNoise, TruncatedGeometric
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import (
    Guarantee,
    Promises,
    exact_epsilon,
    guarantee,
    rounded_up,
    upper_float,
)
from dpbayes.study.theorem_chain import corner_pair, enumerated_pair
from dpbayes.tables.drawn import draw
from dpbayes.tables.reading import noise_aware
from tests.samplers.sources import SeededBits

# --- Numbers and sentences
# ------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(10**30)),
    st.integers(min_value=-200, max_value=200),
)
def test_a_printed_number_is_no_smaller_and_the_float_the_smallest_that_is_not(
    value, power
):
    exact = value * Fraction(10) ** power
    nearest = upper_float(exact)
    assert Fraction(np.nextafter(nearest, 0.0)) < exact <= Fraction(nearest)
    assert exact <= Fraction(rounded_up(exact)) <= exact * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("kind", [TruncatedGeometric, SumZeroLattice, PermuteAndFlip])
def test_every_kind_of_number_is_exact(kind):
    for value in ("0.1", Fraction(1, 10), Decimal("0.1")):
        mechanism = kind(value)
        assert (
            exact_epsilon(mechanism.epsilon)
            == guarantee(mechanism, 2).bound
            == Fraction(1, 10)
        )
        assert mechanism.epsilon == 0.1
        for copy in (pickle.loads(pickle.dumps(mechanism)), replace(mechanism)):
            assert exact_epsilon(copy.epsilon) == Fraction(1, 10)
    assert guarantee(kind(np.float32(0.5)), 2).bound == Fraction(1, 2)
    assert guarantee(kind(np.int64(2)), 2).bound == 2
    assert guarantee(kind("1/3"), 2).epsilon > float(Fraction(1, 3))
    with pytest.raises(TypeError, match="epsilon must be a real number"):
        kind([1.0])


@given(st.floats(1e-6, 1e6))
def test_a_float_is_never_taken_for_more_than_either_reading(value):
    exact = exact_epsilon(value)
    assert exact <= Fraction(value)
    assert exact <= Fraction(repr(value))
    assert float(exact) == value


WORDS = (
    "0",
    "-1",
    "nan",
    "inf",
    "one",
    "1/0",
    "1/2/3",
    "/",
    "1/",
    "0_5",
    "\uff11",
    "0,5",
)
SIZES = ("1e400", "1e-400", "1e-301", "1e300/1e-300", "1e999999999")


@pytest.mark.parametrize("value", WORDS + SIZES)
def test_bad_epsilons_in_words(value):
    allowed = "be between 1e-300 and 1e300, got" if value in SIZES else "be"
    with pytest.raises(ValueError, match=f"epsilon must {allowed}"):
        dp.mechanism("lattice", value)


@pytest.mark.parametrize(
    ("name", "options", "k", "share"),
    [("lapMech", {}, 2, "1/2"), ("lapMech", {}, 5, "2/5"), ("ilapMech", {}, 2, "1"),
     ("ilapMech", {}, 5, "1"), ("ilapMech", {"sensitivity": 2.5}, 3, "4/5")],
)  # fmt: skip
def test_laplace_noise_promises_what_a_record_moves_over_its_scale(
    name, options, k, share
):
    mechanism = dp.mechanism(name, "0.3", **options)
    assert mechanism.guarantee(k).bound == Fraction(3, 10) * Fraction(share)
    assert mechanism.scale(k) == pytest.approx(
        1 / float(mechanism.exact_rate(k)), rel=1e-15
    )


def test_a_sentence_names_its_relation_and_its_failure_probability():
    promised = Guarantee(Fraction(4, 5), "a proof", "thm-x", Fraction(1, 10**8))
    assert "P[M(x) in S] <= e^0.8 P[M(x') in S] + 1e-8; n itself" in promised.sentence
    assert promised.delta == 1e-8
    sentence = guarantee(IndependentNoise("0.1"), 3).sentence
    assert "differ by one record more or less" in sentence
    assert "n itself is public" not in sentence
    assert "P[M(x) in S] <= e^0.1 P[M(x') in S]" in sentence


# --- To whom a promise belongs
# --------------------------------------------------------------------


def test_a_changed_factor_changes_the_promise_and_replaced_methods_end_it(monkeypatch):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    monkeypatch.setattr(SmoothCalibration, "factor", 1e-3)
    assert guarantee(mechanism, 2).epsilon == pytest.approx(4000.0, rel=1e-12)
    assert own(mechanism, Promises)
    object.__setattr__(mechanism, "rate", lambda counts, prior: 1e4)
    assert own(mechanism, Promises) is None
    assert guarantee(mechanism, 2).bound is None
    with pytest.raises(ValueError, match="must have an exact sampler"):
        draw(mechanism, np.array([2, 2]), np.ones(2), SeededBits(1))


@dataclass(frozen=True)
class RandomisedResponse:
    """One record of two categories, told truthfully e^epsilon times as often as not."""

    epsilon: float
    name: str = "randomised response"

    def law(self, counts, prior):
        x = np.asarray(counts)
        outputs = np.array([[0, 1], [1, 0]])
        logs = np.where(outputs[:, 0] == x[0], 0.0, -self.epsilon) - np.log1p(
            np.exp(-self.epsilon)
        )
        return FiniteLaw(np.asarray(prior, dtype=float), x, outputs, logs)


def test_three_attributes_are_enough_for_audit_comparison_and_reading():
    mechanism = RandomisedResponse(0.9)
    assert dp.audit(mechanism, 1, [1, 1]).epsilon == pytest.approx(0.9, rel=1e-12)
    found = dp.calibrate(mechanism, 1, [1, 1], 0.4).mechanism
    assert found.epsilon == pytest.approx(0.4, rel=1e-8)
    assert dp.mean_distances(mechanism, [1.0, 0.0], [1, 1], [1])[0] > 0
    with pytest.raises(
        ValueError, match="no proof is recorded for the mechanism randomised"
    ):
        dp.release(mechanism, [1, 0], [1, 1])
    aware = noise_aware(
        RandomisedResponse(np.log(3.0)), np.array([1, 0]), 1, np.ones(2)
    )
    # P(x = (1, 0) | released (1, 0)) = 3/4, so the mean is (3/4 * 2 + 1/4 * 1) / 3.
    assert aware.mean[0] == pytest.approx(7 / 12, rel=1e-12)


# --- Calibrations
# ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "proved"),
    [
        ("expMech", {}, Fraction(2)),
        ("expMech-smooth", {}, Fraction(4)),
        *[
            (
                "expMech-smooth",
                {"gamma": gamma, "distance": distance},
                2 * (1 + times * Fraction(gamma)),
            )
            for gamma in (0.001, 0.3, 1 / 3, 1e-9)
            for distance, times in (("hamming", 1), ("l1", 2))
        ],
        *[
            ("expMech-repaired", {"share": share}, 2 / (1 - Fraction(share)))
            for share in (0.2, 0.1, 1e-3, 0.9999)
        ],
    ],
)
def test_the_factor_is_no_less_than_the_proof_asks_for_and_a_divisor_promises_its_own(
    name, options, proved
):
    # The rate of a release is epsilon / (factor S): a factor rounded down would spend
    # more.
    mechanism = dp.mechanism(name, "1", **options)
    assert mechanism.guarantee(7).failure == (
        Fraction(1, 10**8) if "share" in options else 0
    )
    assert proved <= Fraction(mechanism.factor) <= proved * (1 + Fraction(1, 2**51))
    assert mechanism.guarantee(2).bound == 1
    for divisor in (np.nextafter(mechanism.factor / 1.01, 0.0), 1.0, 3.0, 10.0):
        used = replace(mechanism, divisor=float(divisor))
        share = Fraction(options.get("share", 0))  # of epsilon, which no factor changes
        own_term = proved if not share else Fraction(2)
        assert used.guarantee(2).bound == own_term / Fraction(divisor) + share
        audited = dp.audit(used, 5, [0.3, 1])
        assert (
            audited.delta(float(used.guarantee(2).bound))
            <= used.guarantee(2).failure + 1e-15
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "most", "audits"), [(2, 40, 150), (3, 7, 40), (4, 4, 15)]
)
def test_two_hundred_random_audits_keep_the_promise(
    k: int, most: int, audits: int
) -> None:
    rng = np.random.default_rng(7 + k)
    for _ in range(audits):
        n = int(rng.integers(1, most + 1))
        prior = np.exp(rng.uniform(np.log(1e-9), np.log(1e4), k))
        epsilon, delta = np.exp(
            rng.uniform(np.log([0.02, 1e-12]), np.log([40.0, 0.5]))
        ).tolist()
        share = float(rng.uniform(0.02, 0.98))
        mechanism = dp.mechanism("expMech-repaired", epsilon, delta=delta, share=share)
        audit = dp.audit(mechanism, n, prior)
        assert audit.epsilon <= epsilon
        assert audit.delta(epsilon) == 0.0


@pytest.mark.slow
def test_it_keeps_the_promise_where_the_claimed_mechanism_breaks_it() -> None:
    prior, pair = [0.02, 1e8, 1e8, 1e8], corner_pair(178, 4)
    claimed = dp.mechanism("expMech-delta", 0.784, delta=1e-6)
    assert enumerated_pair(claimed, *pair, prior).delta(0.784) > 1e-4
    for share in (0.05, 0.5):
        repaired = dp.mechanism("expMech-repaired", 0.784, delta=1e-6, share=share)
        assert enumerated_pair(repaired, *pair, prior).delta(0.784) == 0.0
        # At its own kink S changes by the full e^gamma; n is such that gamma reaches
        # it.
        for n in (60, 110):
            assert enumerated_pair(repaired, *corner_pair(n, 4), prior).epsilon <= 0.784


@pytest.mark.parametrize(
    ("delta", "epsilon"), [(1e-300, 0.02), (1e-8, 1e-6), (1e-8, 3e-9)]
)
def test_the_rate_is_lowered_by_more_than_rounding_can_add_and_little_more(
    delta, epsilon
):
    mended, n = RepairedCalibration(delta, 0.2), 400
    with mpmath.workdps(40):
        proved = mpmath.log1p(
            0.2 * mpmath.mpf(epsilon) / mpmath.log((n + 1) / mpmath.mpf(delta))
        )
        below = proved - mended.gamma(n, epsilon)
        values = mended.rule(n, epsilon, 2).profile(n, np.ones(2), "hellinger")
        logs = [mpmath.log(mpmath.mpf(float(value))) for value in values]
        changes = [abs(a - b) for a, b in pairwise(logs)]
    # Less than this, and rounding of S could break the promise; more is noise for
    # nothing.
    lowered = max(1e-6 * proved, 4e-12)
    assert 0.9 * lowered < below < 1.1 * lowered
    assert max(changes) <= proved


@pytest.mark.parametrize(("n", "k"), [(10, 2), (10**4, 5)])
def test_the_least_share_that_an_error_names_is_enough(n: int, k: int) -> None:
    calibration = RepairedCalibration(delta=1e-8, share=0.5)
    with pytest.raises(
        ValueError, match="share \\* epsilon must be at least"
    ) as refused:
        calibration.gamma(n, 1e-12, k)
    least = float(re.search(r"at least (\S+) for", str(refused.value))[1])
    assert calibration.gamma(n, 2 * least, k) > 0
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got 0"):
        DeltaCalibration().gamma(0, 1.0)
