"""One test per verdict on document D, recomputed without the notebooks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp

import dpbayes as dp
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.sensitivity import profile

BALANCED, FLAT = [0.5, 0.5], [1.0, 1.0]


def mean(name: str, n: int, epsilon: float = 1.0, **options: float) -> float:
    law = dp.mechanism(name, epsilon, **options).law(dp.split(n, BALANCED), FLAT)
    return law.mean_distance()


def actual_epsilon(mechanism: dp.Mechanism, n: int, prior: list[float]) -> float:
    """Largest log ratio over all neighbours and outputs, by a plain loop over data sets."""
    logs = np.array([mechanism.law([x, n - x], prior).log_probabilities for x in range(n + 1)])
    return float(np.abs(np.diff(logs, axis=0)).max())


def epsilon_from_scores(scores: np.ndarray, rates: np.ndarray) -> float:
    """The same from the table of all scores and one rate for each data set, without a mechanism."""
    logs = -rates[:, None] * scores
    logs -= logsumexp(logs, axis=1, keepdims=True)
    return float(np.abs(np.diff(logs, axis=0)).max())


def test_c1_smooth_beats_laplace_for_more_than_300_records_is_false():
    """D, section 7.2.2: "bigger than 300 ... outperforms the baseline Laplace mechanism"."""
    for n in (10, 50, 100, 300, 301, 500, 2000, 20000):
        assert mean("expMech-smooth", n) > mean("lapMech", n)
    assert mean("expMech-smooth", 6) < mean("lapMech", 6)
    assert mean("expMech-smooth", 300) == pytest.approx(0.2226, abs=5e-4)


def test_c1_smooth_does_not_approach_the_improved_laplace_mechanism():
    """D, section 7.2.2: "asymptotically approaches the improved Laplace mechanism"."""
    steps = np.arange(-400, 400)
    improved = float(dp.laplace_step_probability(steps, 1.0, 1.0) @ np.abs(steps))
    limit = 1 / math.sinh(0.25) / improved
    assert limit == pytest.approx(3.66, abs=0.01)
    ratios = [mean("expMech-smooth", n) / mean("ilapMech", n) for n in (500, 5000, 50000)]
    assert ratios[0] > ratios[1] > ratios[2] > 3.6
    assert ratios[2] == pytest.approx(limit, rel=0.02)


def test_c1_the_printed_curve_is_another_mechanism_with_another_distance():
    """D, Figure 5, at n = 300, where the paper puts the crossing."""
    n, counts = 300, dp.split(300, BALANCED)
    options = {"delta": 1e-8, "failure_term": "2n", "metric": "published"}
    printed = dp.mechanism("expMech-delta", 0.8, **options).law(counts, FLAT)
    assert printed.mean_distance(dp.hellinger_published) == pytest.approx(0.042, abs=0.002)
    laplace = dp.mechanism("lapMech", 0.8).law(counts, FLAT)
    assert laplace.mean_distance(dp.hellinger_published) == pytest.approx(0.043, abs=0.002)
    assert mean("expMech-smooth", n) > 5 * 0.042


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 10, 30])
@pytest.mark.parametrize("prior", [[1.0, 1.0], [0.05, 0.05], [3.0, 0.2]])
def test_c2_smooth_is_private_with_room_to_spare(n, prior):
    """D, Lemma 5.1."""
    for epsilon in (0.3, 1.0, 4.0):
        loss = actual_epsilon(dp.mechanism("expMech-smooth", epsilon), n, prior)
        assert loss <= epsilon + 1e-12
        assert loss < 0.75 * epsilon


@pytest.mark.slow
def test_c2_the_actual_loss_is_less_than_half_of_the_promise():
    """The slack at n = 100 and a flat prior."""
    loss = actual_epsilon(dp.mechanism("expMech-smooth", 1.0), 100, FLAT)
    assert loss == pytest.approx(0.400, abs=0.002)


@pytest.mark.slow
def test_c3_local_breaks_its_promise_for_small_priors_only():
    """D, section 5.2.2."""
    local = dp.mechanism("expMech-local", 1.0)
    assert actual_epsilon(local, 100, [0.02, 0.02]) > 1.01
    small = [0.1, 0.1]
    assert epsilon_from_scores(distance_table(600, small), 1 / (2 * profile(600, small))) > 1.04
    for n in (5, 20, 100, 200):
        assert actual_epsilon(local, n, FLAT) < 0.95


def test_c4_steps_of_laplace_do_not_depend_on_size_or_prior_away_from_the_clamp():
    """D, section 6.1: "probability values are fixed even data size changes"."""
    formula = dp.laplace_step_probability(np.arange(-3, 4), 1.0, 2.0)
    for n in (20, 200, 2000):
        for prior in ([1, 1], [0.2, 30]):
            law = dp.mechanism("lapMech", 1.0).law([n // 2, n // 2], prior)
            seen = [law.probability([n // 2 + t, n // 2 - t]) for t in range(-3, 4)]
            assert seen == pytest.approx(formula, rel=1e-12)
    edge = dp.mechanism("lapMech", 1.0).law([1, 19], [1, 1]).probability([0, 20])
    assert edge == pytest.approx(0.5, rel=1e-12)
    assert edge > 2 * formula[2]


@pytest.mark.slow
def test_c5_exact_calibration_lets_the_distance_win_against_improved_laplace():
    """D, conclusion: "the probability measure approach outperforms the l1-norm approach"."""
    n, gamma, low, high = 300, 0.2, 1.0, 20.0
    scores, smooth = distance_table(n, FLAT), profile(n, FLAT, smooth=True, gamma=gamma)
    for _ in range(30):
        middle = 0.5 * (low + high)
        loss = epsilon_from_scores(scores, middle / (2 * (1 + gamma) * smooth))
        low, high = (middle, high) if loss <= 1.0 else (low, middle)
    assert low > 2.0
    calibrated = mean("expMech-smooth", n, low, gamma=gamma)
    assert calibrated == pytest.approx(0.0366, abs=5e-4)
    assert mean("geometric", n) < calibrated < mean("ilapMech", n)
    assert mean("expMech-smooth", n) > mean("ilapMech", n)


def test_table_one_and_two_in_all_printed_digits():
    """D, Tables 1 and 2, the Laplace rows."""
    table_one = {
        2.0: [0.19673467014, 0.11932560927, 0.07237464051],
        1.0: [0.31606027941, 0.11627207896, 0.04277410743],
    }
    table_two = {
        2.0: [0.19673467014, 0.31606027941, 0.19170024978],
        1.0: [0.31606027941, 0.43233235838, 0.1590461864],
    }
    for sensitivity in (2.0, 1.0):
        up = dp.laplace_step_probability([0, 1, 2], 1.0, sensitivity)
        down = dp.laplace_step_probability([0, -1, -2], 1.0, sensitivity)
        assert up == pytest.approx(table_one[sensitivity], abs=1.1e-11)
        both = [up[0], up[1] + down[1], up[2] + down[2]]
        assert both == pytest.approx(table_two[sensitivity], abs=1.1e-11)


def test_large_epsilon_more_often_exact_but_a_larger_mean_error():
    """D, section 7.2.1 on Figure 4: "In 2 dimensions, we can perform better"."""
    for n in (1000, 10000):
        counts = [n // 2, n // 2]
        smooth = dp.mechanism("expMech-smooth", 5.0).law(counts, FLAT)
        improved = dp.mechanism("ilapMech", 5.0).law(counts, FLAT)
        assert smooth.probability(counts) > improved.probability(counts)
        assert smooth.mean_distance() > improved.mean_distance()


def test_growing_priors_do_not_let_smooth_overtake_laplace():
    """D, section 7.2.2, fixed data set (50, 50)."""
    for a in (20.0, 100.0, 500.0, 2000.0):
        errors = [
            dp.mechanism(name, 1.0).law([50, 50], [a, a]).mean_distance()
            for name in ("expMech-smooth", "lapMech")
        ]
        assert errors[0] > 1.9 * errors[1]


@pytest.mark.slow
def test_three_categories_crossing_is_an_effect_of_the_distance():
    """D, Figure 6, three categories: crossing near 300 as printed, none up to 500 corrected."""
    counts, prior = dp.split(400, [0.3, 0.3, 0.4]), [1.0] * 3
    laplace = dp.mechanism("lapMech", 1.0).law(counts, prior)
    printed = dp.mechanism("expMech-delta", 1.0, metric="published").law(counts, prior)
    true = dp.mechanism("expMech-delta", 1.0).law(counts, prior)
    metric = dp.hellinger_published
    assert printed.mean_distance(metric) < laplace.mean_distance(metric)
    assert true.mean_distance() > laplace.mean_distance()


def test_candidates_are_counted_right_only_for_two_categories_in_print():
    """D, section 4.2.3: "binom(n+1, m-1) elements"."""
    for n in (1, 4, 9):
        for k in (2, 3, 4):
            counted = len(dp.compositions(n, k))
            assert dp.number_of_candidates(n, k) == counted
            assert (math.comb(n + 1, k - 1) == counted) is (k == 2)
