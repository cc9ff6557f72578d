"""Histograms drawn without a list: their law by enumeration, by all bit strings, by chi-square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.bits import audit_bits
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.samplers import histograms
from dpbayes.samplers.category_steps import UNIT, Category
from tests.samplers.sources import SeededBits

flint = pytest.importorskip("flint")

CASES = [
    ("expMech-smooth", 1.0, (1, 0, 1), (1.0, 1.0, 1.0)),
    ("expMech-smooth", 20.0, (2, 4, 3), (0.3, 1.0, 2.5)),
    ("expMech", 0.2, (0, 0, 6), (1e-6, 1.0, 5.0)),
    ("expMech-local", 60.0, (1, 5, 9), (1.0, 1.0, 1.0)),
    ("expMech-smooth", 3.0, (0, 0, 1, 3), (0.5, 0.5, 0.5, 0.5)),
    ("expMech", 400.0, (2, 1, 2), (1.0, 1e18, 1.0)),
]


def prepared(name, epsilon, counts, prior):
    x, alpha = np.array(counts), np.array(prior)
    rate = dp.mechanism(name, epsilon).exact_rate(x, alpha)
    return histograms.envelope(flint, x, alpha, rate)


@pytest.mark.parametrize(("name", "epsilon", "counts", "prior"), CASES)
def test_what_is_drawn_times_what_is_kept_is_the_law(name, epsilon, counts, prior):
    # The probability of drawing a histogram under a power is a fraction, that of keeping it a ball.
    found = prepared(name, epsilon, counts, prior)
    outputs = dp.compositions(sum(counts), len(counts))
    masses = []
    with flint.ctx.workprec(200):
        for row in outputs:
            chosen = [int(row[i]) for i in found.order]
            mass = flint.arb(0)
            for place, power in enumerate(found.powers):
                heights = [s.height(c) for s, c in zip(power.steps, chosen[:-1], strict=True)]
                heights.append(power.top)
                bounds = list(histograms._bounds(found, place, chosen, heights, 200))
                assert [last for _, last in bounds] == [False] * len(counts) + [True]
                assert all(bound < 1 + flint.arb(2) ** -150 for bound, _ in bounds)
                drawn = found.bound.coefficients[place] * math.prod(heights)
                mass += bounds[-1][0] * flint.arb(flint.fmpq(drawn.numerator, drawn.denominator))
            if tuple(row) == counts:
                drawn = found.bound.at_truth * (1 << 128 * len(counts))
                kept = histograms._ratio(found, chosen, 200)
                mass += kept * flint.arb(flint.fmpq(drawn.numerator, drawn.denominator))
            assert mass.rad() < flint.arb(2) ** -60 * mass
            masses.append(mass)
        total = sum(masses, flint.arb(0))
        shares = [float((mass / total).log().mid()) for mass in masses]
    law = dp.mechanism(name, epsilon).law(counts, prior)
    np.testing.assert_allclose(shares, law.log_probabilities, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "epsilon", "counts", "prior"), CASES)
def test_every_power_gets_the_share_of_its_area(name, epsilon, counts, prior):
    found = prepared(name, epsilon, counts, prior)
    sizes = np.diff([0, *found.ends])
    unit = 1 << (128 * len(counts))
    areas = [
        c * math.prod(step.area for step in power.steps) * power.top
        for c, power in zip(found.bound.coefficients, found.powers, strict=True)
    ]
    areas.append(found.bound.at_truth * unit)
    total = sum(areas)
    assert [Fraction(int(size), found.ends[-1]) for size in sizes] == [a / total for a in areas]


@pytest.mark.parametrize(
    ("name", "epsilon", "counts", "prior"),
    [*CASES, ("expMech-smooth", 1.0, (1, 0, 0), (1.0, 1.0, 1.0))],
)
def test_no_other_histogram_is_nearer_than_where_the_sum_begins(name, epsilon, counts, prior):
    start = histograms._nearest(prepared(name, epsilon, counts, prior).categories)

    @lru_cache
    def away(alpha, x, count):
        a, b = mp.mpf(alpha) + x, mp.mpf(alpha) + count
        return (mp.loggamma(a) + mp.loggamma(b)) / 2 - mp.loggamma((a + b) / 2)

    with mp.workdps(80):
        distances = [
            mp.fsum(away(*one) for one in zip(prior, counts, row, strict=True))
            for row in dp.compositions(sum(counts), len(counts)).tolist()
            if tuple(row) != counts
        ]
        least = min(distances)
        assert 0.0 < float(start.lower()) <= float(least) * (1 + 1e-12)
        assert float(least) < 4 * float(start.upper())


@dataclass(frozen=True)
class Unlisted(ExponentialMechanism):
    """The mechanism, drawn without a list however few candidates there are."""

    def draw(self, counts, prior, bits):
        found = None
        while found is None:
            found = histograms.attempt(bits, once(self.name, self.epsilon, tuple(counts)))
        return found, found


@lru_cache(maxsize=1)
def once(name, epsilon, counts):
    return prepared(name, float(epsilon), counts, np.ones(len(counts)))


@pytest.mark.parametrize(
    ("name", "epsilon", "counts", "wrong"),
    [
        ("expMech-smooth", 25.0, (1, 0, 1), 1.5),
        ("expMech-smooth", 25.0, (0, 0, 2), 0.4),
        ("expMech", 4.0, (0, 1, 1), 4.0),
    ],
)
def test_all_bit_strings_agree_with_the_law_and_with_no_other(name, epsilon, counts, wrong):
    mechanism = dp.mechanism(name, epsilon)
    unlisted = Unlisted(mechanism.epsilon, mechanism.calibration)
    found = audit_bits(unlisted, counts, [1, 1, 1], 3000)
    assert found.undecided < 0.7
    assert len(found.contradictions(mechanism.law(counts, [1, 1, 1]))) == 0
    other = dp.mechanism(name, epsilon * wrong).law(counts, [1, 1, 1])
    assert len(found.contradictions(other)) > 0


def chi_square(epsilon, claimed, draws=4000):
    x, prior, source = np.array([20, 60, 40]), np.ones(3), SeededBits(17)
    found = prepared("expMech-smooth", epsilon, x, prior)
    drawn = []
    while len(drawn) < draws:
        row = histograms.attempt(source, found)
        if row is not None:
            drawn.append(row)
    law = dp.mechanism("expMech-smooth", claimed).law(x, prior)
    order = np.argsort(-law.probabilities, kind="stable")
    edges = np.searchsorted(np.cumsum(law.probabilities[order]), np.linspace(0.05, 0.95, 19))
    cell = np.empty(order.size, dtype=np.int64)
    cell[order] = np.searchsorted(edges, np.arange(order.size))
    places = {tuple(row): i for i, row in enumerate(law.outputs.tolist())}
    observed = np.bincount([cell[places[tuple(row)]] for row in drawn], minlength=20)
    expected = draws * np.bincount(cell, law.probabilities, 20)
    return ((observed - expected) ** 2 / expected).sum(), 19 + 6 * np.sqrt(38)


def test_draws_follow_the_law_and_the_test_sees_a_quarter_more_noise():
    value, limit = chi_square(1.0, 1.0)
    assert value <= limit
    value, limit = chi_square(1.0, 1.25)
    assert value > limit


@pytest.mark.parametrize(
    ("counts", "looks"),
    [([300_000, 200_000, 500_000], 2500), ([10**11] * 3 + [10**12], 2500), ([20_000] * 50, 6000)],
)
def test_few_counts_are_looked_at(counts, looks, monkeypatch):
    seen = []
    original = Category._computed
    monkeypatch.setattr(
        Category,
        "_computed",
        lambda self, *given: (seen.append(given), original(self, *given))[1],
    )
    private = dp.release(dp.mechanism("expMech-smooth", 1.0), counts, [1.0] * len(counts))
    assert private.counts.sum() == sum(counts)
    assert len(seen) < looks


class Script:
    """The bits of one number, first bit first, then zeros or ones for ever."""

    def __init__(self, number, length, then):
        self.number, self.length, self.then, self.asked = number, length, then, 0

    def bits(self, count):
        self.asked += count
        if self.asked <= self.length:
            return (self.number >> (self.length - self.asked)) & ((1 << count) - 1)
        return self.then & ((1 << count) - 1)


def test_a_number_on_the_border_asks_for_more_bits():
    found = prepared("expMech-smooth", 1.0, (0, 0, 9), (1.0, 1.0, 1.0))
    place = max(range(len(found.powers)), key=lambda i: found.powers[i].area)
    power = found.powers[place]
    chosen = [0, 1, 8]
    heights = [*(s.height(c) for s, c in zip(power.steps, chosen, strict=False)), power.top]
    with flint.ctx.workprec(800):
        kept = list(histograms._bounds(found, place, chosen, heights, 800))[-1][0]
        border = int((kept * flint.arb(2) ** 320).floor().unique_fmpz())
    low, high = Script(border >> 8, 312, 0), Script(border >> 8, 312, -1)
    below = histograms._kept(histograms.LazyNumber(low), found, place, chosen, heights)
    above = histograms._kept(histograms.LazyNumber(high), found, place, chosen, heights)
    assert (below, above) == (True, False)
    assert min(low.asked, high.asked) > 300


@pytest.mark.parametrize("counts", [[0, 0, 40], [12, 0, 0, 0, 0]])
def test_much_epsilon_gives_back_the_truth(counts):
    mechanism = dp.mechanism("expMech", 3000.0)
    x, prior = np.array(counts), np.ones(len(counts))
    for seed in range(5):
        rate = mechanism.exact_rate(x, prior)
        drawn = histograms.draw_histogram(SeededBits(seed), flint, x, prior, rate)
        assert drawn.tolist() == counts


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([10, 1000, 998_990], 4), ([0, 0, 10**6], 5), ([3, 10**5, 899_997], 3), ([0, 7, 10**9], 6)],
)
def test_steps_above_a_tilted_power_stay_near_it_for_skewed_counts(counts, epsilon):
    # A block from 0 to far away had a height of e^39 times the weight, and no draw was ever kept.
    made = prepared("expMech-smooth", epsilon, counts, [1.0] * 3)
    grids = histograms._Grids(made.categories)
    ideal = grids.tilts(np.array([float(power.power) for power in made.powers]))
    for power, (_, log) in zip(made.powers, ideal, strict=True):
        assert math.log(power.area) - 3 * UNIT * math.log(2.0) < log + 2.5
