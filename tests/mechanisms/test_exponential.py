"""The exponential mechanism: its weights are the definition, in either metric."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from tests.reference.laws import DIGITS, Reference
from tests.strategies import small_cases

EXACT_EVERYWHERE = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta")


@pytest.mark.slow
@given(small_cases(), st.floats(0.05, 5.0), st.sampled_from(EXACT_EVERYWHERE))
@settings(deadline=None)
def test_exponential_weights_are_the_definition(case, epsilon, name):
    counts, prior = case
    mechanism = dp.mechanism(name, epsilon=epsilon)
    law = mechanism.law(counts, prior)
    scores = dp.hellinger(prior + counts, prior + law.outputs)
    factor = 4.0 if name == "expMech-smooth" else 2.0
    weights = np.exp(-epsilon * scores / (factor * mechanism.sensitivity(counts, prior).value))
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("name", EXACT_EVERYWHERE)
def test_published_metric_scores_by_the_published_distance(name):
    counts, prior = np.array([12, 18]), np.array([1.0, 1.0])
    mechanism = dp.mechanism(name, epsilon=1.0, metric="published")
    law = mechanism.law(counts, prior)
    scores = dp.hellinger_published(prior + counts, prior + law.outputs)
    rate = mechanism.rate(counts, prior)
    weights = np.exp(-rate * scores)
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-10)
    assert law.distances == pytest.approx(
        np.asarray(dp.hellinger(prior + counts, prior + law.outputs)), abs=1e-12
    )


@pytest.mark.parametrize("name", EXACT_EVERYWHERE)
@pytest.mark.parametrize(("x", "prior"), [((3, 2), (0.2, 4.0)), ((2, 0, 2), (1e-6, 1.0, 3.0))])
def test_the_law_agrees_with_weights_of_ninety_digits(name, x, prior):
    mechanism = dp.mechanism(name, 1.5)
    law = mechanism.law(x, prior)
    with mp.workdps(DIGITS):
        exact = Reference(prior, sum(x)).exponential(x, mp.mpf(mechanism.rate(x, prior)))
        for output, found in zip(law.outputs.tolist(), law.probabilities, strict=True):
            assert float(found) == pytest.approx(float(exact[tuple(output)]), rel=1e-12)


@pytest.mark.parametrize("name", EXACT_EVERYWHERE)
def test_the_rates_of_all_data_sets_are_those_of_each(name):
    mechanism = dp.mechanism(name, 0.9)
    for prior, n in ((np.array([0.3, 2.0]), 8), (np.array([1.0, 0.5, 2.0]), 4)):
        each = [mechanism.rate(x, prior) for x in dp.compositions(n, prior.size)]
        assert mechanism.rates(n, prior) == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("name", EXACT_EVERYWHERE)
@pytest.mark.parametrize("share", [0.25, 3.0])
def test_a_scaled_mechanism_has_every_rate_scaled(name, share):
    mechanism, prior = dp.mechanism(name, 0.9), np.array([0.3, 2.0])
    scaled = mechanism.scaled(share)
    assert scaled.rates(8, prior) == pytest.approx(share * mechanism.rates(8, prior), rel=1e-13)


def test_the_step_of_much_data_falls_with_half_of_epsilon_over_the_factor():
    for name, factor in (("expMech-local", 2.0), ("expMech-smooth", 4.0)):
        law = dp.mechanism(name, 3.0).law([40_000, 40_000], [1, 1])
        steps = [float(law.probability([40_000 + d, 40_000 - d])) for d in (0, 1, 2)]
        falls = [np.log(steps[i] / steps[i + 1]) for i in (0, 1)]
        assert falls == pytest.approx([3.0 / factor] * 2, rel=1e-3)
    with pytest.raises(ValueError, match="expMech has no limiting step law"):
        dp.mechanism("expMech", 3.0).step_law()


@pytest.mark.parametrize("seed", range(4))
def test_a_larger_rate_has_a_smaller_mean_error(seed):
    rng = np.random.default_rng(seed)
    prior, counts = 10.0 ** rng.uniform(-3, 2, 2), rng.integers(1, 15, 2)
    rates = np.geomspace(0.01, 100.0, 40)
    distances = dp.mechanism("expMech", 1.0).law(counts, prior).distances

    def moment(rates, power):
        weights = np.exp(-np.outer(rates, distances))
        return weights @ distances**power / weights.sum(axis=1)

    assert np.all(np.diff(moment(rates, 1)) < 0)
    # The derivative is minus the variance.
    slope = (moment(rates * 1.0001, 1) - moment(rates * 0.9999, 1)) / (0.0002 * rates)
    variance = moment(rates, 2) - moment(rates, 1) ** 2
    assert slope == pytest.approx(-variance, rel=1e-4, abs=1e-9)


def test_a_smaller_sensitivity_with_a_larger_factor_can_have_the_larger_error():
    whole, smooth = (dp.mechanism(name, 1.0) for name in ("expMech", "expMech-smooth"))
    x, prior = [5, 5], [1.0, 1.0]
    assert smooth.sensitivity(x, prior).value < 0.6 * whole.sensitivity(x, prior).value
    assert smooth.rate(x, prior) < whole.rate(x, prior)
    errors = [one.law(x, prior).mean_distance() for one in (whole, smooth)]
    assert errors == pytest.approx([0.405869, 0.425393], abs=1e-6)


def test_the_local_one_is_never_behind_the_others_with_its_factor():
    local, rivals = dp.mechanism("expMech-local", 0.7), ("expMech", "expMech-delta")
    for prior in ([1.0, 1.0], [0.01, 30.0], [0.5, 1.0, 2.0]):
        for counts in dp.compositions(7, len(prior)):
            least = local.law(counts, prior).mean_distance()
            for rival in rivals:
                other = dp.mechanism(rival, 0.7).law(counts, prior).mean_distance()
                assert least <= other * (1 + 1e-12)
