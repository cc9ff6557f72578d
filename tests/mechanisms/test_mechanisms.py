"""What every mechanism must do: an exact law that sums to 1, and the epsilon it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from tests.strategies import epsilons, small_cases

EXACT_EVERYWHERE = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta")
LAPLACE = ("lapMech", "ilapMech")
PRIVATE = ("lapMech", "ilapMech", "expMech", "expMech-smooth", "geometric")


def law_table(mechanism, n, prior):
    """ln P(output) for every histogram of n records: {counts: {output: log probability}}."""
    table = {}
    for x in dp.compositions(n, len(prior)):
        law = mechanism.law(x, prior)
        table[tuple(x.tolist())] = dict(
            zip(map(tuple, law.outputs.tolist()), law.log_probabilities.tolist(), strict=True)
        )
    return table


def privacy_loss(mechanism, n, prior):
    """The largest |ln P(r|x) - ln P(r|x')| over all neighbours and outputs, by plain loops."""
    table = law_table(mechanism, n, prior)
    worst = 0.0
    for x, row in table.items():
        for neighbour in dp.neighbours(list(x)):
            other = table[tuple(neighbour.tolist())]
            assert row.keys() == other.keys()
            for output, log_probability in row.items():
                if not log_probability == other[output] == -np.inf:
                    worst = max(worst, abs(log_probability - other[output]))
    return worst


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    ("n", "prior"), [(1, [1, 1]), (9, [1, 1]), (8, [0.1, 3]), (6, [1e-3, 1e-3])]
)
def test_promised_epsilon_holds_for_two_categories(name, epsilon, n, prior):
    assert privacy_loss(dp.mechanism(name, epsilon=epsilon), n, prior) <= epsilon + 1e-12


@pytest.mark.parametrize("name", [name for name in PRIVATE if name != "geometric"])
@pytest.mark.parametrize(("n", "prior"), [(4, [1, 1, 1]), (3, [0.1, 1, 5]), (2, [1, 1, 1, 1])])
def test_promised_epsilon_holds_for_more_categories(name, n, prior):
    for epsilon in (0.5, 3.0):
        assert privacy_loss(dp.mechanism(name, epsilon=epsilon), n, prior) <= epsilon + 1e-12


@pytest.mark.parametrize("options", [{"rounding": "nearest"}, {"sensitivity": 1.0}])
def test_laplace_options_keep_the_promise_at_two_categories(options):
    assert privacy_loss(dp.mechanism("ilapMech", epsilon=1.0, **options), 8, [1, 1]) <= 1 + 1e-12


@pytest.mark.parametrize("gamma", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("distance", ["hamming", "l1"])
def test_smooth_mechanism_keeps_its_promise_for_any_gamma(gamma, distance):
    mechanism = dp.mechanism("expMech-smooth", epsilon=2.0, gamma=gamma, distance=distance)
    for prior in ([1, 1], [0.05, 0.05]):
        assert privacy_loss(mechanism, 9, prior) <= 2.0 + 1e-12


def test_half_the_sensitivity_breaks_the_promise():
    assert privacy_loss(dp.mechanism("ilapMech", epsilon=1.0, sensitivity=0.5), 8, [1, 1]) > 1.5


def test_local_sensitivity_breaks_the_promise_for_small_priors():
    mechanism = dp.mechanism("expMech-local", epsilon=1.0)
    assert privacy_loss(mechanism, 80, [1, 1]) < 1.0
    assert privacy_loss(mechanism, 80, [0.001, 0.001]) > 1.02


def test_one_sided_noise_of_the_draft_is_not_private():
    assert privacy_loss(dp.mechanism("draft-laplace", epsilon=1.0), 6, [1, 1]) == np.inf


@given(small_cases(), epsilons, st.sampled_from(EXACT_EVERYWHERE + LAPLACE + ("draft-laplace",)))
@settings(deadline=None)
def test_law_sums_to_one_and_its_outputs_are_histograms(case, epsilon, name):
    counts, prior = case
    law = dp.mechanism(name, epsilon=epsilon).law(counts, prior)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.outputs.min() >= 0
    assert law.distances.min() >= 0
    assert law.distances.max() <= 1
    if name in EXACT_EVERYWHERE:
        assert np.array_equal(law.outputs, dp.compositions(int(counts.sum()), counts.size))
    expected = dp.hellinger(prior + counts, prior + law.outputs)
    assert law.distances == pytest.approx(np.asarray(expected), abs=1e-12)


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


def test_delta_mechanism_smooths_at_the_rate_of_the_theorem():
    calibration = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4).calibration
    assert calibration.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 32))))
    other = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4, failure_term="2n").calibration
    assert other.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 30))))


