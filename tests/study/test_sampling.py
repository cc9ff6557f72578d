"""Errors of means, quartiles and whiskers, held against simulated box plots."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import dpbayes as dp
from dpbayes.study.sampling import Distances, of_law

RUNS, BOXES = 200, 4000


@pytest.fixture(scope="module")
def law() -> Distances:
    return of_law(dp.mechanism("ilapMech", 0.1).law([100, 100], [1, 1]))


@pytest.fixture(scope="module")
def boxes(law: Distances) -> np.ndarray:
    rng = np.random.default_rng(7)
    return rng.choice(law.values, size=(BOXES, RUNS), p=law.masses / law.masses.sum())


@pytest.mark.parametrize(("statistic", "q"), [("lower-quartile", 25), ("median", 50),
                                              ("upper-quartile", 75)])  # fmt: skip
def test_quartiles_have_the_law_of_numpys_percentile(law, boxes, statistic, q) -> None:
    drawn = np.percentile(boxes, q, axis=1)
    expected = law.expected(statistic, RUNS)
    assert drawn.mean() == pytest.approx(
        expected.value, abs=6 * expected.error / BOXES**0.5
    )
    assert drawn.std() == pytest.approx(expected.error, rel=0.1)
    values, masses = law.quantile_law(q / 100, RUNS)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    for cut in np.quantile(drawn, [0.1, 0.5, 0.9]):
        exact = masses[values <= cut + 1e-12].sum()
        assert (drawn <= cut + 1e-12).mean() == pytest.approx(
            exact, abs=6 * 0.5 / BOXES**0.5
        )


@pytest.mark.slow
def test_scores_of_quartiles_are_standard_normal(law, boxes) -> None:
    rng = np.random.default_rng(8)
    drawn = np.percentile(boxes[:1000], 75, axis=1) + rng.normal(0.0, 0.002, 1000)
    scores = [law.score("upper-quartile", RUNS, y, 0.002) for y in drawn]
    assert kstest(scores, "norm").pvalue > 1e-4
    shifted = [law.score("upper-quartile", RUNS, y + 0.03, 0.002) for y in drawn]
    assert kstest(shifted, "norm").pvalue < 1e-12


def test_means_and_laws_too_long_to_list(law, boxes) -> None:
    assert boxes.mean(axis=1).std() == pytest.approx(
        law.expected("mean", RUNS).error, rel=0.1
    )
    counts, prior = [900, 900, 900], [1.0, 1.0, 1.0]
    long = dp.mechanism("expMech", 1.0).law(counts, prior)
    distances = dp.hellinger(np.add(counts, prior), dp.compositions(2700, 3) + 1.0)
    weights = np.exp(-long.rate * distances)
    mean = np.average(distances, weights=weights)
    deviation = np.sqrt(np.average((distances - mean) ** 2, weights=weights))
    found = of_law(long).expected("mean", 400)
    assert (found.value, found.error) == pytest.approx((mean, deviation / 20), rel=1e-6)


@pytest.mark.parametrize("statistic", ["whisker-low", "whisker-high"])
def test_whiskers_by_a_plain_loop(law, statistic: str) -> None:
    """Every pair of quartiles, every value inside their reach, one after the other."""
    high, runs, total, mean = statistic == "whisker-high", 40, 0.0, 0.0
    around = [
        law.order_statistic(round(q * (runs - 1)) + 1, runs) for q in (0.25, 0.75)
    ]
    for i, p in enumerate(around[0]):
        for j, q in enumerate(around[1]):
            if min(p, q) <= 1e-4 or j < i:
                continue
            span = 1.5 * (law.values[j] - law.values[i])
            limit = law.values[j] + span if high else law.values[i] - span
            inside = [
                k
                for k, v in enumerate(law.values)
                if (v <= limit) == high or v == limit
            ]
            passed, last, value = 0.0, 1.0, 0.0
            for k in reversed(inside) if high else inside:
                passed += law.masses[k]
                none = max(1.0 - passed, 0.0) ** runs
                value, last = value + (last - none) * law.values[k], none
            total, mean = total + p * q, mean + p * q * value / (1.0 - last)
    assert law.expected(statistic, runs).value == pytest.approx(mean / total, abs=1e-10)
