"""Laws of projected sum-zero noise against every noise vector, and against lists."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.lattice import Stratum, SumZeroLaw, listed_law, log_mass, row_of
from dpbayes.laws.sum_zero import LatticeNoise, project
from tests.mechanisms.conformance import ALPHA_LIMIT
from tests.strategies import small_cases

NOISES = [LatticeNoise(3, 1.0), LatticeNoise(3, 0.3), GaussianNoise(3, 3.0), GaussianNoise(3, 0.4)]


def enumerated(x, noise, reach, projection):
    """Probability of each output, by listing noise vectors up to `reach` one by one."""
    found = Counter()
    for free in product(range(-reach, reach + 1), repeat=x.size - 1):
        z = np.array([*free, -sum(free)])
        released = project((x + z)[None, :], projection)[0]
        found[tuple(released.tolist())] += float(np.exp(-noise.fall(z).sum()))
    total = sum(found.values())
    return {row: weight / total for row, weight in found.items()}


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize("counts", [(0, 1, 3), (2, 2, 0), (0, 0, 1)])
@pytest.mark.parametrize("noise", [LatticeNoise(3, 1.5), GaussianNoise(3, 1.3)])
def test_a_list_is_the_sum_over_every_noise_vector(counts, noise, projection):
    x = np.array(counts)
    law = listed_law(np.ones(3), x, noise, projection)
    expected = enumerated(x, noise, 26, projection)
    listed = dict(zip(map(tuple, law.outputs.tolist()), law.probabilities, strict=True))
    assert set(expected) <= set(listed)
    for row, mass in listed.items():
        assert mass == pytest.approx(expected.get(row, 0.0), rel=1e-9, abs=1e-16)
    assert law.mass_outside < 1e-13


@pytest.mark.parametrize("counts", [(60, 1, 0), (0, 0, 400)])
def test_far_outputs_keep_their_relative_accuracy(counts):
    # Below what floats hold; the ratio of neighbouring laws is what an audit asks for.
    noise = LatticeNoise(3, 5.0)
    x = np.array(counts)
    neighbour = x + np.array([1, 0, -1]) if x[2] else x + np.array([-1, 0, 1])
    one, other = (listed_law(np.ones(3), y, noise, "l2") for y in (x, neighbour))
    ratio = np.abs(one.log_probabilities - other.log_probabilities)
    assert np.isfinite(ratio).all()
    assert ratio.max() <= 5.0 + 1e-9
    assert ratio.max() > 4.9


def test_a_window_of_many_candidates():
    x, noise = np.array([1200, 3, 900]), LatticeNoise(3, 1.0)
    law = listed_law(np.ones(3), x, noise, "l2")
    assert len(law.outputs) < 10_000
    assert law.probabilities.sum() == pytest.approx(1.0, abs=2e-13)
    free = SumZeroLaw(np.ones(3), x, noise)
    row = x + np.array([4, -2, -2])
    assert law.probability(row) == pytest.approx(float(free.probability(row)), rel=1e-12)
    draws = free.sample(np.random.default_rng(1), 100_000)
    share = (draws[:, 1] == 0).mean()
    wanted = law.probabilities[law.outputs[:, 1] == 0].sum()
    assert abs(share - wanted) < 6 * np.sqrt(wanted / 100_000)


def test_what_is_too_long_is_not_listed():
    assert listed_law(np.ones(8), np.full(8, 50), GaussianNoise(8, 100.0), "l2") is None
    assert listed_law(np.ones(8), np.full(8, 50), LatticeNoise(8, 0.1), "l2") is None
    assert listed_law(np.ones(5), np.full(5, 10), LatticeNoise(5, 0.05), "l2") is None


def test_no_records_and_two_categories():
    law = listed_law(np.ones(3), np.zeros(3, dtype=np.int64), LatticeNoise(3, 1.0), "l2")
    assert law.probabilities.tolist() == [1.0]
    for noise in (LatticeNoise(2, 0.7), GaussianNoise(2, 2.0)):
        law = listed_law(np.ones(2), np.array([3, 5]), noise, "l2")
        z = np.arange(-200, 201)
        weights = np.exp(-2.0 * noise.fall(z))
        ends = np.bincount(np.clip(3 + z, 0, 8), weights / weights.sum())
        np.testing.assert_allclose(law.probabilities, ends, rtol=1e-12)


@given(small_cases((2, 3, 4), (9, 6, 4)))
def test_rows_are_numbered_as_they_are_listed(case):
    counts, _ = case
    rows = dp.compositions(int(counts.sum()), counts.size)
    assert row_of(rows).tolist() == list(range(len(rows)))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_a_mean_that_nothing_clamps_is_that_of_the_list(noise, metric):
    x, prior = np.array([330, 250, 420]), np.array([1.0, 0.3, 2.0])
    exact, law = listed_law(prior, x, noise, "l2"), SumZeroLaw(prior, x, noise)
    assert law.clamped < 1e-12
    for name in ("mean_distance", "mean_square"):
        found = getattr(law, name)(metric)
        assert found.how == "series"
        assert found.error < 1e-9
        assert abs(found - getattr(exact, name)(metric)) <= found.error + 2e-13


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(
    ("counts", "noise"),
    [
        ((4, 20, 30), LatticeNoise(3, 1.0)), ((4, 4, 30), LatticeNoise(3, 1.0)),
        ((9, 20, 30), GaussianNoise(3, 9.0)), ((16, 20, 30), LatticeNoise(3, 1.0)),
        ((6, 6, 7, 50), LatticeNoise(4, 1.5)),
    ],
)  # fmt: skip
def test_only_what_is_clamped_is_drawn(counts, noise, projection):
    x = np.array(counts)
    prior = np.linspace(0.4, 2.0, x.size)
    exact, law = listed_law(prior, x, noise, projection), SumZeroLaw(prior, x, noise, projection)
    shifts = noise.points(noise.reach(1e-12))
    weights = np.exp(log_mass(noise, shifts))
    negative = (x + shifts < 0).sum(axis=1)
    assert law.clamped == pytest.approx(weights[negative > 0].sum(), abs=1e-11)
    assert sum(s.mean for s in law._strata) == pytest.approx(weights @ negative, abs=1e-11)
    for name in ("mean_distance", "mean_square"):
        found = getattr(law, name)()
        assert found.how == "drawn"
        assert abs(found - getattr(exact, name)()) <= 4.5 * found.error + 1e-12
        assert found.error < 5e-3 * found


@pytest.mark.parametrize("counts", [(0, 3, 9), (5, 5, 5), (0, 0, 40)])
@pytest.mark.parametrize("noise", NOISES)
def test_what_is_mostly_clamped_is_drawn_altogether(counts, noise):
    x, prior = np.array(counts), np.array([1.0, 0.02, 3.0])
    exact, law = listed_law(prior, x, noise, "l2"), SumZeroLaw(prior, x, noise)
    for name in ("mean_distance", "mean_square"):
        found = getattr(law, name)()
        assert abs(found - getattr(exact, name)()) <= 4.5 * found.error + 1e-9


def test_a_little_clamping_is_halved():
    x, noise = np.array([23, 40, 60]), LatticeNoise(3, 1.0)
    law, exact = SumZeroLaw(np.ones(3), x, noise), listed_law(np.ones(3), x, noise, "l2")
    assert 1e-12 < law.clamped < 1e-9
    mean = law.mean_distance()
    assert mean.how == "series"
    assert 0.5 * law.clamped <= mean.error < 1e-9
    assert abs(mean - exact.mean_distance()) <= mean.error


def test_noise_that_fits_no_table_is_drawn(monkeypatch):
    from dpbayes.laws import convolution

    x, noise = np.array([330, 250, 420]), LatticeNoise(3, 0.3)
    exact = listed_law(np.ones(3), x, noise, "l2").mean_distance()
    noise.draw(np.random.default_rng(1), 1)  # its own table is kept
    monkeypatch.setattr(convolution, "LARGEST_TABLE", 100)
    mean = SumZeroLaw(np.ones(3), x, noise).mean_distance()
    assert mean.how == "drawn"
    assert abs(mean - exact) < 4.5 * mean.error


@pytest.mark.parametrize("noise", NOISES)
def test_strata_are_noise_with_one_count_negative(noise):
    x, size = np.array([2, 5, 2]), 40_000
    stratum = Stratum.of(noise, x, 2)
    drawn = stratum.draw(np.random.default_rng(2), x, size)
    assert not drawn.sum(axis=1).any()
    below = x + drawn < 0
    assert (below[:, 0] | below[:, 2]).all()
    points = noise.points(noise.reach(1e-12))
    p = np.exp(log_mass(noise, points))
    chosen = (points[:, 0] < -2).astype(float) + (points[:, 2] < -2)
    expected = (p * chosen) @ np.abs(points) / (p @ chosen)
    error = np.abs(drawn).std(axis=0) / np.sqrt(size)
    assert (np.abs(np.abs(drawn).mean(axis=0) - expected) < 6 * error + 1e-12).all()


@pytest.mark.parametrize(
    ("counts", "epsilon", "exact"),
    [([125] * 8, 0.1, 0.9477662524578), ([40] * 5, 0.25, 0.7095652182342)],  # by sums over levels
)
def test_two_negative_counts_that_no_draw_shows_are_in_the_error(counts, epsilon, exact):
    mean = dp.mechanism("lattice", epsilon).law(counts, [1.0] * len(counts)).mean_distance()
    assert mean.how == "drawn"
    assert abs(mean - exact) <= 4.5 * mean.error
    assert 1e-8 < mean.error < 1e-6


def test_one_probability_is_exact_where_nothing_is_clamped_and_refused_elsewhere():
    prior, x, noise = np.ones(3), np.array([25, 18, 30]), LatticeNoise(3, 1.0)
    law, exact = SumZeroLaw(prior, x, noise), listed_law(prior, x, noise, "l2")
    for row in ([25, 18, 30], [26, 17, 30], [24, 20, 29]):
        assert law.probability(row) == pytest.approx(float(exact.probability(row)), rel=1e-12)
    assert law.probability([25, 18, 31]) == 0.0
    with pytest.raises(ValueError, match="counts_out must be positive at this size"):
        law.probability([0, 43, 30])


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(
    ("noise", "wider"),
    [(LatticeNoise(3, 1.0), LatticeNoise(3, 0.9)), (GaussianNoise(3, 3.0), GaussianNoise(3, 3.6))],
)
def test_samples_have_the_law_and_not_one_a_tenth_wider(noise, wider, projection):
    prior, x, size = np.ones(3), np.array([4, 0, 6]), 30_000
    law = SumZeroLaw(prior, x, noise, projection)
    rows, seen = np.unique(law.sample(np.random.default_rng(9), size), axis=0, return_counts=True)

    def statistic(other):
        expected = size * listed_law(prior, x, other, projection).probability(rows)
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(noise) < ALPHA_LIMIT < statistic(wider)


@given(st.integers(2, 6), st.floats(0.2, 3.0))
@settings(max_examples=10, deadline=None)
def test_many_records_leave_the_quadratic_form(k, epsilon):
    # H^2 is close to sum z_i^2 / (8 a_i), so that E[H^2] is known to 1/n.
    n = 10**7
    law = SumZeroLaw(np.ones(k), np.full(k, n), LatticeNoise(k, epsilon))
    z = law.noise.draw(np.random.default_rng(0), 20_000).astype(float)
    square = (z**2).sum(axis=1) / (8 * n)
    assert abs(law.mean_square() - square.mean()) < 6 * square.std() / 140
