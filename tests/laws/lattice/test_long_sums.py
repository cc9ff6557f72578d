"""Running sums from a few values, against adding up every number."""

import numpy as np
import pytest

from dpbayes.laws.lattice.circles import Nodes
from dpbayes.laws.lattice.long_prefixes import LongPrefixes, prefixes
from dpbayes.laws.lattice.long_sums import panels_between, running_sums
from dpbayes.laws.lattice.panel_polynomials import NODES
from dpbayes.laws.lattice.prefixes import LONG, Category, Prefixes


def some_nodes(whole: int, log_radius: float) -> Nodes:
    turns = np.concatenate((np.arange(30), np.geomspace(30, whole // 2, 60).astype(np.int64)))
    return Nodes(np.array([log_radius]), np.unique(turns), whole)


@pytest.mark.parametrize(("first", "stop"), [(0, 1), (-7, 90), (5, 133), (0, 100_000), (3, 77_777)])
@pytest.mark.parametrize("longest", [1, 128, 1000, 1 << 30])
def test_panels_hold_each_number_once(first, stop, longest):
    panels = panels_between(first, stop, lambda start, length: length <= longest)
    ends = panels.starts + panels.lengths
    assert panels.starts[0] == first
    assert panels.stop == stop
    assert np.array_equal(panels.starts[1:], ends[:-1])
    long = panels.lengths[panels.lengths > NODES]
    assert (long <= longest).all()
    assert (long & (long - 1) == 0).all()
    assert np.isin([first, stop - 1], panels.grid).all()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("first", "stop", "rate"), [(0, 5000, 2e-3), (-40_000, 70_011, 1e-4)])
def test_running_sums_against_every_number(first, stop, rate, backward):
    nodes, centre = some_nodes(3 * (stop - first), 0.2 * rate), (first + stop) // 3

    def logs(places):
        return -np.sqrt(10.0 + (rate * (places - centre)) ** 2)

    panels = panels_between(first, stop, lambda start, length: length * rate < 4.0)
    found = running_sums(logs, panels, nodes, centre, backward)
    places = np.arange(first, stop)
    turned = np.outer(places - centre, nodes.turns) % nodes.whole
    terms = np.exp(2j * np.pi / nodes.whole * turned)
    terms *= np.exp(logs(places) + 0.2 * rate * (places - centre))[:, None]
    zero = np.zeros((1, nodes.size))
    if backward:
        every = np.concatenate((np.cumsum(terms[::-1], axis=0)[::-1], zero))
    else:
        every = np.concatenate((zero, np.cumsum(terms, axis=0)))
    asked = np.random.default_rng(5).integers(first, stop + 1, 200)
    scale = np.abs(terms).sum(axis=0).max()
    assert np.abs(found.up_to(asked, slice(None)) - every[asked - first]).max() < 1e-13 * scale
    beyond = found.up_to(np.array([first - 9, stop + 9]), slice(None))
    assert np.abs(beyond - every[[0, -1]]).max() < 1e-13 * scale


def test_running_sums_at_some_of_the_nodes():
    nodes = some_nodes(30_000, 0.0)
    panels = panels_between(0, 10_000, lambda start, length: length <= 1024)
    sums = running_sums(lambda places: -1e-3 * places, panels, nodes, 0)
    asked, some = np.array([17, 9000, 4321]), np.array([0, 3, 31, nodes.size - 1])
    every = sums.up_to(asked, slice(None))
    for found, known in (
        (sums.up_to(asked, some.tolist()), every[:, some]),
        (sums.up_to(asked, slice(5, 40)), every[:, 5:40]),
        (sums.at_nodes(some).up_to(asked, slice(None)), every[:, some]),
    ):
        assert np.abs(found - known).max() < 1e-14 * np.abs(every).max()


CATEGORIES = [
    (50_000, 1.0, 0.002, 1.0, 0),
    (3000, 0.2, 0.002, 1.0, 2000),
    (700_000, 3.0, 0.0005, 30.0, 300),
    (0, 0.001, 0.002, 0.01, 10_000),
    (40, 0.01, 0.002, 1e-3, 3),
]


@pytest.mark.parametrize(("count", "exponent", "epsilon", "prior", "level"), CATEGORIES)
def test_sums_of_a_category_against_its_table(count, exponent, epsilon, prior, level):
    category = Category(prior, count, int(60 / epsilon), exponent)
    rho, last = float(np.exp(-epsilon / 2)), 2 * level + int(0.5 / epsilon)
    nodes = some_nodes(4 * (count + category.reach), 0.1 * epsilon)
    rest = exponent, rho, nodes, (level, last), 2 * count + 10**6
    table, panels = Prefixes(category, *rest), LongPrefixes(category, *rest)
    rng = np.random.default_rng(11)
    places = np.unique(rng.integers(category.first, category.last + 2, 60)) + level
    # Single heights, blocks side by side, and those that reach over the ends of the window.
    edges = (
        np.concatenate((places, places[:-1], [places[0] - 50])),
        np.concatenate((places + 1, places[1:], [places[-1] + 50])),
    )
    window = max(level, last) + 1, count + category.reach + 1  # as far as noise is followed
    for now in (level, (level + last) // 2):
        found = panels.blocks(now, edges, window, slice(None))
        known = table.blocks(now, edges, window, slice(None))
        for one, other in zip(found, known, strict=True):
            assert np.abs(one - other).max() <= 1e-12 * np.abs(known[3]).max()


def test_positive_nodes_have_their_own_radii():
    category = Category(1.0, 20_000, 40_000, 0.5)
    nodes = Nodes.positive(np.linspace(-4e-4, 4e-4, 9))
    rest = category, 0.5, 0.9995, nodes, (10, 700), 10**6
    edges = np.array([15_000, 20_000, 20_500]), np.array([15_001, 20_400, 30_000])
    for some in (slice(None), [4, 4, 7]):
        for found, known in zip(
            LongPrefixes(*rest).blocks(20, edges, (21, 40_000), some),
            Prefixes(*rest).blocks(20, edges, (21, 40_000), some),
            strict=True,
        ):
            assert np.allclose(found, known, rtol=1e-11, atol=1e-13 * np.abs(known).max())


def test_sums_over_all_released_counts():
    category = Category(0.5, 20_000, 40_000, 0.5)
    rest = category, 0.5, 0.9995, some_nodes(200_000, 1e-5), (0, 0), 10**6
    found, known = LongPrefixes(*rest).unlowered(), Prefixes(*rest).unlowered()
    assert np.abs(found - known).max() < 1e-13 * np.abs(known).max()


def test_sums_over_all_released_counts_at_many_levels():
    category, levels = Category(0.5, 20_000, 40_000, 0.5), np.array([0, 1, 40, 700, 701])
    rest = category, 0.5, 0.9995, some_nodes(200_000, 1e-5), (0, 700), 10**6
    found, known = LongPrefixes(*rest).lowered(levels), Prefixes(*rest).lowered(levels)
    assert np.abs(found - known).max() < 1e-13 * np.abs(known).max()
    released = np.arange(category.first, category.last + 1)
    sizes = np.log(0.9995) * (np.abs(released + 40 - 20_000) - 40)  # the level's own is left out
    direct = np.exp(0.5 * category.logs + sizes + 1e-5 * (released - 20_000)).sum()
    assert known[2, 0].real == pytest.approx(direct, rel=1e-12)


def test_long_windows_are_summed_by_panels():
    nodes = Nodes.positive(np.zeros(1))
    for reach, kind in ((LONG // 2, Prefixes), (LONG, LongPrefixes)):
        category = Category(1.0, 10**9, reach, 1.0)
        assert isinstance(prefixes(category, 1.0, 0.9, nodes, (0, 1), 10**9), kind)
