"""All laws answer the same questions, with an error; one with a list as loops over it
do.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.law import Way, choose, listed
from dpbayes.laws.numbers import (
    Estimate,
)
from tests.strategies import small_cases

METRICS = st.sampled_from(["hellinger", "published"])
SETTINGS = {
    "FiniteLaw": (dp.mechanism("geometric", 1.0), [20, 30]),
    "ExponentialLaw": (dp.mechanism("expMech-smooth", 1.0), [300, 300, 300]),
    "ProductLaw": (dp.mechanism("ilapMech", 0.1), [9000, 8000, 7000]),
    "SumZeroLaw": (dp.mechanism("lattice", 0.01), [30000, 40000, 20000]),
    "ContinuousLaw": (dp.mechanism("parameter-laplace", 1.0), [20, 30]),
}


@pytest.fixture(scope="module", params=SETTINGS)
def law(request):
    mechanism, counts = SETTINGS[request.param]
    found = mechanism.law(counts, np.ones(len(counts)))
    assert type(found).__name__ == request.param
    return found


@pytest.mark.slow
def test_every_law_answers_every_question_with_an_error_and_agrees_with_its_draws(law):
    continuous = type(law).__name__ == "ContinuousLaw"
    for metric in ("hellinger",) if continuous else ("hellinger", "published"):
        for answer in (
            law.mean_distance(metric),
            law.variance(metric),
            law.quantile(0.5, metric),
        ):
            assert isinstance(answer, Estimate)
            assert 0 <= answer <= 1
            assert 0 <= answer.error < 0.02
            assert answer.how in ("listed", "window", "series", "drawn")
    assert law.mean_affinity() == pytest.approx(1 - law.mean_square(), abs=1e-9)
    if not continuous:
        published = law.mean_distance("published")
        assert (
            published == law.mean_distance(dp.hellinger_published) < law.mean_distance()
        )
        assert "because" in law.why
    draws = law.rvs(40_000, np.random.default_rng(8))
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    slack = 6 * distances.std() / 200
    assert law.mean_distance(dp.hellinger) == pytest.approx(distances.mean(), abs=slack)
    assert law.mean_affinity() == pytest.approx(
        1 - (distances**2).mean(), abs=2 * slack
    )
    assert law.variance() == pytest.approx(distances.var(), rel=0.05)


def test_probabilities_of_several_outputs_at_once(law):
    outputs = np.array([law.counts, np.roll(law.counts, 1)])
    assert isinstance(law.probability(law.counts), Estimate)
    assert law.probability(outputs).tolist() == [
        law.probability(row) for row in outputs
    ]
    assert law.probability(outputs[None]).shape == (1, 2)
    with pytest.raises(
        ValueError, match=f"counts_out must have {law.counts.size} entries"
    ):
        law.probability(np.ones(law.counts.size + 1, dtype=np.int64))


def test_a_law_without_outputs_says_what_to_ask_instead(law):
    if isinstance(law, FiniteLaw):
        assert listed(law, "a table") is law
        return
    for name in ("outputs", "probabilities", "log_probabilities", "distances"):
        with pytest.raises(
            AttributeError, match=rf"has no \.{name}: ask \.probability"
        ):
            getattr(law, name)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        assert law.colour
    with pytest.raises(TypeError, match="a table needs every output listed"):
        listed(law, "a table")


def test_the_reasons_name_what_decided():
    series = SETTINGS["ExponentialLaw"][0].law([300, 300, 301], [1, 1, 1])
    assert series.why.startswith("series, because it takes any number of records")
    assert (
        "not list: there are 407253 candidates, and up to 400000 are listed"
        in series.why
    )
    assert (
        dp.mechanism("lattice", 1.0)
        .law([3, 4], [1, 1])
        .why.startswith("geometric, because")
    )
    assert (
        dp.mechanism("geometric", 1.0)
        .law([300_000, 300_000], [1, 1])
        .why.startswith("window")
    )


def test_choosing_takes_the_first_way_that_gives_a_law():
    law = FiniteLaw(np.ones(2), np.array([0, 1]), np.array([[0, 1]]), np.zeros(1))
    ways = (
        Way("a", False, "it is Monday", lambda: law),
        Way("b", True, "it may", lambda: None),
        Way("c", True, "it can", lambda: law),
    )
    assert choose(*ways).why == "c, because it can; not a: it is Monday; not b: it may"
    with pytest.raises(
        ValueError, match="no way to compute this law: not a: it is Monday"
    ):
        choose(*ways[:2])


# ---- a law with a list
def some_law(case, seed):
    counts, prior = case
    outputs = dp.compositions(int(counts.sum()), counts.size)
    logs = normalised(np.random.default_rng(seed).normal(size=len(outputs)))
    return FiniteLaw(prior, counts, outputs, logs)


@settings(max_examples=15)
@given(
    small_cases((2, 3), (12, 5)),
    st.integers(0, 99),
    st.sampled_from(["hellinger", "published"]),
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
    mean, square = (sum(d**order * p for d, p in pairs) for order in (1, 2))
    assert law.mean_distance(metric) == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert law.mean_square(metric) == pytest.approx(square, rel=1e-9, abs=1e-12)
    assert law.variance(metric) == pytest.approx(
        max(square - mean**2, 0), rel=1e-6, abs=1e-9
    )
    for q in (0.2, 0.7):
        value = law.quantile(q, metric)
        assert sum(p for d, p in pairs if d <= value + 1e-9) >= q - 1e-9
        assert sum(p for d, p in pairs if d < value - 1e-9) < q + 1e-9
    np.testing.assert_array_equal(
        law.probability(law.outputs[::-1]), law.probabilities[::-1]
    )
    np.testing.assert_array_equal(
        law.probability(law.outputs + 1), np.zeros(len(pairs))
    )


def test_an_output_listed_twice_is_added_up():
    outputs = np.array([[1, 2], [2, 1], [1, 2]])
    law = FiniteLaw(np.ones(2), np.array([1, 2]), outputs, np.log([0.25, 0.5, 0.25]))
    assert law.probability([1, 2]) == pytest.approx(0.5, rel=1e-15)
    several = law.probability([[1, 2], [2, 1], [3, 0]])
    np.testing.assert_allclose(several, [0.5, 0.5, 0.0], rtol=1e-15)


@pytest.mark.parametrize("size", [1, 7, 40_000])
def test_normalised_weights_are_those_of_the_general_sum(size):
    rng = np.random.default_rng(size)
    for scale in (1e-3, 1.0, 400.0):
        logs = np.round(-rng.exponential(scale, size), 3)
        logs[rng.integers(size)] = 0.0
        logs[size // 2 + 1 :: 5] = -np.inf
        found = normalised(logs)
        np.testing.assert_allclose(
            found, logs - logsumexp(logs), rtol=1e-15, atol=1e-16
        )
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
        assert masses[: at + 1].sum() >= q - law.error_bound
        assert masses[:at].sum() <= q + law.error_bound
        # in exact numbers it is the smallest distance that reaches q
        exact = distances[int(np.argmax(np.cumsum(masses) >= q - 1e-12))]
        assert abs(found - exact) <= found.error


# ---- continuous noise
def midpoint_mean(counts, prior, scale, cells=600):
    """A plain midpoint rule on quantiles of the noise; knows nothing of draws or
    atoms."""
    levels = (np.arange(cells) + 0.5) / cells
    noise = (
        np.where(levels < 0.5, np.log(2 * levels), -np.log(2 * (1 - levels))) * scale
    )
    first, second = (np.clip(c + noise, 0, sum(counts)) for c in counts)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1) + prior
    distances = dp.hellinger(np.add(counts, prior), grid)
    return distances.mean(), (distances**2).mean()


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [((50, 50), (1, 1), 1.0), ((2, 98), (1, 3), 0.5), ((0, 5), (0.1, 0.1), 0.3)],
)
def test_continuous_moments_against_a_midpoint_rule(counts, prior, epsilon):
    law = dp.mechanism("parameter-laplace", epsilon).law(counts, prior)
    answers = law.mean_distance(), law.mean_square()
    for found, expected in zip(
        answers, midpoint_mean(counts, prior, 2 / epsilon), strict=True
    ):
        assert found.how == "drawn"
        assert abs(found - expected) < found.error + 5e-4
        assert 0.0 < found.standard_error < 2e-3
