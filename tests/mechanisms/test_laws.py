"""Every law against its definition by a second road: ninety digits, orders, one noise
at a time.
"""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.finite import ROUNDING
from dpbayes.mechanisms.geometric import (
    IndependentLaw,
    IndependentNoise,
    TruncatedGeometric,
)
from dpbayes.mechanisms.lattice import DiscreteGaussian
from tests.mechanisms.definitions import NOISE, SCORED, VARIANTS, made, masses
from tests.reference.laws import DIGITS, Reference

TWO_ONLY = ("geometric", "lattice")


@pytest.mark.parametrize("name", [*NOISE, *TWO_ONLY, *SCORED])
@pytest.mark.parametrize(
    ("x", "prior"),
    [((0, 5), (1.0, 1.0)), ((3, 2), (0.2, 4.0)), ((2, 0, 1), (1e-6, 1.0, 3.0)),
     ((1, 1, 0, 1), (1.0,) * 4)],
)  # fmt: skip
def test_every_probability_is_that_of_the_definition(name, x, prior):
    if name in TWO_ONLY and len(x) > 2:
        return
    # gamma of the mechanisms with a delta is a float.
    close = 1e-10 if name.startswith(("expMech-delta", "expMech-repaired")) else 1e-12
    for epsilon in (0.2, 4.0):
        law = made(name, epsilon).law(x, prior)
        with mp.workdps(DIGITS):
            exact = masses(name, Reference(prior, sum(x)), x, mp.mpf(epsilon))
            assert {tuple(r) for r in law.outputs.tolist()} >= {
                r for r, p in exact.items() if p
            }
            for output, found in zip(
                law.outputs.tolist(), law.probabilities, strict=True
            ):
                expected = float(exact.get(tuple(output), 0))
                assert float(found) == pytest.approx(expected, rel=close, abs=1e-300)


@pytest.mark.parametrize("name", [*dp.REGISTRY, *VARIANTS])
@pytest.mark.parametrize("k", [2, 3])
def test_without_records_there_is_one_release_or_a_refusal(name, k):
    nothing = [0] * k, [1.0] * k
    if name in (*SCORED, "optimal", "optimal, worst", "parameter-laplace") or (
        (name, k) == ("lattice, remapped", 3)
    ):
        with pytest.raises(
            ValueError, match=r"at least (1|one) record|integer of at least 1"
        ):
            made(name, 0.7).law(*nothing)
    elif name != "lattice, remapped" and (k == 2 or not name.startswith("geometric")):
        law = made(name, 0.7).law(*nothing)
        assert (law.outputs.tolist(), law.log_probabilities.tolist()) == (
            [[0] * k],
            [0.0],
        )
        assert law.mass_outside == 0.0


