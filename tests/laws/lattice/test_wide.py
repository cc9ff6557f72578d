"""Clamped noise that is wide, power by power, against lists, all levels at once, and draws."""

import gc

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.lattice import noise, wide
from dpbayes.laws.lattice import prefixes as prefixes_module
from dpbayes.laws.lattice import thinning as thinning_module
from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.few import FewCategories
from dpbayes.laws.lattice.fewer_nodes import weights_of
from dpbayes.laws.lattice.law import LatticeLaw
from dpbayes.laws.lattice.listed import listed_law
from dpbayes.laws.lattice.long_prefixes import LongPrefixes
from dpbayes.laws.lattice.prefixes import Category, Prefixes
from dpbayes.laws.lattice.shortening import shortened
from dpbayes.laws.lattice.thinning import thinning
from dpbayes.laws.lattice.unclamped import UnclampedPart
from dpbayes.laws.lattice.unclamped_sums import unclamped_moment
from dpbayes.laws.lattice.wide_levels import WideHeights, WideLevel


@pytest.fixture(autouse=True)
def _levels_for_few_categories_too(monkeypatch):
    monkeypatch.setattr(LatticeLaw, "_few", None)
    monkeypatch.setattr(wide.WideNoise, "quick", False)  # `test_apart` has what is read at once


HALVING = [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20]


def wide_noise(counts, epsilon, prior=None):
    x = np.array(counts)
    alpha = np.ones(x.size) if prior is None else np.array(prior)
    return wide.WideNoise(alpha, x, epsilon, ClampedPart(alpha, x, epsilon).reach)


