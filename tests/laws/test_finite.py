"""A law with a list: its answers against loops over the list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import dpbayes as dp
from dpbayes.laws.estimate import log_affinity_of_outputs
from dpbayes.laws.finite import FiniteLaw, normalised
from tests.strategies import small_cases

METRICS = ("hellinger", "published")


def some_law(case, seed):
    counts, prior = case
    outputs = dp.compositions(int(counts.sum()), counts.size)
    logs = normalised(np.random.default_rng(seed).normal(size=len(outputs)))
    return FiniteLaw(prior, counts, outputs, logs)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    small_cases((2, 3), (12, 5)), st.integers(0, 99), st.sampled_from(["hellinger", "published"])
)
def test_answers_agree_with_loops(case, seed, metric):
    counts, prior = case
    if metric == "published" and prior.sum() + counts.sum() <= 1.0:
        return
    law = some_law(case, seed)
    distance = dp.hellinger if metric == "hellinger" else dp.hellinger_published
    pairs = [
        (float(distance(prior + counts, prior + output)), float(p))
        for output, p in zip(law.outputs, law.probabilities, strict=True)
    ]
    mean = sum(d * p for d, p in pairs)
    square = sum(d * d * p for d, p in pairs)
    assert law.mean_distance(metric) == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert law.mean_square(metric) == pytest.approx(square, rel=1e-9, abs=1e-12)
    assert law.variance(metric) == pytest.approx(max(square - mean**2, 0), rel=1e-6, abs=1e-9)
    for q in (0.2, 0.7):
        value = law.quantile(q, metric)
        assert sum(p for d, p in pairs if d <= value + 1e-9) >= q - 1e-9
        assert sum(p for d, p in pairs if d < value - 1e-9) < q + 1e-9


@settings(max_examples=30, deadline=None)
@given(small_cases((2, 3, 4), (12, 5, 4)), st.integers(0, 99))
def test_probabilities_by_table_agree_with_one_by_one(case, seed):
    law = some_law(case, seed)
    table = law.probability(law.outputs[::-1])
    np.testing.assert_array_equal(table, law.probabilities[::-1])
    elsewhere = law.outputs + 1
    np.testing.assert_array_equal(law.probability(elsewhere), np.zeros(len(elsewhere)))


def test_an_output_listed_twice_is_added_up():
    outputs = np.array([[1, 2], [2, 1], [1, 2]])
    law = FiniteLaw(np.ones(2), np.array([1, 2]), outputs, np.log([0.25, 0.5, 0.25]))
    assert law.probability([1, 2]) == pytest.approx(0.5, rel=1e-15)
    several = law.probability([[1, 2], [2, 1], [3, 0]])
    np.testing.assert_allclose(several, [0.5, 0.5, 0.0], rtol=1e-15)


def test_affinities_of_outputs_with_another_total():
    prior, counts = np.array([0.5, 2.0, 1.0]), np.array([3, 0, 4])
    outputs = np.array([[3, 0, 4], [0, 0, 0], [5, 5, 5], [2, 1, 4]])
    ours = log_affinity_of_outputs(prior, counts, outputs)
    theirs = dp.log_affinity(np.broadcast_to(prior + counts, (4, 3)), prior + outputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_a_list_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="outputs must have shape"):
        FiniteLaw(np.ones(2), np.array([1, 2]), np.array([[1, 2, 0]]), np.zeros(1))


@pytest.mark.parametrize("size", [1, 7, 40_000])
def test_normalised_weights_are_those_of_the_general_sum(size):
    rng = np.random.default_rng(size)
    for scale in (1e-3, 1.0, 400.0):
        logs = np.round(-rng.exponential(scale, size), 3)
        logs[rng.integers(size)] = 0.0
        logs[size // 2 + 1 :: 5] = -np.inf
        found = normalised(logs)
        np.testing.assert_allclose(found, logs - logsumexp(logs), rtol=1e-15, atol=1e-16)
        assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("n", range(1, 40))
def test_the_rank_of_a_quantile_is_right_where_the_probabilities_jump(n):
    law = dp.mechanism("expMech", 1e-300).law([n // 2, n - n // 2], [1, 1])
    distances, masses = law.distance_distribution()
    for reached in np.rint(np.cumsum(masses) * (n + 1)):
        q = float(reached / (n + 1))
        found = law.quantile(q)
        at = int(np.searchsorted(distances, float(found)))
        assert distances[at] == float(found)
        assert masses[: at + 1].sum() >= q - found.error
        assert masses[:at].sum() <= q + found.error
