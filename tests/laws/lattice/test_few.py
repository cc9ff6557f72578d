"""Lattice noise on few counts, summed by panels: lists, the levels of the projection, draws."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.laws.lattice import transforms
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.few import FewCategories
from dpbayes.laws.lattice.law import LatticeLaw
from dpbayes.laws.lattice.listed import listed_law
from dpbayes.laws.panels import graded, range_points
from dpbayes.posteriors import compositions


def cases(number, k, largest):
    rng = np.random.default_rng(11)
    for _ in range(number):
        n, epsilon = int(10 ** rng.uniform(0.7, largest)), float(10 ** rng.uniform(-1.2, 1))
        x = rng.multinomial(n, rng.dirichlet(np.full(k, 0.4)))
        yield x, epsilon, 10.0 ** rng.uniform(-9, 3, size=k)


@pytest.mark.parametrize(("x", "epsilon", "prior"), [*cases(25, 3, 3), *cases(20, 4, 1.8)])
def test_means_against_the_list(x, epsilon, prior):
    listed, law = listed_law(prior, x, epsilon, "l2"), FewCategories(prior, x, epsilon)
    found = law.mean(distance_from_log_affinity)
    assert found.error < 1e-9
    assert abs(found - listed.mean_distance()) <= found.error + listed.mass_outside
    square = law.mean(lambda logs: -np.expm1(logs))
    assert abs(square - listed.expectation(listed.distances**2)) <= square.error


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([3, 1, 4], 0.3),
        ([0, 0, 7], 1.0),
        ([0, 6, 0], 0.05),
        ([5, 0, 5], 2.0),
        ([1, 1, 1], 0.7),
        ([3, 1, 4, 1], 0.3),
        ([0, 0, 7, 0], 1.0),
        ([1, 1, 1, 1], 0.1),
        ([0, 5, 5, 2], 3.0),
    ],
)
def test_probability_of_every_output_against_the_list(counts, epsilon):
    x, prior = np.array(counts), np.ones(len(counts))
    listed, law = listed_law(prior, x, epsilon, "l2"), FewCategories(prior, x, epsilon)
    outputs = compositions(int(x.sum()), x.size)
    found = np.array([law.probability(output) for output in outputs])
    np.testing.assert_allclose(found, listed.probabilities, rtol=1e-11, atol=1e-16)
    assert abs(found.sum() - 1.0) < 1e-12
    inside = LatticeLaw(prior, x, epsilon, "l2")._free.means(np.zeros(1))[0]
    assert law.clamped == pytest.approx(1.0 - inside, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([1_999_990, 10, 0], 1e-4),
        ([999_999_990, 10, 0], 1e-3),
        ([0, 0, 50_000], 3e-3),
        ([70_000, 20_000, 400], 1e-3),
        ([10**9, 10**9, 10**9], 1e-4),
        ([0, 392, 2277, 3662], 0.1),
        ([9999, 10, 0, 4], 0.01),
        ([300, 0, 0, 5000], 0.05),
        ([100_000_000, 0, 0, 3], 1e-5),
        ([1_000_000, 500_000, 0], 2e-6),
    ],
)
def test_wide_noise_over_large_counts_lies_within_the_error_of_draws(counts, epsilon):
    law = dp.mechanism("lattice", epsilon).law(counts, [1.0, 0.5, 2.0, 1.0][: len(counts)])
    estimate = law.mean_distance()
    assert estimate.how == "quadrature"
    assert estimate.error < 1e-9
    draws = law.sample(np.random.default_rng(3), 20_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - estimate) < 6 * distances.std() / np.sqrt(20_000) + 1e-9
    square = law.mean_square()
    assert abs((distances**2).mean() - square) < 6 * (distances**2).std() / np.sqrt(20_000) + 1e-9
    empty = (draws == 0).sum(axis=1)
    for zeros in (1, 2):
        rows = draws[empty == zeros]
        if len(rows) == 0:
            continue
        place, counted = np.unique(rows, axis=0, return_counts=True)
        often = int(np.argmax(counted))
        share = float(law.probability(place[often]))
        assert abs(counted[often] / 20_000 - share) < 6 * np.sqrt(share / 20_000) + 1e-3


def test_panels_across_equal_counts_against_every_output():
    # Two equal inner counts, which are more probable, there are for every second of the outer one.
    law = FewCategories(np.ones(4), np.array([700, 210, 224, 0]), 0.03)
    outputs = compositions(int(law.counts.sum()), 3)
    held = list(outputs[(outputs > 0).all(axis=1)].T)
    weights = law._landings.weights((0, 1, 2), held)
    logs = sum(law._log_of(one, released) for one, released in enumerate(held))
    below = 1.0 - distance_from_log_affinity(logs)
    found, doubt = law._face(lambda logs: 1.0 - distance_from_log_affinity(logs), (0, 1, 2), 0.0)
    expected = np.array([below @ weights, weights.sum()])
    assert (np.abs(found - expected) <= doubt + 1e-12 * expected).all()
    assert (doubt <= 1e-9 * expected).all()


@pytest.mark.parametrize(("counts", "epsilon"), [([400, 3, 60], 0.05), ([0, 900, 9], 0.2)])
def test_panels_and_levels_agree(counts, epsilon):
    x, prior = np.array(counts), np.array([0.5, 1.0, 1.5])
    law, part = FewCategories(prior, x, epsilon), ClampedPart(prior, x, epsilon)
    one_less = law.mean(lambda logs: -np.expm1(3.0 * logs), 3.0)
    unclamped = LatticeLaw(prior, x, epsilon, "l2")._free.means(np.array([3.0]))[0]
    found, error = part.wide.moment(3.0)
    assert abs(1.0 - one_less - unclamped - found) <= error + one_less.error + 1e-11


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([30, 5], 0.3), ([500, 0], 0.01), ([40, 60], 0.001), ([3000, 100], 0.002)],
)
def test_two_categories_against_the_list(counts, epsilon):
    x, prior = np.array(counts), np.array([0.5, 2.0])
    law, listed = FewCategories(prior, x, epsilon), listed_law(prior, x, epsilon, "l2")
    found = law.mean(distance_from_log_affinity)
    assert abs(found - listed.mean_distance()) <= found.error + listed.mass_outside
    all_in_one = np.array([x.sum(), 0])
    expected = listed.probabilities[listed.outputs[:, 1] == 0][0]
    assert law.probability(all_in_one) == pytest.approx(expected, rel=1e-10)


def test_two_counts_in_a_million_with_wide_noise_are_summed_by_panels():
    law = LatticeLaw(np.ones(2), np.array([10**6, 0]), 1e-5, "l2")
    found = law.mean_distance()
    assert found.how == "quadrature"
    assert found.error < 1e-11


def test_a_series_where_nothing_is_clamped_and_noise_is_not_wide():
    law = dp.mechanism("lattice", 0.01).law([30_000, 40_000, 20_000], [1, 1, 1])
    series = law.mean_distance()
    assert series.how == "series"
    panels = FewCategories(law.prior, law.counts, 0.01).mean(distance_from_log_affinity)
    assert abs(series - panels) <= series.error + panels.error


def test_no_series_is_summed_for_what_is_drawn(monkeypatch):
    monkeypatch.setattr(
        LatticeLaw, "_series", lambda *_: pytest.fail("a series was summed and thrown away")
    )
    law = LatticeLaw(np.ones(65), np.full(65, 3), 0.5, "l2")
    assert law.mean_distance().how == "draws"
    assert LatticeLaw(np.ones(3), np.array([900, 9, 0]), 0.05, "l1").mean_distance().how == "draws"


def test_transforms_of_wide_noise_are_taken_a_few_at_a_time(monkeypatch):
    law = LatticeLaw(np.ones(4), np.array([9000, 8000, 7000, 9500]), 0.05, "l2")
    powers = np.linspace(0.0, 50.0, 70)
    expected = law._free.means(powers)
    monkeypatch.setattr(transforms, "NUMBERS", 1)
    # Each block of powers has the steps and the length that it needs.
    np.testing.assert_allclose(law._free.means(powers), expected, rtol=1e-13)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 31, 32, 33, 100, 1000, 4097, 10**9 + 7])
def test_graded_panels_hold_each_number_once(size):
    points = graded(size, 1 << 12 if size < 10**6 else 1 << 40)
    assert points.weights.sum() == pytest.approx(size, rel=1e-13)
    assert np.unique(points.places).size == points.places.size
    if size:
        assert points.places[0] == 0
        assert points.places[-1] == size - 1
        squares = points.weights @ points.places.astype(float) ** 2
        assert squares == pytest.approx((size - 1) * size * (2 * size - 1) / 6, rel=1e-12)


def test_points_over_ranges_that_hold_no_number():
    assert range_points([1, 1], 16).places.size == 0
    assert range_points([3, 5, 9], 16).places.tolist() == [3, 4, 5, 6, 7, 8]