@pytest.mark.parametrize(
    ("counts", "epsilon", "prior"),
    [
        ([2, 3], 1.0, [1.0, 1.0]),
        ([3, 0, 5], 2.0, [0.3, 2.0, 1.0]),
        ([20, 20, 20], 0.1, [1.0, 1.0, 1.0]),
        ([5, 0, 12, 3], 0.5, [0.5, 1.0, 1.5, 2.0]),
        ([0, 0, 0, 9], 0.5, [1e-3, 1.0, 1.0, 50.0]),
    ],
)
def test_moments_against_the_list(counts, epsilon, prior):
    x, alpha = np.array(counts), np.array(prior)
    listed = listed_law(alpha, x, epsilon, "l2")
    direct = -0.5 * epsilon * np.abs(listed.outputs - x).sum(axis=1)
    clamped = listed.probabilities - np.exp(direct - noise.log_normaliser(x.size, epsilon))
    logs = log_affinity_of_outputs(alpha, x, listed.outputs)
    for power in (0.5, 1.0, 3.0, 20.0, 2000.0):
        found, error = wide_noise(counts, epsilon, prior).moment(power)
        expected = float((clamped * np.exp(power * logs)).sum())
        assert error < 3e-10
        assert abs(found - expected) <= error + listed.mass_outside


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([10] * 10, 0.3),
        ([0, 0, 7, 93], 1.0),
        (HALVING, 1.0),
        ([100_000, 0, 0, 3, 50, 1000], 1.5),
        (list(range(8)), 1.0),
    ],
)
def test_moments_against_all_powers_at_once(counts, epsilon):
    x, powers = np.array(counts), np.array([1.0, 4.0, 50.0])
    part = ClampedPart(np.ones(x.size), x, epsilon)
    mass = LatticeLaw(part.prior, x, epsilon, "l2").clamped
    expected, uncertain = part.moments(powers, mass)
    for power, value in zip(powers.tolist(), expected.tolist(), strict=True):
        found, error = part.wide.moment(power)
        assert error < 3e-10
        assert abs(found - value) <= error + uncertain


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [(HALVING, 0.3), (list(range(20)), 0.5), ([100_000, 0, 0, 3, 50, 1000], 0.5), ([9, 4], 0.01)],
)
def test_the_levels_hold_all_of_the_clamped_probability(counts, epsilon):
    law = LatticeLaw(np.ones(len(counts)), np.array(counts), epsilon, "l2")
    found, error = law._part.wide.moment(0.0)
    assert error < 3e-10
    assert abs(found - law.clamped) <= error + 1e-12


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([12, 8, 5, 3], 0.1), ([20, 20, 20], 0.05), ([1, 2, 0, 4], 0.05), ([0, 7, 93], 1.0)],
)
def test_means_power_by_power_against_the_list(counts, epsilon, monkeypatch):
    monkeypatch.setattr(ClampedPart, "affordable", False)
    x, alpha = np.array(counts), np.linspace(0.5, 1.5, len(counts))
    listed, law = listed_law(alpha, x, epsilon, "l2"), LatticeLaw(alpha, x, epsilon, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    assert abs(estimate.value - listed.mean_distance()) <= estimate.error
    square = law.mean_square()
    assert abs(square.value - listed.expectation(listed.distances**2)) <= square.error < 1e-9


@pytest.mark.parametrize(
    ("counts", "epsilon", "size", "sigmas"),
    [(HALVING, 0.1, 20_000, 6), (HALVING, 0.02, 20_000, 6), ([10] * 10, 0.005, 20_000, 6),
     pytest.param([50, 3, 0, 0, 2], 1e-4, 100_000, 5, marks=pytest.mark.slow),
     pytest.param([60, 9, 0, 1, 2, 0], 1e-5, 100_000, 5, marks=pytest.mark.slow)],
)  # fmt: skip
def test_means_where_noise_is_wide_lie_within_the_error_of_draws(counts, epsilon, size, sigmas):
    law = LatticeLaw(np.ones(len(counts)), np.array(counts), epsilon, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    draws = law.sample(np.random.default_rng(5), size)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - estimate.value) < sigmas * distances.std() / np.sqrt(size) + 1e-9


def test_prefixes_are_sums_over_released_counts():
    category, epsilon, t = Category(0.7, 9, 60), 0.3, 4
    rho = np.exp(-0.5 * epsilon)
    nodes = Nodes(np.array([0.03]), np.array([0, 1, 5]), 17)
    sums = Prefixes(category, 1.5, rho, nodes, (2, 7), 200)
    for paid in (0, 1):
        r = np.arange(2, 30)
        affinities = np.exp(1.5 * category.logs[r - category.first])
        weights = rho ** (np.abs(r + t + paid - 9) - t) * affinities
        expected = (weights[:, None] * nodes.powers(r - 9)).sum(axis=0)
        places = [sums.at(t, np.array([place]), paid, slice(None)) for place in (2, 30)]
        found = (places[1][0] - places[0][0]) + (places[0][1] - places[1][1])
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def test_nodes_that_are_left_out_add_no_more_than_is_said():
    part = wide_noise([400, 90, 30, 4], 0.1)
    level = WideLevel(part.runs, 1.0, 0.1, 12, WideHeights(part.runs, 12))
    sums = wide._LevelSums(part, 1.0)
    sums._range = 10, 20
    tilted = sums._prefixes(sums.tilts)
    shortfall = level.shortfall_circle(tilted, 12, 1e-13, sums.scale)
    whole = Circle(float(sums.tilts.log_radius[13]), 901)
    fewer, most = shortened(level, level.coarse, tilted, 13, whole, shortfall, 1e-6 / sums.scale)
    assert 10 < fewer.last < 451
    every = sums._prefixes(whole.half()[0])
    blocks = np.arange(level.heights.edges.size - 1)
    parts = level.parts(blocks, every, whole, shortfall)
    left_out = abs(parts[:, fewer.last :].sum())
    assert 0.0 < left_out <= most <= 1e-6 / sums.scale
    neglect = 1e-6 / sums.scale
    rule = thinning(whole, 0, sums._prefixes)
    found, change, terms = rule.read(level, blocks, whole, shortfall, neglect / blocks.size)
    assert terms < parts.size
    missed = np.abs(found - parts.sum(axis=1))
    assert 0.0 < missed.sum() < change.sum() <= neglect


@pytest.mark.parametrize("times", [1, 2, 3])
def test_thinned_nodes_read_what_has_no_kink_far_away(times):
    steps, whole = np.arange(-1472, 1473), 1472
    share = np.exp(-0.025 * np.abs(steps))
    turns = np.arange(whole // 2 + 1)
    spectrum = (share[:, None] * np.cos(np.outer(steps, turns) * 2 * np.pi / whole)).sum(axis=0)
    folds = Circle(0.0, whole).folds(turns)
    every, thin, coarser = (
        float((weights * folds) @ spectrum**3) / whole
        for weights in (
            np.ones(turns.size),
            *(weights_of(whole, turns, np.inf, start, times) for start in (96, 48)),
        )
    )
    assert np.count_nonzero(weights_of(whole, turns, np.inf, 96, times)) < 0.6 * turns.size
    assert abs(thin - every) < 1e-10 * every
    # A kink where the thinned nodes read as well is seen, and the coarser rule sees more of it.
    moved = spectrum**3 * np.cos(turns * 2 * np.pi / (1 << times))
    every, thin, coarser = (
        float((weights * folds) @ moved) / whole
        for weights in (
            np.ones(turns.size),
            *(weights_of(whole, turns, np.inf, start, times) for start in (96, 48)),
        )
    )
    assert 1e-9 < abs(thin - every) < 0.5 * abs(coarser - thin)


@pytest.mark.parametrize(
    ("counts", "epsilon", "power"),
    [
        ([2, 244_482, 0, 0], 0.01776, 5.0),
        ([141, 0, 1423, 740], 0.09593, 1.0),
        ([0, 38, 0, 21_639], 0.015, 30.0),
    ],
)
def test_moments_against_the_sum_over_all_outputs(counts, epsilon, power):
    x, alpha = np.array(counts), np.array([5.684, 0.128, 0.06, 0.082])
    few = FewCategories(alpha, x, epsilon, 25)
    parts = sum(few._clamped(lambda logs: np.exp(power * logs)), start=np.zeros((2, 2)))
    found, error = ClampedPart(alpha, x, epsilon).wide.moment(power)
    assert error < 1e-9
    assert abs(found - float(parts[0, 0]) * few._scale) <= error + 1e-12


def test_few_categories_that_vary_beside_empty_ones_need_no_draws():
    counts = np.array([75_918, 0, 0, 25, 118])
    law = LatticeLaw(np.ones(5), counts, 0.03, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    draws = law.sample(np.random.default_rng(5), 50_000)
    distances = dp.hellinger(law.prior + counts, law.prior + draws)
    assert abs(distances.mean() - estimate.value) < 5 * distances.std() / np.sqrt(50_000)


def test_far_true_counts_need_no_level(monkeypatch):
    monkeypatch.setattr(wide, "LARGEST_WORK", 0)
    law = LatticeLaw(np.ones(4), np.array([11_019, 7309, 1560, 302]), 0.02, "l2")
    estimate = law.mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-9


def test_what_takes_too_long_is_drawn(monkeypatch):
    monkeypatch.setattr(wide, "LARGEST_WORK", 1000)
    law = LatticeLaw(np.ones(4), np.array([900, 30, 20, 0]), 0.02, "l2")
    assert not law._part.affordable
    assert law.mean_distance().how == "draws"
    assert law.mean_square().how == "draws"
    with pytest.raises(wide.NotFollowed):
        law._part.wide.moment(1.0)


@pytest.mark.parametrize("k", [2, 5, 8, 10])
def test_what_is_unclamped_adds_up_to_what_wide_noise_leaves(k):
    x = np.array([40_000, 7, 0, 900, 3, 12_000, 55, 0, 1, 2])[:k]
    part = UnclampedPart(np.ones(k), x, 0.001)
    assert part.wide
    inside = float(part.means(np.zeros(1))[0])
    assert abs(inside - noise.probability_inside(x, 0.001)) < 3e-12


def test_levels_that_would_take_minutes_are_given_up(monkeypatch):
    monkeypatch.setattr(wide, "LARGEST_LEVEL", 1000)
    law = LatticeLaw(np.ones(4), np.array([900, 30, 20, 0]), 0.02, "l2")
    with pytest.raises(wide.NotFollowed):
        law._part.wide.moment(1.0)
    assert law.mean_distance().how == "draws"


def test_powers_that_are_known_have_to_do_where_more_take_too_long(monkeypatch):
    monkeypatch.setattr(ClampedPart, "affordable", False)
    x, last = np.array([40, 3, 0]), np.inf
    mass = LatticeLaw(np.ones(3), x, 0.5, "l2").clamped
    whole = ClampedPart(np.ones(3), x, 0.5)
    found, error = whole.mean_root(1.0, mass)
    taken = whole.wide.work[0]
    for share in (0.6, 0.9):
        monkeypatch.setattr(wide, "MOST_WORK", int(share * taken))
        part = ClampedPart(np.ones(3), x, 0.5)
        fewer, bound = part.mean_root(1.0, mass)
        assert abs(fewer - found) <= bound + error
        assert 10.0 * error < bound < min(last, 0.1)
        assert part.mean_root(1.0, mass) == (fewer, bound)  # whatever was asked before
        last = bound


@pytest.mark.slow
def test_noise_without_end_leaves_all_records_in_one_category_or_another():
    x, power = np.array([50, 3, 0, 0, 2]), 2.0
    corners = 55 * np.eye(5, dtype=np.int64)
    limit = np.exp(power * log_affinity_of_outputs(np.ones(5), x, corners)).mean()
    once, twice = (wide_noise(x, epsilon).moment(power) for epsilon in (1e-6, 2e-6))
    assert once[1] + twice[1] < 1e-9
    assert 1e-7 < abs(once[0] - limit) < 1e-6
    # What is of first order in epsilon cancels.
    assert abs(2.0 * once[0] - twice[0] - limit) < 2.0 * once[1] + twice[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "power"), [([900, 0, 30, 4, 250], 2.0), ([40, 0, 3, 9, 1], 5.0)]
)
def test_windows_that_end_where_the_affinity_does_change_nothing(counts, power, monkeypatch):
    part = wide_noise(counts, 0.02)
    shorter, error = part.moment(power)
    least = part._from(power)
    whole = [Category(one.prior, one.count, one.reach) for one, _ in part.runs]
    assert sum(one.last - one.first for one, _ in least.runs) < 0.5 * sum(
        one.last - one.first for one in whole
    )
    monkeypatch.setattr(wide.WideNoise, "_from", lambda self, _: self)
    whole, uncertain = wide_noise(counts, 0.02).moment(power)
    assert shorter != 0.0
    assert error + uncertain < 1e-9
    assert abs(shorter - whole) <= error + uncertain


@pytest.mark.slow
def test_sums_that_few_heights_need_may_be_computed_later(monkeypatch):
    expected, error = wide_noise([400, 90, 30, 4, 0], 0.02).moment(1.0)
    monkeypatch.setattr(thinning_module, "_SOON", 1)
    found, uncertain = wide_noise([400, 90, 30, 4, 0], 0.02).moment(1.0)
    assert abs(found - expected) < 1e-14
    assert error + uncertain < 1e-9


@pytest.mark.parametrize(
    ("counts", "epsilon", "power"),
    [
        ([20_000, 0, 30, 700], 0.01, 1.0),
        ([40_000, 9, 0], 0.02, 2.5),
        ([9000, 800, 3, 0, 0, 60], 0.02, 1.5),
    ],
)
def test_panels_and_tables_give_the_same_moments(monkeypatch, counts, epsilon, power):
    known, doubt = wide_noise(counts, epsilon).moment(power)
    monkeypatch.setattr(prefixes_module, "LONG", 500)
    found, error = wide_noise(counts, epsilon).moment(power)
    assert found > 1e-9
    assert abs(found - known) < 1e-12
    assert max(error, doubt) < 3e-10


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([31_185_953, 977_570, 466], 0.00141),
        ([3 * 10**8, 14, 31], 0.0019),
    ],
)
def test_windows_of_a_hundred_thousand_against_all_outputs(counts, epsilon):
    x, prior = np.array(counts), np.full(3, 0.5)
    panels = FewCategories(prior, x, epsilon).mean(lambda logs: -np.expm1(logs))
    law = LatticeLaw(prior, x, epsilon, "l2")
    assert max(category.length for category, _ in law._part.wide.runs) < 5000
    assert max(category.last - category.first for category, _ in law._part.wide.runs) > 40_000
    found = law.mean_square()
    assert found.how == "series"
    assert found.error < 1e-9
    assert abs(found - panels) <= found.error + panels.error