@pytest.mark.parametrize("name", [*LAPLACE, "draft-laplace"])
@pytest.mark.parametrize("counts", [[4, 6], [0, 3], [3, 2, 4], [2, 1, 0, 3]])
def test_laplace_law_is_what_its_recipe_does(name, counts):
    x, n, k = np.array(counts), sum(counts), len(counts)
    mechanism = dp.mechanism(name, epsilon=1.0)
    law = mechanism.law(x, np.ones(k))
    rng = np.random.default_rng(5)
    noise = np.floor(rng.laplace(scale=mechanism.scale(k), size=(200_000, k - 1)))
    if name == "draft-laplace":
        noise = np.abs(noise)
    first = np.clip(x[:-1] + noise, 0, n).astype(int)
    last = np.clip(n - first.sum(axis=1), 0, n)
    drawn = np.column_stack((first, last))
    codes, sizes = np.unique(drawn @ (n + 1) ** np.arange(k), return_counts=True)
    listed = dict(zip(law.outputs @ (n + 1) ** np.arange(k), law.probabilities, strict=True))
    expected = np.array([listed[code] for code in codes])
    deviations = (sizes / len(drawn) - expected) / np.sqrt(expected * (1 - expected) / len(drawn))
    assert np.abs(deviations[expected * len(drawn) > 5]).max() < 6


def test_scales_of_the_laplace_family():
    assert [dp.mechanism("lapMech", epsilon=0.5).scale(k) for k in (2, 3, 4)] == [4.0, 6.0, 8.0]
    assert [dp.mechanism("ilapMech", epsilon=0.5).scale(k) for k in (2, 3, 4)] == [2.0, 4.0, 4.0]
    assert dp.mechanism("lapMech", epsilon=0.5, sensitivity=3).scale(4) == 6.0


def test_clamped_total_is_accounted_for_in_the_distance():
    law = dp.mechanism("ilapMech", epsilon=0.5).law([2, 2, 1], [1, 1, 1])
    over = law.outputs.sum(axis=1) > 5
    assert law.probabilities[over].sum() > 0.05
    expected = dp.hellinger([3, 3, 2], 1 + law.outputs[over])
    assert law.distances[over] == pytest.approx(np.asarray(expected), abs=1e-13)


def test_rounding_to_nearest_beats_the_floor():
    counts, prior = [50, 50], [1, 1]
    floor = dp.mechanism("ilapMech", epsilon=1.0).law(counts, prior).mean_distance()
    nearest = dp.mechanism("ilapMech", epsilon=1.0, rounding="nearest").law(counts, prior)
    assert nearest.mean_distance() < floor


def test_geometric_noise_is_symmetric_and_truncated():
    law = dp.mechanism("geometric", epsilon=1.0).law([3, 7], [1, 1])
    ratio = np.exp(-1.0)
    inside = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(1, 10) - 3)
    assert law.probabilities[1:-1] == pytest.approx(inside, rel=1e-13)
    assert law.probabilities[0] == pytest.approx(ratio**3 / (1 + ratio), rel=1e-13)
    assert dp.mechanism("geometric", epsilon=1.0).law([0, 0], [1, 1]).probabilities.tolist() == [1]


