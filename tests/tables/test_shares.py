"""Shares read on their own: against enumeration, Bayes' rule by hand, in coverage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import betainc, gammaln
from scipy.stats import beta, betabinom

import dpbayes as dp
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.tables.count_noise import count_noise_of
from dpbayes.tables.drawn import Release
from dpbayes.tables.shares import Shares


def reached(reading, share):
    """Return the distribution function of a reading from its own pairs."""
    a, b = reading.prior
    return reading.weights @ betainc(
        a + reading.count, b + reading.total - reading.count, share
    )


@pytest.mark.parametrize("k", [2, 4])
def test_the_noise_of_one_count_is_that_of_all_noise_vectors(k):
    epsilon, reach = 0.9, 14
    steps = np.array(list(itertools.product(range(-reach, reach + 1), repeat=k - 1)))
    size = np.abs(steps).sum(axis=1) + np.abs(steps.sum(axis=1))
    weights = np.exp(-0.5 * epsilon * size)
    law = count_noise_of(dp.mechanism("lattice", epsilon), k).law(frozenset({1}))
    for step in (-3, 0, 1):
        # k = 2 has one free step; elsewhere any column of the free ones is alike
        exact = weights[steps[:, 0] == step].sum() / weights.sum()
        assert law.at(np.array([step]))[0] == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("name", ["ilapMech", "lapMech", "discrete-gaussian"])
@pytest.mark.parametrize("category", [0, 2])
def test_the_noise_of_one_count_is_that_of_draws(name, category):
    chosen, x = dp.mechanism(name, 0.7), np.array([4000, 3000, 2000])
    drawn = chosen.law(x, np.ones(3)).rvs(20_000, np.random.default_rng(3))
    law = count_noise_of(chosen, 3).law(frozenset({category}))
    errors = drawn[:, category] - x[category]
    for share in (0.1, 0.5, 0.8):
        at = law.quantile(share)
        exact = law.weights[law.values <= at].sum()
        assert abs(np.mean(errors <= at) - exact) < 5 * 0.5 / 20_000**0.5


def test_two_categories_by_bayes_rule():
    # a uniform share makes every count equally likely: the weights are the noise's
    n, y, epsilon = 60, 20, 0.3
    x = np.arange(n + 1)
    weights = np.exp(-epsilon * np.abs(y - x))
    weights /= weights.sum()
    reading = Shares(dp.mechanism("geometric", epsilon), np.array([y]), n, 2).read([0])
    low, high = reading.interval(0.9)
    at = [weights @ betainc(1 + x, 1 + n - x, end) for end in (low, high)]
    assert at == pytest.approx([0.05, 0.95], abs=1e-9)
    first, last = np.array(reading.table_interval(0.9)) * n
    assert weights[x < first - 0.5].sum() < 0.05 <= weights[x < first + 0.5].sum()
    assert weights[x < last - 0.5].sum() < 0.95 <= weights[x < last + 0.5].sum()


def test_one_of_four_categories_and_a_share_within_a_group_by_enumeration():
    n, epsilon, k = 12, 0.8, 4
    noisy = np.array([5, 4, 1, 2])
    shares = Shares(dp.mechanism("lattice", epsilon), noisy, n, k)
    # of the sum of the others only the noisy sum is used: as if they were one count
    sums = {}
    steps = np.arange(-80, 81)
    one = np.exp(-0.5 * epsilon * np.abs(steps))
    three = np.convolve(np.convolve(one, one), one)
    for x in range(n + 1):
        sums[x] = one[80 + 5 - x] * three[240 + 7 - (n - x)]
    exact = np.array(list(sums.values()))
    exact /= exact.sum()
    reading = shares.read([0])
    assert reading.weights == pytest.approx(exact[reading.count], rel=1e-9)
    inside = shares.read([0], [0, 1])
    # the pair and the rest are three cells; each total of the group is equally likely
    two, pairs = np.convolve(one, one), {}
    for x, rest in itertools.product(range(n + 1), repeat=2):
        if x + rest <= n:
            other = two[160 + 3 - (n - x - rest)]
            weight = one[80 + 5 - x] * one[80 + 4 - rest] * other / (x + rest + 1)
            pairs[x, x + rest] = weight
    total = sum(pairs.values())
    found = dict.fromkeys(pairs, 0.0)
    for x, t, w in zip(inside.count, inside.total, inside.weights, strict=True):
        found[int(x), int(t)] += w
    assert all(abs(found[p] - pairs[p] / total) < 1e-9 for p in pairs)


def test_candidates_that_are_listed_agree_with_noise_on_the_counts():
    """Two categories: the released count inside its range is the noisy one."""
    chosen, n = dp.mechanism("geometric", 0.5), 30
    of_noise = Shares(chosen, np.array([11]), n, 2)
    of_list = Shares(chosen, np.array([11, 19]), n, 2, repaired=True)
    assert of_list.intervals() == pytest.approx(of_noise.intervals(), abs=1e-9)
    assert of_list.table_intervals() == pytest.approx(of_noise.table_intervals())


def test_a_count_of_nobody_is_never_excluded_by_a_draw_at_zero():
    shares = Shares(dp.mechanism("lattice", 1.0), np.array([60, 41, -1]), 100, 3)
    first, last = shares.read([0]), shares.read([2])
    assert first.none < 0.05 < last.none
    for low, high in (last.interval(), last.table_interval()):
        assert low == 0.0 < high
    assert last.reached(last.interval()[1]) == pytest.approx(0.95, abs=1e-9)
    everybody = Shares(dp.mechanism("lattice", 1.0), np.array([101, -1]), 100, 2)
    assert everybody.read([0]).interval()[1] == 1.0
    nothing = Shares(dp.mechanism("lattice", 0.001), np.array([50, 50]), 100, 2)
    assert nothing.intervals().tolist() == [[0.0, 1.0]] * 2


def test_a_stated_prior_is_that_of_the_share():
    prior, n = np.array([2.0, 1.0, 3.0]), 40
    shares = Shares(dp.mechanism("lattice", 50.0), np.array([10, 20, 10]), n, 3, prior)
    exact = beta(2 + 10, 4 + 30).ppf([0.025, 0.975])  # no noise to speak of
    assert shares.read([0]).interval() == pytest.approx(exact, abs=1e-9)
    noisy = Shares(dp.mechanism("lattice", 0.5), np.array([10, 20, 10]), n, 3, prior)
    x = np.arange(n + 1)
    law = count_noise_of(dp.mechanism("lattice", 0.5), 3).law(frozenset({0}))
    exact = law.at(10 - x) * betabinom(n, 2, 4).pmf(x)
    reading = noisy.read([0])
    assert reading.weights == pytest.approx(exact[reading.count] / exact.sum())


def secret_by_enumeration(noisy, epsilon, most):
    """Return counts of category 0, totals and probabilities, any total equally
    likely."""
    x, rest = (one.ravel() for one in np.meshgrid(np.arange(most), np.arange(3 * most)))
    steps = np.arange(-4 * most, 4 * most + 1)
    one = np.exp(-epsilon * np.abs(steps))
    two = np.convolve(one, one, mode="same")
    logs = np.log(one[noisy[0] - x + 4 * most]) + np.log(
        two[sum(noisy[1:]) - rest + 4 * most]
    )
    logs -= np.log(x + rest + 1.0)
    weights = np.exp(logs - logs.max())
    return x, x + rest, weights / weights.sum()


def test_a_secret_number_of_records_by_enumeration():
    noisy, epsilon = np.array([14, 9, 4]), 0.5
    count, total, weights = secret_by_enumeration(noisy, epsilon, 120)
    reading = Shares(IndependentNoise(epsilon), noisy, None, 3).read([0])
    low, high = reading.interval(0.9)
    a, b = 1.0 + count, 1.0 + total - count
    at = [float(weights @ betainc(a, b, end)) for end in (low, high)]
    assert at == pytest.approx([0.05, 0.95], abs=2e-3)
    mean = float(weights @ (a / (a + b)))
    assert reading.mean == pytest.approx(mean, abs=1e-3)


def test_every_secret_release_is_read():
    """Twelve categories, 200 records, epsilon .05: noise as large as the table."""
    rng, epsilon, k = np.random.default_rng(8), 0.05, 12
    fall = -np.expm1(-epsilon)
    steep = np.arange(1, k + 1.0) ** -1.5
    x = rng.multinomial(200, steep / steep.sum(), 6)
    noisy = x + rng.geometric(fall, x.shape) - rng.geometric(fall, x.shape)
    for one in noisy:
        intervals = Shares(IndependentNoise(epsilon), one, None, k).intervals()
        assert np.all(intervals[:, 0] < intervals[:, 1])
        # and the posterior of all shares together, by draws
        means = dp.tables.noise_aware(IndependentNoise(epsilon), one, 0, np.ones(k))
        assert means.mean.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("alike", [True, False])
def test_records_of_one_person_count_as_one_where_they_are_alike(alike):
    """Three records a person: equal answers need the design effect 3, others none."""
    rng, people, keep, theta, level = np.random.default_rng(4), 300, 3, 0.3, 0.95
    chosen, n, runs = dp.mechanism("lattice", 1.0), 900, 400
    each = rng.multinomial(people if alike else n, [theta, 1 - theta], runs)
    x = keep * each if alike else each
    noisy = x + chosen.noise(rng, 2, runs)
    hits = {1.0: 0, 3.0: 0}
    for y, effect in itertools.product(noisy, hits):
        reading = Shares(chosen, y, n, 2, design_effect=effect).read([0])
        low, high = reading.interval(level)
        hits[effect] += int(low <= theta <= high)
    covered = {effect: hit / runs for effect, hit in hits.items()}
    if alike:
        assert covered[1.0] < 0.8
        assert 0.93 <= covered[3.0] <= 0.98
    else:
        assert 0.93 <= covered[1.0] <= 0.98
        assert covered[3.0] > 0.99


def test_bad_input():
    lattice = dp.mechanism("lattice", 1.0)
    with pytest.raises(ValueError, match="noisy must have 3 entries for lattice"):
        Shares(lattice, np.array([1, 2]), 3, 3)
    with pytest.raises(ValueError, match="n must be given to read lattice"):
        Shares(lattice, np.array([1, 2, 0]), None, 3)
    with pytest.raises(ValueError, match="design_effect must be at least 1"):
        Shares(lattice, np.array([1, 2, 0]), 3, 3, design_effect=0.5)
    shares = Shares(lattice, np.array([1, 2, 0]), 3, 3)
    for part, whole in (([], None), ([0, 1, 2], None), ([0], [1, 2]), ([0], [0])):
        with pytest.raises(ValueError, match="part must be some of the categories"):
            shares.read(part, whole)
    with pytest.raises(ValueError, match="noisy must be within reach"):
        Shares(lattice, np.array([-400, 402, 1]), 3, 3).intervals()
    with pytest.raises(ValueError, match="level"):
        shares.intervals(1.0)
    wide = Shares(dp.mechanism("expMech", 1.0), np.array([30, 30, 40]), 100, 3)
    with pytest.raises(ValueError, match="takes at most 3000"):
        wide.intervals()


@pytest.mark.parametrize(
    ("drawn", "n", "epsilon"),
    [
        ([0, 200], 200, 0.05), ([-30, 230], 200, 0.05), ([1, 0, 0], 1, 3.0),
        ([40, 30, 30], 100, 1.0), ([999_000, 1000, 0], 10**6, 0.05),
        ([500_000, 500_000], 10**6, 10.0),
    ],
)  # fmt: skip
def test_ends_of_intervals_leave_out_what_they_say(drawn, n, epsilon):
    shares = Shares(dp.mechanism("lattice", epsilon), np.array(drawn), n, len(drawn))
    for i, reading in enumerate(shares.each):
        for level in (0.5, 0.95, 0.999):
            low, high = reading.interval(level)
            inside = reading.reached(high) - reading.reached(low)
            full = (low, high) == (0.0, 1.0)
            assert full or inside == pytest.approx(level, abs=1e-6), (i, level)
        few = reading.thinned(512)
        assert few.weights.size <= 512
        assert few.weights.sum() == pytest.approx(1.0)
        thin, all_ = (np.diff(one.interval())[0] for one in (few, reading))
        assert thin == pytest.approx(all_, rel=2e-3)


@pytest.mark.parametrize("strength", [1e-9, 1e-3, 30.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("secret", [False, True])
def test_a_strong_or_a_weak_prior_is_read_as_by_listing_all_counts(strength, secret):
    """Left out as small were counts that only the prior's sum made small."""
    alpha, n = strength * np.array([1.0, 2.0, 3.0]), 44
    made = IndependentNoise(0.5) if secret else dp.mechanism("lattice", 0.5)
    noisy = np.array([4, 15, 25])
    released = Release(made, alpha, n, noisy, noisy, prior_stated=True)
    x = np.stack(np.meshgrid(*[np.arange(90)] * 2, indexing="ij"), -1).reshape(-1, 2)
    noise = count_noise_of(made, 3)
    parts = [noise.factor(frozenset(cells)) for cells in ({0}, {1, 2})]
    logs = np.zeros(len(x))
    with np.errstate(divide="ignore"):
        for part, drawn, values, a in zip(
            parts, (4, 40), x.T, (alpha[0], alpha[1:].sum()), strict=True
        ):
            logs += np.log(part.at(drawn - values))
            logs += gammaln(values + a) - gammaln(a) - gammaln(values + 1.0)
    total = x.sum(axis=1)
    if secret:  # equal chances of every total
        whole = alpha.sum()
        logs -= gammaln(total + whole) - gammaln(whole) - gammaln(total + 1.0)
    else:
        logs[total != n] = -np.inf
    weights = np.exp(logs - logs.max())
    mean = weights @ ((alpha[0] + x[:, 0]) / (alpha.sum() + total)) / weights.sum()
    count = weights @ x[:, 0] / weights.sum()
    read = released.shares().read([0])
    np.testing.assert_allclose(read.mean, mean, rtol=1e-2, atol=1e-7)
    np.testing.assert_allclose(read.weights @ read.count, count, rtol=1e-2, atol=1e-3)
    low, high = read.interval()
    assert 0.0 <= low <= high <= 1.0