@pytest.mark.parametrize("power", [0.5, 3.0])
@pytest.mark.parametrize(
    ("counts", "epsilon"), [([10] * 10, 0.01), ([3000, 1000, 50], 0.01), ([9000, 0, 400, 7], 0.004)]
)
def test_unclamped_moments_by_panels_and_by_transforms(counts, epsilon, power):
    part = UnclampedPart(np.full(len(counts), 0.5), np.array(counts), epsilon)
    found, doubt = unclamped_moment(part.prior, part.counts, epsilon, part.reach, power)
    assert not part.wide
    assert abs(found - part.means(np.array([power]))[0]) <= doubt <= 2e-13


@pytest.mark.parametrize(
    ("counts", "epsilon", "power"),
    [
        ([523_475, 523_475, 0], 0.05, 1.0),
        ([5000, 5000, 5000, 0], 0.02, 1.0),
        ([9000, 8930, 0, 2], 0.02, 4.0),
        ([1_000_000, 0, 0, 0], 0.01, 1.0),
        ([6000, 4000, 0, 0], 0.1, 1.0),
        ([600_000_000, 400_000_000, 0, 0], 0.01, 1e5),
        ([53, 25, 12, 10], 0.1, 1.0),
        ([60, 40, 0, 0], 0.01, 2.0),
    ],
)
def test_equal_large_counts_beside_empty_ones_against_the_sum_over_all_outputs(
    counts, epsilon, power
):
    x = np.array(counts)
    few = FewCategories(np.ones(x.size), x, epsilon, 25)
    parts = sum(few._clamped(lambda logs: np.exp(power * logs)), start=np.zeros((2, 2)))
    found, error = ClampedPart(np.ones(x.size), x, epsilon).wide.moment(power)
    assert error < 3e-10
    assert abs(found - float(parts[0, 0]) * few._scale) <= error


