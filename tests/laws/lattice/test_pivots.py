"""One level of the projection: chains, blocks of heights and sums, each against a plain list."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import gammaln

from dpbayes.laws.lattice import pivots
from dpbayes.laws.lattice.chains import Chain, paid_in_row
from dpbayes.laws.lattice.circles import Circle
from dpbayes.laws.lattice.heights import Heights
from dpbayes.laws.lattice.pivots import Level
from dpbayes.laws.lattice.projection import project

REACH = 14


def links(number, seed):
    rng = np.random.default_rng(seed)
    return [Chain(*(rng.random((1, 1)) for _ in range(3))) for _ in range(number)]


def chained(parts):
    result = parts[0]
    for part in parts[1:]:
        result = result.then(part)
    return result


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_chain_sums_over_the_place_of_the_pivot(number):
    parts = links(number, 3)
    found = chained(parts)
    paid = sum(
        np.prod([parts[i].before for i in range(p)])
        * parts[p].paid[0, 0]
        * np.prod([parts[i].after for i in range(p + 1, number)])
        for p in range(number)
    )
    assert found.paid[0, 0] == pytest.approx(paid, rel=1e-14)
    before = [part.before.copy() for part in parts]
    assert paid_in_row(parts)[0, 0] == pytest.approx(paid, rel=1e-14)
    assert before == [part.before for part in parts]  # nothing of theirs is overwritten
    assert found.before[0, 0] == pytest.approx(np.prod([part.before for part in parts]))
    assert found.after[0, 0] == pytest.approx(np.prod([part.after for part in parts]))


@pytest.mark.parametrize("copies", [1, 2, 3, 7, 12])
def test_copies_are_the_same_row_again_and_again(copies):
    (part,) = links(1, 8)
    doubled, plain = part.repeated(copies), chained([part] * copies)
    for name in ("before", "after", "paid"):
        assert getattr(doubled, name) == pytest.approx(getattr(plain, name), rel=1e-13)


def test_blocks_are_single_heights_where_windows_overlap_and_keep_every_term():
    low, high = np.array([2, 7, 30]), np.array([12, 15, 33])
    heights = Heights(low, high, level=3)
    edges = heights.edges
    assert edges[-1] == 34
    overlap = set(range(7, 13))
    assert overlap <= set(edges.tolist())
    rng = np.random.default_rng(1)
    for i in range(3):
        own = np.arange(heights.low[i], heights.high[i] + 1)
        terms = rng.random((2, own.size, 1))
        blocks = heights.sums(i, terms, edges)
        for b, (start, end) in enumerate(pairwise(edges)):
            inside = (own >= start) & (own < end)
            assert blocks[:, b, 0] == pytest.approx(terms[:, inside, 0].sum(axis=1))
            if end - start > 1:  # joined heights belong to one window at most
                windows = (heights.low <= start) & (heights.high >= end - 1)
                assert windows.sum() <= 1


def level_of(y, n):
    """The last t at which the counts above t still sum to more than n."""
    t = 0
    while np.maximum(y - t - 1, 0).sum() > n:
        t += 1
    return t


def log_bc(prior, x, released):
    def log_beta(a):
        return gammaln(a).sum() - gammaln(a.sum())

    a, b = prior + x, prior + released
    return log_beta((a + b) / 2) - (log_beta(a) + log_beta(b)) / 2


def clamped(x):
    """Every vector x + z with sum of z 0, up to the reach, that has a negative count."""
    free = np.array(list(product(range(-REACH, REACH + 1), repeat=x.size - 1)))
    noisy = x + np.column_stack((free, -free.sum(axis=1)))
    return noisy[noisy.min(axis=1) < 0]


def enumerated(prior, x, epsilon, exponents):
    """Sums of e^(-epsilon |z| / 2) BC^s by level over every noise vector that clamps a count."""
    totals = {}
    for y in clamped(x):
        released = project(y[None, :], "l2")[0]
        weight = np.exp(-0.5 * epsilon * np.abs(y - x).sum())
        powers = weight * np.exp(exponents * log_bc(prior, x, released))
        t = level_of(y, int(x.sum()))
        totals[t] = totals.get(t, 0.0) + powers
    return totals


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [
        ([0, 2], [1.0, 0.5], 2.5),
        ([1, 0, 3], [0.4, 1.0, 2.0], 3.0),
        ([1, 1, 1], [1.0] * 3, 4.0),
        ([0, 60, 2], [1.0, 0.5, 2.0], 3.0),  # the second alone reaches its heights
    ],
)
def test_sums_of_each_level_against_the_list_of_noise_vectors(counts, prior, epsilon):
    x, alpha, exponents = np.array(counts), np.array(prior), np.array([0.0, 1.0, 6.5])
    expected = enumerated(alpha, x, epsilon, exponents)
    assert len(expected) >= 3
    for t, total in product(range(3), (None, int(x.sum()))):
        heights = Heights(x - 14, x + 14, t, total)
        level = Level(alpha, x, epsilon, t, heights)
        blocks = np.arange(heights.edges.size - 1)
        shortfall = level.shortfall_circle()
        assert shortfall.nodes <= level.degree
        every = replace(shortfall, nodes=level.degree)
        found = level.parts(exponents, Circle(0.0, 64), every, blocks).sum(axis=1)
        np.testing.assert_allclose(found, expected[t], rtol=1e-8, atol=1e-13)
        fewer = level.parts(exponents, Circle(0.0, 64), shortfall, blocks).sum(axis=1)
        np.testing.assert_allclose(fewer, found, rtol=0, atol=1e-12)
        records = level.record_circle(0.0, shortfall, None)
        tilted = level.parts(exponents, records, shortfall, blocks).sum(axis=1)
        np.testing.assert_allclose(tilted, found, rtol=0, atol=1e-12)
        bounds = level.bounds(exponents, records, shortfall)
        assert np.all(bounds.sum(axis=1) >= found * (1 - 1e-12))


@pytest.mark.parametrize("step", [1, 2])
def test_a_category_whose_heights_lie_elsewhere_is_the_same_factor_in_each_block(step, monkeypatch):
    x, alpha, exponents = np.array([2, 0, 20, 20, 41, 90]), np.ones(6), np.array([0.0, 0.5])
    heights = Heights(x - 14, x + 14, 1, int(x.sum()))
    level = Level(alpha, x, 1.0, 1, heights)
    zeta = level.shortfall_circle().places()
    nodes, kept = Circle(0.1, 9).half()[0], np.arange(0, heights.edges.size - 1, step)
    edges, chosen = heights.merged(kept)
    groups = heights.groups(edges[:-1][chosen], edges[1:][chosen])
    assert {1, 2, 4} <= {int(met.sum()) for _, met in groups}
    apart = level._read(exponents, nodes, zeta, kept)
    blocks = slice(0, apart.shape[1])
    every = [(blocks, np.ones(x.size, dtype=bool))]
    monkeypatch.setattr(Heights, "groups", lambda *_: every)
    together = level._read(exponents, nodes, zeta, kept)
    np.testing.assert_allclose(apart, together, rtol=1e-12, atol=1e-14 * np.abs(together).max())
    assert np.abs(apart).max() > 0.0


def test_heights_that_too_few_records_reach_are_joined_or_left_out():
    heights = Heights(np.array([-5, -5]), np.array([40, 40]), 3, total=10)
    assert heights.edges.tolist() == [*range(4, 11), 15]
    assert heights.panels(np.arange(7), np.array([6])) == [(0, 2), (2, 6), (6, 7)]
    assert heights.panels(np.array([0, 1, 4, 5]), np.array([6])) == [(0, 2), (4, 6)]


def test_kept_blocks_are_the_same_among_joined_ones():
    heights = Heights(np.array([2, 7, 30]), np.array([12, 15, 33]), level=3)
    kept = np.array([1, 4, 5, 6, 9])
    edges, places = heights.merged(kept)
    assert edges.size < heights.edges.size
    terms = np.random.default_rng(4).random((2, heights.high[1] - heights.low[1] + 1, 3))
    every, some = heights.sums(1, terms, heights.edges), heights.sums(1, terms, edges)
    assert some[:, places] == pytest.approx(every[:, kept])
    before = np.cumsum(some, axis=1)[:, places]
    assert before == pytest.approx(np.cumsum(every, axis=1)[:, kept])


@pytest.mark.parametrize("numbers", [1, 150])
def test_how_many_nodes_are_taken_up_together_changes_no_sum(numbers, monkeypatch):
    x, alpha, exponents = np.array([2, 2, 0, 5]), np.ones(4), np.array([0.0, 0.5, 3.0])
    level = Level(alpha, x, 1.0, 1, Heights(x - 14, x + 14, 1, 9))
    circles = Circle(0.1, 31), level.shortfall_circle()
    blocks = np.array([0, 3, 4, 5])
    assert exponents.size * blocks.size * 16 > 150
    together = level.parts(exponents, *circles, blocks)
    monkeypatch.setattr(pivots, "PIECE", numbers)
    np.testing.assert_allclose(level.parts(exponents, *circles, blocks), together, rtol=1e-13)
    assert together.min() > 0.0
