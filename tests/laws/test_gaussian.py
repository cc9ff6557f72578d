"""Discrete Gaussian noise: its curve by enumeration, by dp_accounting and by OpenDP."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import (
    from_two_probability_mass_functions,
)

from dpbayes.laws import gaussian
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.steps import StepLaw


@pytest.mark.parametrize(
    ("k", "variance"), [(2, 0.3), (2, 5.0), (3, 0.4), (3, 3.1), (4, 1.7)]
)
def test_the_curve_is_that_of_the_definition(k: int, variance: float) -> None:
    free = np.array(
        list(product(range(-40, 41) if k < 4 else range(-22, 23), repeat=k - 1))
    )
    points = np.column_stack((free, -free.sum(axis=1)))
    weights = np.exp(-0.5 * (points**2).sum(axis=1) / variance)
    shifted = points - (np.eye(k, dtype=int)[0] - np.eye(k, dtype=int)[1])
    moved = np.exp(-0.5 * (shifted**2).sum(axis=1) / variance) / weights.sum()
    mass = weights / weights.sum()
    found = GaussianNoise(k, variance).log_normaliser
    assert found == pytest.approx(np.log(weights.sum()), abs=1e-11)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        direct = np.maximum(mass - np.exp(epsilon) * moved, 0.0).sum()
        assert gaussian.delta(k, variance, epsilon) == pytest.approx(direct, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("variance", "releases", "epsilon"),
    [(25.0, 1, 6.0), (25.0, 3, 9.0), (400.0, 1, 0.5), (400.0, 1, 1.5), (60.0, 4, 6.0)],
)
def test_tails_far_below_any_rounding_agree_with_whole_numbers(
    k: int, variance: float, releases: int, epsilon: float
) -> None:
    expected = composed_tail(k, variance, epsilon, releases)
    found = gaussian.delta(k, variance, epsilon, releases)
    assert found == pytest.approx(expected, rel=1e-9, abs=0.0)


def composed_tail(k: int, variance: float, epsilon: float, releases: int) -> float:
    """Return delta(epsilon) from weights of 200 digits, composed in whole numbers."""
    with mpmath.workdps(220):
        v, top = mpmath.mpf(variance), int(40 * np.sqrt(variance))
        weights = [
            mpmath.exp(-mpmath.mpf(d * d) / (4 * v)) for d in range(-top, top + 1)
        ]
        inner = [mpmath.mpf(1), mpmath.mpf(0)]
        if k == 3:  # one more category takes -s, and s is odd or even as d is
            for s in range(-top, top + 1):
                inner[s % 2] += mpmath.exp(-mpmath.mpf(s * s) * 3 / (4 * v)) - (s == 0)
        whole = [
            int(w * inner[d % 2] * 10**200)
            for d, w in zip(range(-top, top + 1), weights, strict=True)
        ]
        one = total = np.array(whole, dtype=object)
        for _ in range(releases - 1):
            total = np.convolve(total, one)
        scale, answer = mpmath.mpf(sum(whole)) ** releases, mpmath.mpf(0)
        for d, mass in enumerate(total, start=-top * releases):
            excess = (releases - d) / v - mpmath.mpf(epsilon)
            if excess > 0:
                answer += mpmath.mpf(mass) / scale * -mpmath.expm1(-excess)
        return float(answer)


@pytest.mark.parametrize(
    ("k", "variance", "releases"), [(3, 20.0, 1), (3, 20.0, 6), (5, 64.0, 12)]
)
def test_composition_agrees_with_dp_accounting(
    k: int, variance: float, releases: int
) -> None:
    # All losses are multiples of 1/v. dp_accounting rounds them up to its grid: lowered
    # by 1e-10, each is rounded to its own grid point.
    masses = gaussian.difference(k, variance)
    d = np.arange(masses.size) - masses.size // 2
    keep = masses > 1e-60
    upper = {
        int(i): float(np.log(p)) for i, p in zip(d[keep], masses[keep], strict=True)
    }
    lower = {i + 2: value for i, value in upper.items()}
    shared = sorted(set(upper) & set(lower))
    one = from_two_probability_mass_functions(
        {i: lower[i] + 1e-10 for i in shared},
        {i: upper[i] for i in shared},
        value_discretization_interval=1.0 / variance,
        pessimistic_estimate=True,
    )
    composed = one.self_compose(releases)
    for epsilon in (0.4, 1.0, 2.0):
        expected = composed.get_delta_for_epsilon(epsilon + 1e-12)
        assert gaussian.delta(k, variance, epsilon, releases) == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "releases"),
    # The curve of the first five is not monotone in the variance.
    [(2, 20.0, 1e-6, 1), (3, 14.0, 1e-6, 1), (4, 9.0, 1e-3, 1), (2, 30.0, 1e-4, 2),
     (2, 1.0, 0.2, 1), (2, 0.3, 1e-8, 5), (3, 1.0, 1e-6, 1), (6, 4.0, 1e-3, 5)],
)  # fmt: skip
def test_no_smaller_variance_is_enough(
    k: int, epsilon: float, delta: float, releases: int
) -> None:
    v = gaussian.variance_for(k, epsilon, delta, releases)
    assert gaussian.delta(k, v, epsilon, releases) <= delta
    for smaller in np.geomspace(v / 20.0, v * (1.0 - 1e-6), 200).tolist():
        assert gaussian.delta(k, smaller, epsilon, releases) > delta * (1.0 - 1e-9)
    with pytest.raises(ValueError, match="delta must be at least 1e-300"):
        gaussian.variance_for(k, 1.0, 1e-310)


@pytest.mark.parametrize("decay", [0.05, 0.25, 1.0, 4.0])
@pytest.mark.parametrize("floored", [False, True])
def test_the_law_of_a_step_agrees_with_sums(decay: float, floored: bool) -> None:
    law, t = StepLaw(decay, floored), np.arange(-2000, 2001)
    masses = np.exp(-decay * np.abs(t))
    if floored:  # floor(Y) = t for Y ~ Laplace(1/decay)
        masses = np.exp(-decay * np.where(t >= 0, t, -t - 1))
    masses /= masses.sum()
    assert law.at_zero == pytest.approx(masses[2000], rel=1e-12)
    assert law.mean_step == pytest.approx((masses * np.abs(t)).sum(), rel=1e-9)
    for order in (0, 1, 2, 3):
        assert law.moment(order) == pytest.approx(
            (masses * np.abs(t) ** order).sum(), rel=1e-9
        )
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.probabilities[law.steps == 0].item() == pytest.approx(
        law.at_zero, rel=1e-12
    )
    with pytest.raises(ValueError, match="order must be an integer of at least 0"):
        law.moment(-1)