@pytest.mark.parametrize(
    ("counts", "epsilon", "power"),
    [
        ([124_382] * 3 + [0], 0.01, 2.0),  # far tilts lose all digits of some sums
        ([600_000, 400_000] + [0] * 8, 0.03, 1.0),
        ([239_516] + [0] * 19, 0.05, 3.0),
        ([9, 7, 5, 4, 3, 2], 0.02, 1.0),
    ],
)
def test_bounds_beyond_the_noise_take_nodes_only(counts, epsilon, power, monkeypatch):
    found, error = wide_noise(counts, epsilon).moment(power)
    monkeypatch.setattr(wide, "TILTS", wide.TILTS[~wide.BEYOND])
    monkeypatch.setattr(wide, "UPRIGHT", 12)
    monkeypatch.setattr(wide, "BEYOND", np.zeros(25, dtype=bool))
    known, other = wide_noise(counts, epsilon).moment(power)
    assert max(error, other) < 5e-10
    assert abs(found - known) <= 0.1 * error


def test_bounds_know_which_digits_are_lost():
    """Differences of sums that far tilts make large bound nothing; a bound may only be too large.

    The last tilt multiplies the largest released count by e^150 or so, and those of lower levels,
    which the sums hold as well, by more: nothing is left of their differences.
    """
    part = wide_noise([30_000, 20_000, 0, 0], 0.02)._from(1.0)
    sums = wide._LevelSums(part, 1.0)
    levels, bounds = (700, 0), []
    for first in levels:
        sums._range = first, 701
        tilted = sums._prefixes(sums.tilts)
        heights = WideHeights(part.runs, 700)
        level = WideLevel(part.runs, 1.0, part.epsilon, 700, heights)
        circle = level.shortfall_circle(tilted, wide.UPRIGHT, 1e-14, sums.scale)
        every = list(range(wide.TILTS.size))
        bounds.append(level.bounds(level.coarse, tilted, sums.tilts, every, circle))
    alone, among = bounds
    assert np.all(among >= alone * (1.0 - 1e-6))
    inside = ~wide.BEYOND
    assert np.allclose(among[:, inside], alone[:, inside], rtol=1e-6)