# --- Noise on counts
# ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in NOISE if name != "ilapMech, sensitivity 2.5"]
)
@pytest.mark.parametrize("counts", [[300_000, 250_000], [5, 549_995], [549_995, 5]])
def test_a_window_of_laplace_noise_is_the_list_of_fewer_records(name, counts):
    near = [min(one, 500 + i) for i, one in enumerate(counts)]
    law, whole = (made(name, 3.0).law(x, [1, 1]) for x in (counts, near))
    for step in (-4, -1, 0, 2, 5):
        move = np.array([step, -step])
        found, expected = (
            float(one.probability(one.counts + move)) for one in (law, whole)
        )
        assert found == pytest.approx(expected, rel=1e-12, abs=0)
    listed, near_by = (one.outputs[:, 0] - one.counts[0] for one in (law, whole))
    left_out = whole.probabilities[~np.isin(near_by, listed)].sum()
    assert whole.mass_outside == 0.0 <= left_out <= law.mass_outside < 1e-19
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_far_more_records_than_are_listed_leave_out_what_the_law_says():
    n, epsilon, reach = 10_000_000, 0.01, 4600
    law = TruncatedGeometric(epsilon).law([n // 2, n // 2], [1, 1])
    assert law.outputs[[0, -1], 0].tolist() == [n // 2 - reach, n // 2 + reach]
    beyond = 2.0 * np.exp(-epsilon * (reach + 1)) / (1.0 + np.exp(-epsilon))
    assert 0.0 < beyond <= law.mass_outside < 1e-19
    # Beside the truth the steps are those of the noise, as if nothing were clamped.
    near = law.probabilities[reach - 3 : reach + 4]
    assert near / near[3] == pytest.approx(
        np.exp(-epsilon * np.abs(np.arange(-3, 4))), rel=1e-13
    )


def test_the_gaussian_promise_is_kept_and_nearly_used_up():
    assert dp.audit(DiscreteGaussian(1.0, 1e-2), 5, [1.0] * 3).delta(1.0) <= 1e-2
    assert dp.audit(DiscreteGaussian(1.0, 1e-2), 20, [1.0, 1.0]).delta(1.0) > 0.99e-2
    one, ten = DiscreteGaussian(1.0, 1e-6), DiscreteGaussian(1.0, 1e-6, releases=10)
    assert 6.0 < ten.variance(3) / one.variance(3) < 10.5
    assert "10 releases together" in ten.guarantee(3).basis
    released = dp.release(
        dp.mechanism("discrete-gaussian", 1.0, delta=1e-4), [5, 9, 4], [1, 1, 1]
    )
    assert "+ 0.0001" in str(released)


def test_the_listed_independent_law_is_complete_and_the_drawn_one_agrees():
    listed = IndependentNoise(1.0).law([30, 5, 0], [1, 1, 1])
    assert listed.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    drawn = IndependentLaw(listed.prior, listed.counts, 1.0)
    estimate = drawn.mean_distance()
    assert abs(estimate - listed.mean_distance()) <= estimate.error
    assert drawn.probability([31, 4, 0]) == pytest.approx(
        listed.probability([31, 4, 0]), rel=1e-12
    )
    assert isinstance(IndependentNoise(1.0).law([5] * 12, [1] * 12), IndependentLaw)


@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_continuous_noise_keeps_its_promise_in_densities_and_atoms(epsilon):
    # The density of one update at u is that of Laplace(2/epsilon) around x_i, the atoms
    # collect its tails; so the log ratio of neighbours is a sum over the coordinates.
    law = dp.mechanism("parameter-laplace", epsilon).law([2, 5], [1, 0.5])
    # The first count falls to 0 and the second rises to 7: two tails of 2, scale
    # 2/epsilon.
    expected = (0.5 * np.exp(-2 * epsilon / 2)) ** 2
    assert float(law.probability([0, 7])) == pytest.approx(expected, rel=1e-14)
    assert law.probability([1, 6]) == 0.0
    share = (law.rvs(100_000, np.random.default_rng(4)) == [0, 7]).all(axis=1).mean()
    assert share == pytest.approx(expected, abs=4.5 * math.sqrt(expected / 100_000))
    losses = [
        sum(
            (abs(u - b) - abs(u - a)) / law.scale
            for u, a, b in zip(us, (2, 5), (3, 4), strict=True)
        )
        for us in itertools.product([0, 0.5, 2.5, 3.5, 6.5, 7], repeat=2)
    ]
    assert max(map(abs, losses)) == pytest.approx(epsilon, rel=1e-12)


# --- Scored candidates
# ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["expMech", "expMech-local", "expMech-smooth", "expMech-delta"]
)
def test_the_rates_of_all_data_sets_are_those_of_each_and_scale(name):
    for metric in ("hellinger", "published"):
        mechanism = dp.mechanism(name, 0.9, metric=metric)
        for prior, n in ((np.array([0.3, 2.0]), 8), (np.array([1.0, 0.5, 2.0]), 4)):
            each = [mechanism.rate(x, prior) for x in dp.compositions(n, prior.size)]
            assert mechanism.rates(n, prior) == pytest.approx(each, rel=1e-12)
            for share in (0.25, 3.0):
                scaled = mechanism.scaled(share).rates(n, prior)
                assert scaled == pytest.approx(share * np.array(each), rel=1e-12)


@pytest.mark.parametrize("name", ["expMech", "permute-and-flip"])
def test_published_metric_scores_by_the_published_distance(name):
    counts, prior = np.array([1, 0]), np.array([1.0, 0.5])
    mechanism = dp.mechanism(name, epsilon=1.0, metric="published")
    law, scores_like = (
        mechanism.law(counts, prior),
        getattr(mechanism, "scores_like", mechanism),
    )
    score = dp.hellinger_published([2.0, 0.5], [1.0, 1.5])
    weight = np.exp(-scores_like.rate(counts, prior) * score)
    # Of two candidates permute-and-flip takes the other one if it is first and its coin
    # says so.
    other = weight / 2 if name == "permute-and-flip" else weight / (1 + weight)
    assert law.probabilities == pytest.approx([other, 1 - other], rel=1e-10)
    assert law.distances[0] == pytest.approx(
        dp.hellinger([2.0, 0.5], [1.0, 1.5]), abs=1e-12
    )


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    sensitivity=st.sampled_from(["global", "smooth"]), epsilon=st.floats(0.05, 8.0),
    gamma=st.floats(0.05, 3.0), n=st.integers(1, 15),
    prior=st.tuples(st.floats(0.05, 8.0), st.floats(0.05, 8.0)),
)  # fmt: skip
def test_permute_and_flip_is_never_worse_than_its_exponential_mechanism(
    sensitivity, epsilon, gamma, n, prior
):
    mechanism = dp.mechanism(
        "permute-and-flip", epsilon, sensitivity=sensitivity, gamma=gamma
    )
    assert dp.audit(mechanism, n, prior).epsilon <= epsilon + 1e-11
    counts = [n // 3, n - n // 3]
    law, exponential = (
        mechanism.law(counts, prior),
        mechanism.scores_like.law(counts, prior),
    )
    assert law.mean_distance() <= exponential.mean_distance() + 1e-12


@pytest.mark.parametrize("epsilon", [1.0, 300.0])
def test_permute_and_flip_still_sums_to_one_with_many_candidates(epsilon):
    law = dp.mechanism("permute-and-flip", epsilon).law([2499, 2500], [1, 1])
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)
    assert law.rounding == ROUNDING * (1 + 5000 / 2)  # half a digit for each factor
