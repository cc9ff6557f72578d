"""The lemmas' readings against direct evaluation, the proved guarantee against exact audits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

import dpbayes as dp
from dpbayes.study.lemmas import (
    dilation,
    loss_parts,
    needs_no_delta,
    proved_guarantee,
    score_law,
    sliding,
)


def delta(epsilon: float = 0.8, **options: object) -> dp.Mechanism:
    return dp.mechanism("expMech-delta", epsilon, **options)


def test_scores_list_every_output_once() -> None:
    law = delta().law([4, 3, 2], [1.0, 0.5, 2.0])
    scores = score_law(delta(), [4, 3, 2], [1.0, 0.5, 2.0])
    assert scores.outputs.sum() == len(law.outputs)
    assert scores.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert scores.formula(scores.distances) * scores.outputs == pytest.approx(
        scores.probabilities, rel=1e-9
    )


cases = st.tuples(
    st.integers(1, 12), st.floats(0.0, 1.0), st.floats(1e-4, 20.0), st.floats(0.05, 20.0),
    st.floats(1e-10, 0.4),
)  # fmt: skip


@pytest.mark.slow
@given(case=cases)
@settings(max_examples=40, deadline=None)
def test_lemmas_hold_as_formulas(case: tuple[int, float, float, float, float]) -> None:
    n, share, prior, epsilon, failure = case
    x = round(share * n)
    scores = score_law(delta(epsilon, delta=failure), [x, n - x], [prior, 1.0])
    assert sliding(scores, "formula").holds
    assert dilation(scores, "formula").holds
    if scores.outputs.max() == 1:
        assert sliding(scores, "attained").holds
    # For two categories the tail is what the proof says it is.
    assert scores.tail <= 0.5 * failure + 1e-15


def test_printed_readings_name_a_score_that_nobody_has() -> None:
    scores = score_law(delta(), [3, 7], [1.0, 1.0])
    for check in (sliding(scores, "printed"), dilation(scores, "printed")):
        assert not check.holds
        assert check.right == pytest.approx(0.5 * scores.delta)


def test_two_outputs_with_one_score_break_the_attained_reading() -> None:
    scores = score_law(delta(0.5, delta=1e-6), [10, 10], [1.0, 1.0])
    check = sliding(scores, "attained")
    p = scores.probabilities
    assert not check.holds
    assert check.left == pytest.approx(p[1])
    assert check.right == pytest.approx(np.exp(0.25) * p[0] + 5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["hamming", "l1"])
@pytest.mark.parametrize(("n", "prior"), [(6, [1.0, 1.0]), (25, [1e-6, 1e-6]), (12, [1e-3, 80.0])])
def test_proved_guarantee_holds_in_exact_audits(distance: str, n: int, prior: list[float]) -> None:
    for epsilon, failure in ((0.8, 1e-8), (5.0, 1e-3), (20.0, 1e-8)):
        mechanism = delta(epsilon, delta=failure, distance=distance)
        proved = proved_guarantee(mechanism, n, 2)
        assert dp.audit(mechanism, n, prior).delta(proved.epsilon) <= proved.delta


@pytest.mark.parametrize(("k", "times"), [(2, 0.5), (3, 13.0), (4, 229.66666666666666)])
def test_the_proved_delta_grows_with_the_candidates(k: int, times: float) -> None:
    # theorem, paper, mechanisms, claims: |R| delta / (2 (n + 1)), not delta.
    proved = proved_guarantee(delta(1.0, delta=1e-6), 50, k)
    assert (proved.epsilon, proved.delta) == (1.5, pytest.approx(times * 1e-6, rel=1e-9))
    assert times == pytest.approx(dp.number_of_candidates(50, k) / (2.0 * 51.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_loss_exceeds_epsilon_where_no_delta_is_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(60):
        n, k = int(rng.integers(1, 25)), 2
        if rng.random() < 0.3:
            n, k = int(rng.integers(1, 6)), 3
        prior = 10.0 ** rng.uniform(-9, 3, k)
        epsilon, failure = 10.0 ** rng.uniform(-3, 0.5), 10.0 ** rng.uniform(-12, -0.1)
        mechanism = delta(epsilon, delta=failure, distance=str(rng.choice(["hamming", "l1"])))
        if needs_no_delta(mechanism, n, k):
            covered += 1
            assert dp.audit(mechanism, n, prior).epsilon <= epsilon * (1 + 1e-9)
    assert covered > 5


def _step(b: float, n: int, at: int) -> float:
    """H^2 of the posteriors of `at` and `at` + 1 of n records, both prior parameters b."""
    here, there = (np.array([b + j, b + n - j]) for j in (at, at + 1))
    middle = gammaln(0.5 * (here + there)).sum()
    return float(-np.expm1(middle - 0.5 * (gammaln(here) + gammaln(there)).sum()))


def test_the_theorem_for_large_parameters_is_kept_to_its_range() -> None:
    inside, n = delta(1.6, delta=1e-9), 100
    ell = np.log(2.0 * (n + 1) / 1e-9)
    assert needs_no_delta(inside, n, 2, [20.0, 20.0])
    least = float(2.0 * ell * (np.sqrt(_step(30.0, n, 0) / _step(30.0, n, 1)) - 1.0))
    assert least < ell / 30.0
    assert needs_no_delta(delta(1.001 * least, delta=1e-9), n, 2, [30.0, 30.0])
    for mechanism, prior in (
        (inside, [19.9, 19.9]), (inside, [20.0, 21.0]), (inside, [20.0, 119.9]),
        (delta(0.999 * least, delta=1e-9), [30.0, 30.0]), (delta(1.6, delta=0.6), [20.0, 20.0]),
        (delta(1.6, delta=0.3), [20.0, 200.0]), (delta(1.6, delta=1e-9, distance="l1"), [20.0] * 2),
    ):  # fmt: skip
        assert not needs_no_delta(mechanism, n, 2, prior)


def test_the_theorem_for_unlike_parameters_is_kept_to_its_range() -> None:
    inside = delta(0.8, delta=1e-8)
    assert needs_no_delta(inside, 100, 2, [0.5, 100.5])
    for mechanism, n, prior in (
        (inside, 100, [0.5, 100.4]), (inside, 100, [1.1, 300.0]),
        (delta(1.2, delta=1e-8), 100, [0.5, 200.0]), (delta(0.2, delta=0.3), 100, [0.5, 200.0]),
        (delta(0.1, delta=1e-8), 1000, [0.5, 2000.0]),  # many records and an epsilon below 3 / l
        (delta(0.8, delta=1e-8, distance="l1"), 100, [0.5, 200.0]),
    ):  # fmt: skip
        assert not needs_no_delta(mechanism, n, 2, prior)


def test_the_theorem_for_equal_parameters_is_kept_to_its_range() -> None:
    inside = delta(0.8, delta=1e-8)
    assert needs_no_delta(inside, 100, 2, [1.0, 1.0])
    for mechanism, k, prior in (
        (inside, 2, [1.0, 0.9]), (inside, 2, [1.01, 1.01]), (inside, 3, [1.0] * 3),
        (delta(1.2, delta=1e-8), 2, [1.0, 1.0]), (delta(0.2, delta=0.6), 2, [1.0, 1.0]),
        (delta(0.2, delta=1e-8, distance="l1"), 2, [1.0, 1.0]),
        (delta(0.8, delta=1e-8, failure_term="2n"), 2, [1.0, 1.0]),
    ):  # fmt: skip
        assert not needs_no_delta(mechanism, 100, k, prior)


def test_what_needs_its_delta_is_not_said_to_need_none() -> None:
    """Where a loss exceeds epsilon the theorem must be silent, for l1 and for replaced records."""
    for mechanism, n, prior in (
        (delta(20.0, delta=1e-8, distance="l1"), 100, [1e-6, 1e-6]),
        (delta(26.7, delta=1.6e-5), 3, [205.0, 1e-9]),
    ):
        assert dp.audit(mechanism, n, prior).epsilon > mechanism.epsilon
        assert not needs_no_delta(mechanism, n, 2)


def test_parts_add_up_to_the_loss() -> None:
    mechanism, prior = delta(), [1.0, 1.0]
    for output in ([0, 20], [7, 13], [20, 0]):
        parts = loss_parts(mechanism, [3, 17], [4, 16], output, prior)
        p, q = (mechanism.law(x, prior).probability(output) for x in ([3, 17], [4, 16]))
        assert sum(parts) == pytest.approx(np.log(p / q), abs=1e-12)


def test_other_mechanisms_are_refused() -> None:
    for other in (dp.mechanism("expMech-smooth", 1.0), dp.mechanism("lapMech", 1.0)):
        with pytest.raises(TypeError, match="mechanism must be expMech-delta"):
            score_law(other, [2, 2], [1.0, 1.0])
        with pytest.raises(TypeError, match="mechanism must be expMech-delta"):
            proved_guarantee(other, 5, 2)
    with pytest.raises(ValueError, match="promises nothing"):
        proved_guarantee(delta(1.0, delta=0.9), 10, 6)


def test_scores_are_those_of_the_factor_two() -> None:
    calibrated = dp.mechanism("expMech-delta", 1.0).scaled(3.0)
    for call in (
        lambda: score_law(calibrated, [1, 1], [1, 1]),
        lambda: proved_guarantee(calibrated, 30, 2),
        lambda: needs_no_delta(calibrated, 30, 2, [1, 1]),
    ):
        with pytest.raises(ValueError, match="divisor must be 2"):
            call()
