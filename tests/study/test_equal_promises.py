"""Equal (epsilon, delta): widths and losses by enumeration, programs against each
other.
"""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.study.equal_promises import (
    bounded_geometric_width,
    lattice_delta,
    lattice_loss_masses,
    lattice_share,
)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3), (2.0, 0.05)])
def test_the_bounded_width_is_the_least(epsilon: float, delta: float) -> None:
    def curve(m: int) -> float:
        z = np.arange(-m - 1, m + 3)
        p = np.where(np.abs(z) <= m, np.exp(-epsilon * np.abs(z)), 0.0)
        q = np.where(np.abs(z - 1) <= m, np.exp(-epsilon * np.abs(z - 1)), 0.0)
        return float(
            np.maximum(p - np.exp(epsilon) * q * (1 - 1e-14), 0.0).sum() / p.sum()
        )

    m = bounded_geometric_width(epsilon, delta)
    assert curve(m) <= delta + 1e-13
    assert curve(m - 1) > delta


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.8), (3, 0.5), (4, 1.2)])
def test_the_lattice_loss_takes_three_values(k: int, epsilon: float) -> None:
    points = LatticeNoise(k, 1.0).points(int(34 / epsilon))
    mass = np.exp(-0.5 * epsilon * np.abs(points).sum(axis=1))
    moved = points.copy()
    moved[:, 0] -= 1
    moved[:, 1] += 1
    losses = 0.5 * epsilon * (np.abs(moved).sum(axis=1) - np.abs(points).sum(axis=1))
    found = [
        mass[np.abs(losses - e) < 1e-9].sum() / mass.sum()
        for e in (-epsilon, 0.0, epsilon)
    ]
    assert lattice_loss_masses(k, epsilon) == pytest.approx(found, abs=1e-10)


@pytest.mark.parametrize(("k", "releases"), [(2, 3), (4, 7)])
def test_lattice_composition_agrees_with_dp_accounting(k: int, releases: int) -> None:
    each = 0.25
    p = lattice_loss_masses(k, each)
    possible = [i for i in range(3) if p[i] > 0]
    # Lowered by 1e-10, each loss is rounded up to its own point of the grid.
    upper = {i: float(np.log(p[i])) for i in possible}
    lower = {i: upper[i] - each * (i - 1) + 1e-10 for i in possible}
    one = privacy_loss_distribution.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=each
    )
    composed = one.self_compose(releases)
    for epsilon in (0.3, 0.6, 1.1):
        expected = composed.get_delta_for_epsilon(epsilon)
        assert lattice_delta(k, each, releases, epsilon) == pytest.approx(
            expected, abs=1e-9
        )


def test_the_shares_of_many_releases_use_the_promise_up() -> None:
    for k, releases in ((2, 10), (4, 30)):
        each = lattice_share(k, 1.0, 1e-6, releases)
        assert each > 1.0 / releases
        assert lattice_delta(k, each, releases, 1.0) <= 1e-6
        assert lattice_delta(k, 1.001 * each, releases, 1.0) > 1e-6
    assert lattice_share(3, 1.0, 1e-6, 1) == 1.0
