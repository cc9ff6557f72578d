"""The discrete Gaussian mechanism: its promise by exact audit, its laws on two roads."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.lattice import SumZeroLaw
from dpbayes.laws.sum_zero import project
from dpbayes.mechanisms.lattice import DiscreteGaussian
from dpbayes.mechanisms.protocol import guarantee


@pytest.mark.parametrize(("n", "k"), [(12, 2), (5, 3)])
def test_the_promise_is_kept_and_nearly_used_up(n: int, k: int) -> None:
    for epsilon, delta in ((1.0, 1e-2), (0.5, 1e-3)):
        mechanism = dp.mechanism("discrete-gaussian", epsilon, delta=delta)
        audit = dp.audit(mechanism, n, [1.0] * k)
        assert audit.delta(epsilon) <= delta
        stated = guarantee(mechanism, k)
        assert (stated.epsilon, stated.delta) == (epsilon, delta)
    audit = dp.audit(dp.mechanism("discrete-gaussian", 1.0, delta=1e-2), 20, [1.0, 1.0])
    assert audit.delta(1.0) > 0.99e-2


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[3, 9], [0, 5], [2, 3, 4], [0, 0, 6], [1, 2, 1, 2]])
def test_the_law_is_that_of_draws(counts: list[int]) -> None:
    mechanism = DiscreteGaussian(2.0, 1e-2)
    law = mechanism.law(counts, np.ones(len(counts)))
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    noise = GaussianNoise(len(counts), mechanism.variance(len(counts)))
    shifts = noise.draw(np.random.default_rng(1), 100_000)
    released = project(np.array(counts) + shifts)
    index = {tuple(row): i for i, row in enumerate(law.outputs.tolist())}
    found = np.bincount([index[tuple(r)] for r in released.tolist()], minlength=len(index))
    error = np.sqrt(1e5 * law.probabilities * (1 - law.probabilities)) + 1.0
    assert np.all(np.abs(found - 1e5 * law.probabilities) < 6 * error)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[60, 80, 70], [400, 500], [45, 45, 50, 60]])
def test_the_series_agrees_with_the_list(counts: list[int]) -> None:
    mechanism = DiscreteGaussian(2.0, 1e-2)
    prior = np.ones(len(counts))
    listed = mechanism.law(counts, prior).mean_distance()
    noise = GaussianNoise(len(counts), mechanism.variance(len(counts)))
    series = SumZeroLaw(prior, np.array(counts), noise, "l2").mean_distance()
    assert abs(series - listed) <= (4.5 if series.how == "drawn" else 1.0) * series.error + 1e-10
    assert series.error < 1e-3


@pytest.mark.slow
def test_a_single_gaussian_release_is_several_times_wider_than_lattice_noise() -> None:
    """E|Z| relative to lattice noise at delta 0: 4.0, 2.8, 2.4, 2.2 at k = 2, 4, 10, 100."""
    for k, ratio in ((2, 4.0), (4, 2.8), (10, 2.4), (100, 2.2)):
        counts, prior = [10**9] * k, np.ones(k)
        gauss = dp.mechanism("discrete-gaussian", 1.0, delta=1e-6).law(counts, prior)
        lattice = dp.mechanism("lattice", 1.0).law(counts, prior)
        assert gauss.mean_distance() / lattice.mean_distance() == pytest.approx(ratio, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(6, 2), (3, 3)])
def test_at_a_large_epsilon_it_is_as_narrow_as_lattice_noise_and_keeps_its_promise(
    n: int, k: int
) -> None:
    mechanism, prior = dp.mechanism("discrete-gaussian", 20.0, delta=1e-6), [1.0] * k
    assert dp.audit(mechanism, n, prior).delta(20.0) <= 1e-6
    counts = [100] * k
    gauss = mechanism.law(counts, prior).mean_distance()
    lattice = dp.mechanism("lattice", 20.0).law(counts, prior).mean_distance()
    assert gauss == pytest.approx(lattice, rel=1e-5)


@pytest.mark.slow
def test_several_releases_share_the_promise() -> None:
    four = dp.mechanism("discrete-gaussian", 1.0, delta=1e-2)
    assert dp.audit(four, 2, [1.0] * 4).delta(1.0) <= 1e-2
    one, ten = DiscreteGaussian(1.0, 1e-6), DiscreteGaussian(1.0, 1e-6, releases=10)
    assert 6.0 < ten.variance(3) / one.variance(3) < 10.5
    assert "10 releases together" in guarantee(ten, 3).basis


def test_a_release_says_what_it_promises() -> None:
    released = dp.release(dp.mechanism("discrete-gaussian", 1.0, delta=1e-4), [5, 9, 4], [1, 1, 1])
    assert "+ 0.0001" in str(released)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1"),
        ({"releases": 0}, "releases must be"),
        ({"projection": "l3"}, "projection must be one of l1, l2"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dp.mechanism("discrete-gaussian", 1.0, **options)