def test_moments_beside_many_empty_categories_are_as_sure_as_beside_few():
    sure = [wide_noise([900] + [0] * zeros, 0.2).moment(1.0)[1] for zeros in (3, 19)]
    assert sure[1] < min(6e-10, 2.0 * sure[0])


def test_weights_that_leave_the_range_are_not_followed():
    """The weight of a noise vector of 64 categories at 1e-5 is e^-770 of all: no float."""
    counts = np.append(1, np.zeros(63, dtype=np.int64))
    assert not wide_noise(counts, 1e-5).possible
    mean = dp.mechanism("lattice", 1e-5).law(counts, np.ones(64)).mean_distance()
    assert mean.how == "draws"
    assert mean.error < 0.01


def test_levels_next_to_nothing_are_nothing():
    """Nothing is paid at the last levels of 29 categories; a circle there is not to overflow."""
    counts = np.append([58, 27, 13, 6, 3, 1], np.zeros(23, dtype=np.int64))
    part = wide_noise(counts, 0.066)._from(3.0)
    sums = wide._LevelSums(part, 3.0)
    sums._range, sums._shared, sums._errors = (630, part.last), None, {}
    sums._tilted = sums._prefixes(sums.tilts)
    assert [sums._level(part.last - j) for j in range(9, 0, -1)] == [0.0] * 9
    assert max(sums._bounds.values()) < 1e-40


