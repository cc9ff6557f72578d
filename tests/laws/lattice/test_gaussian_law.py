"""Laws of projected discrete Gaussian noise against sums over every noise vector."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from mpmath import mp

from dpbayes.laws.lattice import gaussian, gaussian_law
from dpbayes.laws.lattice.gaussian_law import GaussianLatticeLaw, draw, listed_law
from dpbayes.laws.lattice.projection import project
from dpbayes.mechanisms.discrete_gaussian import DiscreteGaussian
from tests.mechanisms.conformance import ALPHA_LIMIT


def test_sums_keep_their_digits_where_floats_end():
    rows = np.array([4, 1, 4, 2, 1, 4, 2, 0])
    logs = np.array([-900.0, -1.0, -901.0, -720.0, -3.0, -900.5, -580.0, -2000.0])
    found = gaussian_law._log_sums(rows, logs, 6)
    wanted = [-np.inf if not len(part) else np.logaddexp.reduce(part)
              for part in (logs[rows == i] for i in range(6))]  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


@pytest.mark.parametrize("variance", [0.3, 2.7, 40.0])
@pytest.mark.parametrize("counts", [(0, 5), (3, 4), (9, 0)])
def test_two_categories_are_clamped_sums_of_the_definition(counts, variance):
    law = listed_law(np.array([1.0, 0.5]), np.array(counts), variance, "l2")
    n = sum(counts)
    with mp.workdps(30):
        weights = {z: mp.exp(-mp.mpf(z * z) / mp.mpf(variance)) for z in range(-90, 91)}
        total = mp.fsum(weights.values())
        expected = [mp.mpf(0)] * (n + 1)
        for z, weight in weights.items():
            expected[min(max(counts[0] + z, 0), n)] += weight / total
        assert law.outputs[:, 0].tolist() == list(range(n + 1))
        np.testing.assert_allclose(law.probabilities, [float(p) for p in expected], rtol=1e-11)


def enumerated(x, variance, reach, projection):
    """Probability of each output by listing noise vectors up to `reach`."""
    found = Counter()
    for free in product(range(-reach, reach + 1), repeat=x.size - 1):
        z = np.array([*free, -sum(free)])
        released = project((x + z)[None, :], projection)[0]
        found[tuple(released.tolist())] += np.exp(-0.5 * float(z @ z) / variance)
    total = sum(found.values())
    return {row: weight / total for row, weight in found.items()}


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(("counts", "variance"), [((0, 1, 3), 1.3), ((2, 2, 0), 0.4)])
def test_three_categories_against_every_noise_vector(counts, variance, projection):
    x = np.array(counts)
    law = listed_law(np.ones(3), x, variance, projection)
    expected = enumerated(x, variance, 14, projection)
    listed = dict(zip(map(tuple, law.outputs.tolist()), law.probabilities, strict=True))
    assert set(expected) <= set(listed)
    for row, mass in listed.items():
        assert mass == pytest.approx(expected.get(row, 0.0), abs=law.mass_outside + 1e-13)
    assert law.mass_outside < 1e-15


def test_what_is_too_long_to_list_is_not_listed():
    assert listed_law(np.ones(8), np.full(8, 50), 100.0, "l2") is None


@pytest.mark.parametrize("variance", [0.9, 2.1])
def test_the_mean_without_a_list_is_that_of_the_list(variance):
    x, prior = np.array([25, 18, 30]), np.array([1.0, 0.3, 2.0])
    listed = listed_law(prior, x, variance, "l2")
    law = GaussianLatticeLaw(prior, x, variance, "l2")
    assert law.clamped < 1e-12
    mean, square = law.mean_distance(), law.mean_square()
    assert (mean.how, square.how) == ("series", "series")
    assert mean.error < 1e-11
    assert abs(mean.value - listed.mean_distance()) <= mean.error + 1e-12
    assert square.value == pytest.approx(listed.expectation(listed.distances**2), abs=2e-12)


def test_clamping_widens_the_error_or_sends_the_mean_to_draws():
    prior, x = np.ones(3), np.array([9, 20, 30])
    listed = listed_law(prior, x, 4.0, "l2")
    law = GaussianLatticeLaw(prior, x, 4.0, "l2")
    mean = law.mean_distance()
    assert 1e-9 < law.clamped < 1e-4
    assert mean.error >= 0.5 * law.clamped
    assert abs(mean.value - listed.mean_distance()) <= mean.error
    near = GaussianLatticeLaw(prior, np.array([1, 20, 30]), 4.0, "l2").mean_distance()
    exact = listed_law(prior, np.array([1, 20, 30]), 4.0, "l2").mean_distance()
    assert near.how != "series"
    assert abs(near.value - exact) <= near.error


def test_one_probability_is_the_weight_of_one_noise_vector():
    prior, x = np.ones(3), np.array([25, 18, 30])
    law = GaussianLatticeLaw(prior, x, 2.1, "l2")
    listed = listed_law(prior, x, 2.1, "l2")
    for output in ([25, 18, 30], [26, 17, 30], [24, 20, 29]):
        row = np.array(output)
        assert law.probability(row) == pytest.approx(float(listed.probability(row)), rel=1e-12)
    assert float(law.probability([25, 18, 31])) == 0.0
    with pytest.raises(ValueError, match="counts_out must be positive at this size"):
        law.probability([0, 43, 30])


@pytest.mark.parametrize("projection", ["l1", "l2"])
def test_samples_have_the_law_and_not_one_a_tenth_wider(projection):
    prior, x, size = np.ones(3), np.array([4, 0, 6]), 30_000
    law = GaussianLatticeLaw(prior, x, 3.0, projection)
    rows, seen = np.unique(law.sample(np.random.default_rng(9), size), axis=0, return_counts=True)

    def statistic(variance):
        expected = size * listed_law(prior, x, variance, projection).probability(rows)
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(3.0) < ALPHA_LIMIT < statistic(3.0 * 1.21)


def test_noise_sums_to_zero_and_has_the_variance_of_the_definition():
    z = draw(np.random.default_rng(4), 4, 5.0, 40_000)
    assert z.shape == (40_000, 4)
    assert not z.sum(axis=1).any()
    # At this variance the lattice is fine: E z_i^2 = v (1 - 1/k) to e^-90.
    assert np.allclose((z**2).mean(axis=0), 3.75, atol=6 * np.sqrt(2) * 3.75 / 200)
    assert draw(np.random.default_rng(4), 4, 5.0, 0).shape == (0, 4)


def test_a_thousand_nearly_empty_categories_are_drawn_in_little_memory():
    law = GaussianLatticeLaw(np.ones(1000), np.array([5] + [0] * 999), 30.0, "l2")
    shifts = draw(np.random.default_rng(4), 1000, 30.0, 500)
    assert not shifts.sum(axis=1).any()
    # E z_i^2 = v (1 - 1/k); its mean over half a million entries is known to .2 per cent.
    assert (shifts.astype(float) ** 2).mean() == pytest.approx(30 * 0.999, rel=1.2e-2)
    tracemalloc.start()
    outputs = law.sample(np.random.default_rng(5), 500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * outputs.nbytes


@pytest.mark.parametrize("k", [3, 5])
def test_draws_have_the_law_of_the_definition_and_not_one_a_tenth_wider(k):
    size, variance = 60_000, 1.5
    rows, seen = np.unique(
        draw(np.random.default_rng(6), k, variance, size), axis=0, return_counts=True
    )

    def statistic(v):
        logs = -0.5 * (rows.astype(float) ** 2).sum(axis=1) / v
        expected = size * np.exp(logs - gaussian.log_normaliser(k, v))
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(variance) < ALPHA_LIMIT < statistic(variance * 1.1)


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 200.0])
@pytest.mark.parametrize("counts", [[150, 150, 150], [10**6, 7, 900, 40], [3000, 2000, 5000]])
def test_no_mean_is_negative(epsilon, counts):
    mechanism = DiscreteGaussian(epsilon, 1e-6)
    law = GaussianLatticeLaw(
        np.ones(len(counts)), np.array(counts), mechanism.variance(len(counts)), "l2"
    )
    for mean in (law.mean_distance(), law.mean_square()):
        assert 0.0 <= mean <= 1.0
        assert mean.error >= 0.0
