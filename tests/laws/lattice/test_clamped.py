"""Clamped noise level by level, against the list of all noisy vectors."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.circles import Circle
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.heights import Heights
from dpbayes.laws.lattice.law import LatticeLaw
from dpbayes.laws.lattice.listed import listed_law
from dpbayes.laws.lattice.pivots import Level
from dpbayes.laws.square_root import fitted_root
from dpbayes.posteriors import compositions

CASES = [
    ([2, 3], 1.0, [1.0, 1.0]),
    ([0, 1, 4], 1.5, [1.0, 1.0, 1.0]),
    ([3, 0, 5], 2.0, [0.3, 2.0, 1.0]),
    ([0, 7, 93], 2.0, [1.0, 1.0, 1.0]),
    ([1, 2, 0, 4], 1.5, [1.0, 1.0, 1.0, 1.0]),
    ([2, 2, 2, 2], 2.0, [1.0, 1.0, 1.0, 1.0]),
    ([5, 5, 2, 5], 2.0, [1.0, 1.0, 0.5, 3.0]),
    ([0, 0, 0, 9], 3.0, [1e-3, 1.0, 1.0, 50.0]),
]


@pytest.fixture(autouse=True)
def _levels_for_few_categories_too(monkeypatch):
    monkeypatch.setattr(LatticeLaw, "_few", None)


@pytest.mark.parametrize(("counts", "epsilon", "prior"), CASES)
def test_moments_against_the_list(counts, epsilon, prior):
    x, alpha = np.array(counts), np.array(prior)
    listed = listed_law(alpha, x, epsilon, "l2")
    direct = -0.5 * epsilon * np.abs(listed.outputs - x).sum(axis=1)
    direct -= noise.log_normaliser(x.size, epsilon)
    clamped = listed.probabilities - np.exp(direct)
    logs = log_affinity_of_outputs(alpha, x, listed.outputs)
    powers = np.array([0.5, 1.0, 3.0, 20.0, 200.0])
    found, error = ClampedPart(alpha, x, epsilon).moments(powers, float(clamped.sum()))
    assert error < 2e-11
    expected = [float((clamped * np.exp(power * logs)).sum()) for power in powers]
    np.testing.assert_allclose(found, expected, rtol=0, atol=error + listed.mass_outside)


@pytest.mark.parametrize(("counts", "epsilon", "prior"), [CASES[2], CASES[5], CASES[7]])
def test_law_without_a_list_against_the_list(counts, epsilon, prior):
    x, alpha = np.array(counts), np.array(prior)
    listed, law = listed_law(alpha, x, epsilon, "l2"), LatticeLaw(alpha, x, epsilon, "l2")
    for metric in (dp.hellinger, dp.hellinger_published):
        estimate = law.mean_distance(metric)
        assert estimate.how == "series"
        assert estimate.error < 1e-9
        assert abs(estimate.value - listed.mean_distance(metric)) <= estimate.error
    square = listed.expectation(listed.distances**2)
    assert law.mean_square() == pytest.approx(square, abs=1e-10)
    assert law.variance() == pytest.approx(square - listed.mean_distance() ** 2, abs=1e-9)


@pytest.mark.parametrize(("counts", "epsilon"), [([0, 1, 2], 2.0), ([3, 0, 2], 3.0)])
def test_probability_of_each_output_against_the_list(counts, epsilon):
    x, alpha = np.array(counts), np.ones(3)
    listed, law = listed_law(alpha, x, epsilon, "l2"), LatticeLaw(alpha, x, epsilon, "l2")
    found = [law.probability(row) for row in listed.outputs]
    np.testing.assert_allclose(found, listed.probabilities, rtol=0, atol=1e-14)
    assert sum(found) == pytest.approx(1.0, abs=1e-12)


def test_probability_with_four_categories_where_windows_touch():
    x, alpha = np.array([0, 0, 7, 5]), np.ones(4)
    listed, law = listed_law(alpha, x, 1.5, "l2"), LatticeLaw(alpha, x, 1.5, "l2")
    for row in range(0, len(listed.outputs), 90):
        wanted = listed.probabilities[row]
        assert law.probability(listed.outputs[row]) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([3, 20, 2], 0.2), ([5, 0, 12, 3], 0.25), ([20, 20, 20], 0.02), ([12, 8, 5, 3], 0.05)],
)
def test_wide_noise_against_the_list(counts, epsilon):
    x, alpha = np.array(counts), np.linspace(0.5, 1.5, len(counts))
    listed, law = listed_law(alpha, x, epsilon, "l2"), LatticeLaw(alpha, x, epsilon, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    assert abs(estimate.value - listed.mean_distance()) <= estimate.error


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [((10,) * 10, 1.0), ((0, 0, 7, 93), 2.0), ((2,) * 50, 1.0), ((3,) * 8, 0.1)],
)
def test_means_where_users_are_lie_within_the_error_of_draws(counts, epsilon):
    law = LatticeLaw(np.ones(len(counts)), np.array(counts), epsilon, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    draws = law.sample(np.random.default_rng(5), 20_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - estimate.value) < 6 * distances.std() / np.sqrt(20_000) + 1e-9


@pytest.mark.parametrize(
    ("counts", "at_once", "one_by_one"),
    [
        ([5000, 2500, 1250, 625, 312, 156, 78, 39, 15, 5], 0.7, 0.5),
        # The root needs 44 powers where a count is zero.
        ([100_000, 0, 0, 3, 50, 1000], 1.5, 0.8),
        (list(range(50)), 1.0, 0.5),
        ([11_019, 7309, 1560, 302], 0.3, 0.02),
        ([10] * 10, 0.5, 0.1),
        ([12, 8, 5, 3, 2, 0], 0.5, 0.05),
    ],
)
def test_noise_is_followed_all_powers_at_once_or_one_by_one(counts, at_once, one_by_one):
    x = np.array(counts)
    assert ClampedPart(np.ones(x.size), x, at_once).affordable
    part = ClampedPart(np.ones(x.size), x, one_by_one)
    assert not part.affordable
    assert part.wide.possible


def test_more_categories_than_products_hold_are_not_followed():
    counts, epsilon = [3] * 65, 0.5
    part = ClampedPart(np.ones(len(counts)), np.array(counts), epsilon)
    assert not part.affordable
    assert not part.wide.possible
    assert part.mean_root(1.0, 0.5)[1] == np.inf
    assert part.mean_power(1.0, 0.5)[1] == np.inf


@pytest.mark.parametrize("counts", [(3, 0, 5), (12, 8, 5, 3, 2, 0)])
@pytest.mark.parametrize("t", [0, 3, 200])
def test_few_records_need_few_nodes(counts, t):
    x = np.array(counts)
    part = ClampedPart(np.ones(x.size), x, 0.05)
    heights = Heights(x - part.reach, x + part.reach, t, int(x.sum()))
    level = Level(part.prior, x, 0.05, t, heights)
    shortfall = level.shortfall_circle()
    circle = level.record_circle(1.0, shortfall, None)
    assert circle.nodes <= x.size * (x.sum() + 2)
    sums = [
        level.parts(np.ones(1), Circle(circle.log_radius, nodes), shortfall, np.array([0])).sum()
        for nodes in (circle.nodes, 3 * circle.nodes)
    ]
    assert sums[0] == pytest.approx(sums[1], abs=1e-13 / level.scale)


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.002])
def test_the_circle_of_the_shortfall_is_no_longer_where_noise_is_wide(epsilon):
    x = np.full(10, 10)
    part = ClampedPart(np.ones(x.size), x, epsilon)
    for t in (10, part.reach // 3, 2 * part.reach // 3):
        heights = Heights(x - part.reach, x + part.reach, t, int(x.sum()))
        assert Level(part.prior, x, epsilon, t, heights).shortfall_circle().nodes <= 32


@pytest.mark.parametrize("counts", [(1, 4, 2), (3, 3, 1, 5), (0, 2, 3)])
def test_clamped_noise_moves_the_posterior_by_the_gap(counts):
    x, alpha = np.array(counts), np.linspace(0.5, 2.0, len(counts))
    outputs = compositions(int(x.sum()), x.size)
    clamped = outputs[(outputs == 0).any(axis=1) & (outputs != x).any(axis=1)]
    nearest = float(log_affinity_of_outputs(alpha, x, clamped).max())
    assert nearest <= -ClampedPart(alpha, x, 1.0).gap < 0.0


@pytest.mark.parametrize("gap", [40.0, 5.0, 2.7, 2.3, 0.7, 0.024, 0.02, 3e-5, 1e-8])
def test_fitted_root_keeps_its_error(gap):
    root = fitted_root(gap)
    assert root.error < 2e-10
    assert np.abs(root.weights).sum() < 20
    depths = np.geomspace(gap, 300.0, 3331)
    z = np.exp(-np.outer(depths, root.powers))
    exact = -np.expm1(-depths)
    assert np.abs(1.0 - z @ root.weights - np.sqrt(exact)).max() <= 1.05 * root.error


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [
        ((3, 0, 2), (1.0, 1.0, 1.0), 0.05),
        ((3, 0, 2), (0.5, 1.0, 2.0), 0.02),
        ((1, 0, 0, 0), (1.0, 1.0, 1.0, 1.0), 0.05),
        ((5, 4, 0), (1.0, 1.0, 1.0), 0.03),
        ((2, 7), (1.0, 1.0), 0.02),
        ((3, 0), (1.0, 1.0), 0.02),
    ],
)
def test_a_thousand_levels_keep_their_digits(counts, prior, epsilon):
    x, alpha = np.array(counts), np.array(prior)
    law = LatticeLaw(alpha, x, epsilon, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    listed = listed_law(alpha, x, epsilon, "l2")
    assert estimate.value == pytest.approx(listed.mean_distance().value, abs=5e-12)
    if x.min() == 0:  # the counts themselves, where clamped noise may end
        rows = (listed.outputs == x).all(axis=1)
        probability = law.one_probability(x)
        assert probability.value == pytest.approx(
            np.exp(listed.log_probabilities[rows])[0], abs=1e-13
        )


@pytest.mark.parametrize(("counts", "epsilon"), [((2, 1, 0), 1.0), ((5, 3, 1, 1, 0), 0.5)])
def test_a_sum_that_lost_its_digits_is_drawn(monkeypatch, counts, epsilon):
    x = np.array(counts)
    law = LatticeLaw(np.ones(x.size), x, epsilon, "l2")
    assert law.mean_distance().how == "series"
    assert law.mean_square().how == "series"
    monkeypatch.setattr("dpbayes.laws.lattice.clamped.NEGLECTED", 1e-5)
    assert law.mean_distance().how == "draws"
    assert law.mean_square().how == "draws"