def test_products_of_many_wide_sums_stay_in_range():
    """Without clamping, 64 equal counts: more records at a wider noise of the same shape."""
    few, many = (
        dp.mechanism("lattice", epsilon).law([count] * 64, np.ones(64)).mean_distance()
        for epsilon, count in ((1e-4, 10**7), (1e-5, 10**9))
    )
    assert max(few.error, many.error) < 1e-9
    assert float(few) == pytest.approx(float(many), abs=1e-4)


def test_moments_let_go_of_their_sums():
    part = wide_noise([9000, 9000, 0, 0, 0], 0.05)
    gc.collect()
    gc.disable()
    try:
        part.moment(2.0)
        kept = [one for one in gc.get_objects() if isinstance(one, LongPrefixes)]
    finally:
        gc.enable()
    assert not kept


@pytest.mark.parametrize(("k", "epsilon"), [(50, 0.001), (64, 0.1), (30, 1e-5)])
def test_levels_that_matter_may_come_after_many_that_do_not(k, epsilon):
    counts = np.zeros(k, dtype=np.int64)
    counts[0] = 1
    part = ClampedPart(np.ones(k), counts, epsilon)
    found, error = part.mean_power(1.0, 1.0)
    assert found > part.probability(counts)
    outputs = np.eye(k, dtype=np.int64)
    logs = log_affinity_of_outputs(np.ones(k), counts, outputs)
    masses = np.array([part.probability(output) for output in outputs])
    assert abs(found - masses @ np.exp(logs)) <= error <= 1e-9
