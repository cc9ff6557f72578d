import numpy as np
import pytest

from dpbayes.laws.lattice.circles import Circle, Nodes, fewest_nodes, log_bound


@pytest.mark.parametrize("nodes", [2, 3, 8, 17])
def test_half_a_circle_reads_what_the_whole_reads(nodes):
    circle = Circle(-0.3, nodes)
    coefficients, exponents = np.array([0.2, 1.5, 0.7, 0.1]), np.array([-1, 0, 1, 2])
    whole = (coefficients @ circle.places() ** exponents[:, None]).sum()
    half, folds = circle.half()
    assert folds.sum() == nodes
    assert (coefficients @ half.powers(exponents)).real @ folds == pytest.approx(whole.real)
    assert abs(whole.imag) < 1e-13 * abs(whole)


def test_high_powers_keep_their_phase():
    nodes, _ = Circle(0.0, 305).half()
    exponents = np.array([0, 1, 305, 10**9, -(10**9), 305 * 10**7 + 1])
    powers = nodes.powers(exponents)
    reduced = np.exp(2j * np.pi / 305 * ((exponents[:, None] % 305) * nodes.turns % 305))
    assert np.abs(powers - reduced).max() < 1e-15
    assert Nodes.positive(np.log([0.5, 2.0])).powers(np.array([3])) == pytest.approx(
        np.array([[0.125, 8.0]])
    )


def test_fewest_nodes_bound_what_is_read_wrongly():
    # 1 / (1 - w/3) (1 - 1/(3w)): the coefficients fall by 3 on both sides.
    places = np.linspace(-0.9, 0.9, 61)
    logs = -np.log1p(-np.exp(places) / 3) - np.log1p(-np.exp(-places) / 3)
    circle = fewest_nodes(logs, places, 10_000)
    w = circle.places()
    read = (1 / ((1 - w / 3) * (1 - 1 / (3 * w)))).mean().real
    assert read == pytest.approx(1 / (1 - 1 / 9), abs=1e-13)
    assert circle.nodes < 60


def test_a_bound_that_overflowed_bounds_nothing():
    logs = log_bound(np.array([np.inf, np.nan, 1.0, 0.0]))
    np.testing.assert_array_equal(logs[:2], np.inf)
    np.testing.assert_allclose(logs[2:], [0.0, np.log(1e-300)])
