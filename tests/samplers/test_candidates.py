"""Exact draws of candidates: enclosures against the law, borders, the library they
need.
"""

from __future__ import annotations

import builtins
import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.samplers import candidates
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.reference.laws import Reference
from tests.samplers.sources import SeededBits, explored

flint = pytest.importorskip("flint")


@pytest.mark.slow
def test_ladder_of_enclosures_against_the_law():
    counts, prior = np.array([2, 0, 5]), np.array([0.3, 1.0, 2.5])
    mechanism = dp.mechanism("expMech-smooth", 2.0)
    rate = mechanism.exact_rate(counts, prior)
    assert float(rate) == pytest.approx(mechanism.rate(counts, prior), rel=1e-8)
    with mpmath.workdps(200):
        # Never above the true rate, or the release would spend more than its promise.
        exact = Reference(prior, 7)
        smooth = exact.largest((2, 0, 5), lambda local, d: 1 / (1 / local + d))
        below = 1 - mpmath.mpf(rate.numerator) / rate.denominator * 4 * smooth / 2
        assert 0 < below < 1e-60
    rows = dp.compositions(7, 3)
    with flint.ctx.workprec(128):
        ladder = candidates._cumulative(flint, rows, counts, prior, rate)
        shares = np.diff([0.0, *(float((step / ladder[-1]).mid()) for step in ladder)])
        widths = [float(step.rad()) for step in ladder]
    np.testing.assert_allclose(
        shares, mechanism.law(counts, prior).probabilities, rtol=1e-9
    )
    assert max(widths) < 1e-30


class Script:
    """The bits of one number, first bit first, then zeros or ones for ever."""

    def __init__(self, number: int, then: int, length: int = 192) -> None:
        self.number, self.length, self.then, self.asked = number, length, then, 0

    def bits(self, count: int) -> int:
        self.asked += count
        if self.asked <= self.length:
            return (self.number >> (self.length - self.asked)) & ((1 << count) - 1)
        return self.then & ((1 << count) - 1)


def test_a_number_on_a_boundary_asks_for_more_bits():
    counts, prior, rows = np.array([3, 4, 0]), np.ones(3), dp.compositions(7, 3)
    rate = dp.mechanism("expMech", 1.0).exact_rate(counts, prior)
    with flint.ctx.workprec(256):
        ladder = candidates._cumulative(flint, rows, counts, prior, rate)
        share = ladder[2] / ladder[-1]
        border = int((share * flint.arb(2) ** 192).floor().unique_fmpz())
    for then, row in ((0, 2), (-1, 3)):
        source = Script(border, then)
        assert (
            candidates.draw_candidate(source, counts, prior, rate).tolist()
            == rows[row].tolist()
        )
        assert source.asked > 192


def test_a_missing_library_is_named(monkeypatch):
    original = builtins.__import__

    def without_flint(name, *arguments, **options):
        if name == "flint":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_flint)
    with pytest.raises(ImportError, match=r"install python-flint.*dpbayes\[tables\]"):
        dp.release(dp.mechanism("expMech", 1.0), [3, 4], [1, 1])
    assert dp.release(dp.mechanism("lattice", 1.0), [3, 4], [1, 1]).counts.sum() == 7


def test_draws_of_three_categories_follow_the_law_and_the_test_sees_ten_percent(
    monkeypatch,
):
    x, prior, source = np.array([3, 2, 4]), np.ones(3), SeededBits(5)
    rate = dp.mechanism("expMech-smooth", 8.0).exact_rate(x, prior)
    rows = dp.compositions(9, 3)
    with flint.ctx.workprec(candidates.FIRST_PRECISION):
        ladder = candidates._cumulative(flint, rows, x, prior, rate)
    monkeypatch.setattr(candidates, "_cumulative", lambda *given: ladder)
    drawn = np.array(
        [candidates.draw_candidate(source, x, prior, rate) for _ in range(8000)]
    )
    laws = [
        dp.mechanism("expMech-smooth", epsilon).law(x, prior) for epsilon in (8.0, 8.8)
    ]
    assert (
        misfit(drawn, laws[0].probability)
        < ALPHA_LIMIT
        < misfit(drawn, laws[1].probability)
    )


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "permute-and-flip"])
def test_more_candidates_than_are_listed_are_refused_and_lattice_noise_is_named(name):
    x, bits = np.array([700, 100, 200]), SeededBits(1)
    with pytest.raises(
        ValueError, match=r"501501 candidates; .* at most 200000: use lattice noise"
    ):
        dp.mechanism(name, 1.0).draw(x, np.ones(3), bits)
    assert bits.used == 0
    assert dp.mechanism("lattice", 1.0).draw(x, np.ones(3), bits)[1].sum() == 1000


def weights(x: int, n: int, prior=(1.0, 1.0), rate=Fraction(30)) -> candidates.Weights:
    return candidates.Weights(flint, prior, x, n, rate)