def test_published_readings_of_figure_five_are_reproduced():
    """D, Figure 5: what it calls expMech-smooth at epsilon 1 is expMech-delta at epsilon 0.8."""
    mechanism = dp.mechanism(
        "expMech-delta", epsilon=0.8, delta=1e-8, failure_term="2n", metric="published"
    )
    sizes, readings = (
        [100, 150, 200, 250, 300, 400, 500],
        [0.194, 0.12, 0.075, 0.049, 0.042, 0.036, 0.031],
    )
    means = dp.mean_distances(mechanism, [0.5, 0.5], [1, 1], sizes, dp.hellinger_published)
    assert np.abs(means - readings).max() <= 0.002


LAW = dp.mechanism("geometric", epsilon=1.0).law([3, 3], [1, 1])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dp.mechanism("laplace", epsilon=1), ValueError, "name must be one of .*lapMech"),
        (lambda: dp.mechanism(3, epsilon=1), TypeError, "name must be a string"),
        (lambda: dp.mechanism("lapMech", epsilon=0), ValueError, "epsilon must be positive"),
        (lambda: dp.mechanism("lapMech", epsilon=-1.0), ValueError, "epsilon must be positive"),
        (lambda: dp.mechanism("lapMech", epsilon=np.nan), ValueError, "epsilon must be finite"),
        (lambda: dp.mechanism("lapMech", epsilon=np.inf), ValueError, "epsilon must be finite"),
        (lambda: dp.mechanism("lapMech", epsilon=True), TypeError, "epsilon must be a real number"),
        (lambda: dp.mechanism("lapMech", epsilon="one"), ValueError, "must be a positive number"),
        (
            lambda: dp.mechanism("lapMech", epsilon=1, gamma=2),
            TypeError,
            "lapMech has no option 'gamma'; its options are: sensitivity, rounding",
        ),
        (
            lambda: dp.mechanism("geometric", epsilon=1, delta=0.1),
            TypeError,
            "its options are: remap",
        ),
        (
            lambda: dp.mechanism("lapMech", epsilon=1, rounding="up"),
            ValueError,
            "rounding must be one of floor, nearest",
        ),
        (lambda: dp.mechanism("expMech-delta", epsilon=1, delta=1), ValueError, "delta must lie"),
        (lambda: dp.mechanism("expMech-delta", epsilon=1, delta=0), ValueError, "delta must lie"),
        (
            lambda: dp.mechanism("expMech-delta", epsilon=1, failure_term="n"),
            ValueError,
            "failure_term must be one of",
        ),
        (lambda: dp.mechanism("expMech-smooth", epsilon=1, gamma=0), ValueError, "gamma must be"),
        (lambda: dp.mechanism("expMech", epsilon=1, metric="tv"), ValueError, "metric must be one"),
        (lambda: dp.mechanism("expMech", epsilon=1, divisor=0), ValueError, "divisor must be"),
        (
            lambda: dp.mechanism("geometric", epsilon=1).law([1, 2, 3], [1, 1, 1]),
            ValueError,
            "counts must have 2 categories",
        ),
        (
            lambda: dp.mechanism("expMech-smooth", epsilon=1).law([0, 0], [1, 1]),
            ValueError,
            "at least 1 record",
        ),
        (
            lambda: dp.mechanism("lapMech", epsilon=1).law([1, -2], [1, 1]),
            ValueError,
            "counts must be at least 0",
        ),
        (lambda: LAW.quantile(1.5), ValueError, "q must lie between 0 and 1"),
        (lambda: LAW.quantile(np.nan), ValueError, "q must be finite"),
        (lambda: LAW.probability([1, 2, 3]), ValueError, "counts_out must have 2 entries"),
        (lambda: LAW.sample(np.random, 3), TypeError, "rng must be a numpy.random.Generator"),
        (
            lambda: LAW.sample(np.random.default_rng(1), -1),
            ValueError,
            "size must be an integer of at least 0",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
