"""Counts drawn under steps: the steps cover, every bit string, chi-square with power, few looks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.bits import audit_bits
from dpbayes.samplers import counts
from tests.samplers.sources import SeededBits

flint = pytest.importorskip("flint")


def weights(x: int, n: int, prior=(1.0, 1.0), rate=Fraction(30)) -> counts.Weights:
    return counts.Weights(flint, prior, x, n, rate)


CASES = [(3, 5, (1.0, 1.0), 2), (0, 40, (0.3, 2.5), 20), (700, 1000, (1.0, 1.0), 90),
         (1, 300, (1e-300, 1e18), 5), (50, 50, (0.5, 0.5), 10**40)]  # fmt: skip


@pytest.mark.parametrize(("x", "n", "prior", "rate"), CASES)
def test_steps_cover_every_weight_once_and_waste_little(x, n, prior, rate):
    ladder = weights(x, n, prior, Fraction(rate))
    blocks = counts._blocks(ladder)
    seen, area, mass = [], 0, 0.0
    for block in blocks:
        for i in range(block.size):
            seen.append(block.near + block.way * i)
            ball = ladder.ball(seen[-1], 256)
            assert ball < block.height / 2.0**counts.UNIT or seen[-1] == x or ball < 2.0**-128
            mass += float(ball.mid())
        area += block.size * block.height
    assert sorted(seen) == list(range(n + 1))
    assert mass / (area / 2.0**counts.UNIT) > 0.7


@pytest.mark.parametrize(("x", "runs"), [((4, 26), 500), ((0, 40), 500), ((2, 3), 500)])
def test_all_bit_strings_agree_with_the_law_and_with_no_other(x, runs):
    mechanism = dp.mechanism("expMech-smooth", 4.0)
    found = audit_bits(mechanism, x, [1, 1], runs)
    assert found.undecided < 0.3
    assert len(found.contradictions(mechanism.law(x, [1, 1]))) == 0
    other = dp.mechanism("expMech-smooth", 5.5).law(x, [1, 1])
    assert len(found.contradictions(other)) > 0


def chi_square(epsilon: float, claimed: float, draws: int = 8000) -> tuple[float, float]:
    x, prior, source = np.array([500, 1500]), np.ones(2), SeededBits(11)
    rate = dp.mechanism("expMech-smooth", epsilon).exact_rate(x, prior)
    ladder = weights(500, 2000, rate=rate)
    blocks = counts._blocks(ladder)
    areas = np.cumsum([b.size * b.height for b in blocks], dtype=object).tolist()
    points = (counts._point(source, ladder, blocks, areas) for _ in range(draws))
    drawn = np.array([point for point in points if point is not None])
    assert drawn.size > 0.7 * draws
    law = dp.mechanism("expMech-smooth", claimed).law(x, prior)
    edges = np.searchsorted(np.cumsum(law.probabilities), np.linspace(0.05, 0.95, 19))
    cell = np.searchsorted(edges, np.arange(2001))
    expected = drawn.size * np.bincount(cell, law.probabilities, 20)
    observed, kept = np.bincount(cell[drawn], minlength=20), expected > 5
    return ((observed - expected)[kept] ** 2 / expected[kept]).sum(), 19 + 6 * np.sqrt(38)


def test_draws_of_many_records_follow_the_law_and_the_test_sees_ten_percent():
    value, limit = chi_square(0.25, 0.25)
    assert value <= limit
    value, limit = chi_square(0.25, 0.275)
    assert value > limit


@pytest.mark.parametrize("n", [10**6, 10**12])
def test_few_counts_are_looked_at(n, monkeypatch):
    looks = []
    original = counts.Weights.ball
    monkeypatch.setattr(
        counts.Weights,
        "ball",
        lambda self, *given: (looks.append(given), original(self, *given))[1],
    )
    private = dp.release(dp.mechanism("expMech-smooth", 1.0), [n // 2, n - n // 2], [1, 1])
    assert private.counts.sum() == n
    assert len(looks) < 250


class Script:
    """The bits of one number, first bit first, then zeros or ones for ever."""

    def __init__(self, number: int, length: int, then: int) -> None:
        self.number, self.length, self.then, self.asked = number, length, then, 0

    def bits(self, count: int) -> int:
        self.asked += count
        if self.asked <= self.length:
            return (self.number >> (self.length - self.asked)) & ((1 << count) - 1)
        return self.then & ((1 << count) - 1)


def test_a_point_above_the_weight_is_not_kept_and_a_near_one_asks_for_more_bits():
    ladder = weights(500, 1000)
    blocks = counts._blocks(ladder)
    areas = np.cumsum([b.size * b.height for b in blocks], dtype=object).tolist()
    place = next(i for i, b in enumerate(blocks) if b.size > 20)
    block = blocks[place]
    count = block.near + block.way * (block.size - 1)
    with flint.ctx.workprec(512):
        height = int((ladder.ball(count, 512) * flint.arb(2) ** 300).floor().unique_fmpz())
    # The point at the weight's own height above the last count of the block, in 2^-300.
    shift = 300 - counts.UNIT
    at = ((areas[place] - block.height) << shift) + height
    number = (at << 192) // (areas[-1] << shift)
    below, above = Script(number, 192, 0), Script(number, 192, -1)
    assert counts._point(below, ladder, blocks, areas) == count
    assert counts._point(above, ladder, blocks, areas) is None
    assert below.asked > 180
    assert above.asked > 180


@pytest.mark.parametrize("x", [(1, 0), (0, 1), (0, 7), (25, 0)])
def test_the_ends_of_the_range(x):
    mechanism = dp.mechanism("expMech", 300.0)
    drawn = [mechanism.draw(np.array(x), np.ones(2), SeededBits(i))[1] for i in range(20)]
    assert all(row.tolist() == list(x) for row in drawn)
    assert mechanism.law(x, [1, 1]).probability(x) > 0.999999