@pytest.mark.parametrize(
    ("x", "n", "prior", "rate"),
    [(3, 5, (1.0, 1.0), 2), (0, 40, (0.3, 2.5), 20), (700, 1000, (1.0, 1.0), 90),
     (1, 300, (1e-300, 1e18), 5), (50, 50, (0.5, 0.5), 10**40)],
)  # fmt: skip
def test_steps_cover_every_weight_once_and_waste_little(x, n, prior, rate):
    ladder = weights(x, n, prior, Fraction(rate))
    blocks = candidates._blocks(ladder)
    seen, area, mass = [], 0, 0.0
    for block in blocks:
        for i in range(block.size):
            seen.append(block.near + block.way * i)
            ball = ladder.ball(seen[-1], 256)
            assert (
                ball < block.height / 2.0**candidates.UNIT
                or seen[-1] == x
                or ball < 2.0**-128
            )
            mass += float(ball.mid())
        area += block.size * block.height
    assert sorted(seen) == list(range(n + 1))
    assert mass / (area / 2.0**candidates.UNIT) > 0.7


@pytest.mark.slow
def test_draws_of_many_records_follow_the_law_and_the_test_sees_ten_percent():
    x, prior, source = np.array([50, 150]), np.ones(2), SeededBits(11)
    ladder = weights(
        50, 200, rate=dp.mechanism("expMech-smooth", 1.0).exact_rate(x, prior)
    )
    blocks = candidates._blocks(ladder)
    areas = np.cumsum([b.size * b.height for b in blocks], dtype=object).tolist()
    points = [candidates._point(source, ladder, blocks, areas) for _ in range(8000)]
    first = np.array([point for point in points if point is not None])
    assert first.size > 0.7 * len(points)
    drawn = np.column_stack((first, 200 - first))
    laws = [
        dp.mechanism("expMech-smooth", epsilon).law(x, prior) for epsilon in (1.0, 1.15)
    ]
    assert (
        misfit(drawn, laws[0].probability)
        < ALPHA_LIMIT
        < misfit(drawn, laws[1].probability)
    )


@pytest.mark.parametrize("n", [10**6, 10**12])
def test_few_counts_are_looked_at(n, monkeypatch):
    looks, original = [], candidates.Weights.ball

    def counted(self, *given):
        looks.append(given)
        return original(self, *given)

    monkeypatch.setattr(candidates.Weights, "ball", counted)
    private = dp.release(
        dp.mechanism("expMech-smooth", 1.0), [n // 2, n - n // 2], [1, 1]
    )
    assert private.counts.sum() == n
    assert len(looks) < 250


def test_a_point_above_the_weight_is_not_kept_and_a_near_one_asks_for_more_bits():
    ladder = weights(500, 1000)
    blocks = candidates._blocks(ladder)
    areas = np.cumsum([b.size * b.height for b in blocks], dtype=object).tolist()
    place = next(i for i, b in enumerate(blocks) if b.size > 20)
    block = blocks[place]
    count = block.near + block.way * (block.size - 1)
    with flint.ctx.workprec(512):
        height = int(
            (ladder.ball(count, 512) * flint.arb(2) ** 300).floor().unique_fmpz()
        )
    # The point at the weight's own height above the last count of the block, in 2^-300.
    shift = 300 - candidates.UNIT
    at = ((areas[place] - block.height) << shift) + height
    number = (at << 192) // (areas[-1] << shift)
    below, above = Script(number, 0), Script(number, -1)
    assert candidates._point(below, ladder, blocks, areas) == count
    assert candidates._point(above, ladder, blocks, areas) is None
    assert min(below.asked, above.asked) > 180


@pytest.mark.parametrize("x", [(1, 0), (0, 7), (2, 3)])
def test_an_enormous_rate_gives_the_truth_at_the_ends_as_well(x):
    for name, i in itertools.product(("expMech", "permute-and-flip"), range(10)):
        mechanism = dp.mechanism(name, 1000.0)
        assert mechanism.draw(np.array(x), np.ones(2), SeededBits(i))[
            1
        ].tolist() == list(x)


@pytest.mark.parametrize(
    "probability",
    [Fraction(3, 10), Fraction(1, 256), Fraction(9999, 10_000), Fraction(1, 70_000)],
)
def test_a_coin_has_its_probability_to_the_last_bit_that_is_read(probability):
    def coin():
        return [
            flint.arb(flint.fmpq(probability.numerator, probability.denominator)),
            flint.arb(1),
        ]

    law, left = explored(
        lambda source: candidates.decided(source, flint, coin) == 0, 24
    )
    assert left <= Fraction(2, 2**24)
    for outcome, share in ((True, probability), (False, 1 - probability)):
        assert law[outcome] <= share <= law[outcome] + left
