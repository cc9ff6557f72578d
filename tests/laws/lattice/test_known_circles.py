"""Circles that are used again."""

import numpy as np
import pytest

from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.known_circles import KnownCircles
from dpbayes.laws.lattice.prefixes import Category, Prefixes

PLACES = np.linspace(-0.02, 0.02, 21)
NEAR = np.arange(1, 20)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def circles(asked):
    def sums(nodes: Nodes):
        asked.append(nodes.size)
        return [Prefixes(Category(1.0, 30, 200), 1.0, 0.98, nodes, (0, 5), 10**4)]

    return KnownCircles(sums, PLACES, 1e-13)


def logs(width, middle=0.0):
    return width * (PLACES - middle) ** 2


def read(circles, *bound):
    return circles.share(*circles.find(logs(*bound), NEAR, 5000))


def test_a_level_that_needs_fewer_nodes_needs_no_sums(circles, asked):
    first, taken = read(circles, 3e4)
    before = len(asked)
    second, fewer = read(circles, 2.5e4)
    assert second is first
    assert len(asked) == before > 0
    assert fewer.nodes == first.circle.nodes == taken.nodes
    assert fewer.nodes >= circles.find(logs(2.5e4), NEAR, 5000)[0].nodes


def test_a_level_that_needs_far_more_or_far_fewer_has_its_own(circles):
    first, _ = read(circles, 1e4)
    more, _ = read(circles, 4e5)
    fewer, _ = circles.share(Circle(first.circle.log_radius, 100), first)
    assert more is not first
    assert more.circle.nodes > 1.5 * first.circle.nodes
    assert fewer is not first
    assert 100 <= fewer.circle.nodes < 200
    assert read(circles, 1e4)[0] is first


def test_an_older_circle_with_fewer_nodes_is_found_again(circles):
    read(circles, 1e4)
    read(circles, 3e4)
    for bound in (1e4, 3e4):
        best, found = circles.find(logs(bound), NEAR, 5000)
        assert found is not None
        assert best.nodes <= found.circle.nodes <= 1.3 * best.nodes + 10


def test_places_that_lose_digits_are_not_used_again(circles):
    first, _ = read(circles, 3e4, 0.0)
    place = int(np.argmin(np.abs(PLACES - first.circle.log_radius)))
    best, found = circles.find(logs(3e4), np.delete(NEAR, place - 1), 5000)
    assert found is None
    assert best.log_radius != first.circle.log_radius


def test_only_the_last_few_are_kept(circles):
    for nodes in (40, 400, 4000, 9, 90, 900):
        circles.share(Circle(0.0, nodes), None)
    assert len(circles.kept) == 4
    assert 900 <= circles.kept[-1].circle.nodes < 1200
    assert circles.kept[0].circle.nodes >= 4000
