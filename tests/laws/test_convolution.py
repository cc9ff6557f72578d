"""Sums over steps that add up to zero, against loops over all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws import convolution
from dpbayes.laws.convolution import AffinityProduct, Tilted, TooWide
from tests.strategies import small_cases


def brute(logs, first, copies):
    """The sum of products over all steps with sum 0, in order of size."""
    rows = np.repeat(np.arange(len(logs)), copies)
    steps = range(first, first + logs.shape[1])
    terms = [
        np.exp(sum(logs[row, d - first] for row, d in zip(rows, ds, strict=True)))
        for ds in itertools.product(steps, repeat=rows.size)
        if sum(ds) == 0
    ]
    return float(np.sum(np.sort(terms)))


@given(st.integers(0, 10**6), st.floats(0.1, 30.0))
@settings(max_examples=40, deadline=None)
def test_one_coefficient_is_the_sum_of_all_products(seed, spread):
    rng = np.random.default_rng(seed)
    first, copies = -int(rng.integers(1, 4)), np.array([1, 2, 1])
    # Falling on both sides of a peak, as all factors here do (log-concave), with ends cut off.
    logs = np.cumsum(np.sort(rng.normal(0.0, spread, (3, 5)), axis=1)[:, ::-1], axis=1)
    logs[0, 4] = logs[1, 0] = -np.inf
    expected = brute(logs, first, copies)
    found = Tilted(logs, first, copies).log_at_zero()
    assert found == pytest.approx(np.log(expected), abs=1e-11)


@given(small_cases((2, 3, 4), (12, 6, 4)), st.sampled_from([0.05, 1.0, 7.5, 300.0]))
@settings(max_examples=60, deadline=None)
def test_sums_of_powers_of_the_affinity_are_those_of_all_histograms(case, power):
    counts, prior = case
    rows = dp.compositions(int(counts.sum()), counts.size)
    log_bc = dp.log_affinity(prior + counts, prior + rows)
    product = AffinityProduct(prior, counts)
    expected = float(np.log(np.exp(power * log_bc).sum()))
    assert product.log_sums(np.array([power]))[0] == pytest.approx(expected, abs=1e-10)
    others = log_bc[np.any(rows != counts, axis=1)]
    assert product.gap == pytest.approx(-others.max(), rel=1e-9)


def test_noise_goes_into_every_factor():
    prior, counts = np.array([0.3, 2.0, 1.0]), np.array([4, 0, 3])
    product = AffinityProduct(prior, counts, lambda d: 0.7 * np.abs(d))
    rows = dp.compositions(7, 3)
    log_bc = dp.log_affinity(prior + counts, prior + rows)
    logs = 1.5 * log_bc - 0.7 * np.abs(rows - counts).sum(axis=1)
    assert product.log_sums(np.array([1.5]))[0] == pytest.approx(np.log(np.exp(logs).sum()))


@pytest.mark.parametrize("power", [0.5, 40.0])
def test_draws_have_the_shares_of_the_sum_and_no_others(power):
    prior, counts, size = np.array([1.0, 1.0, 0.2, 3.0]), np.array([2, 2, 0, 5]), 60_000
    product = AffinityProduct(prior, counts)
    drawn = counts + product.tilted(power).draw(np.random.default_rng(3), size)[:, product.order]
    assert (drawn.sum(axis=1) == 9).all()
    rows = dp.compositions(9, 4)
    log_bc = dp.log_affinity(prior + counts, prior + rows)
    index = {tuple(row): i for i, row in enumerate(rows.tolist())}
    seen = np.bincount([index[tuple(row)] for row in drawn.tolist()], minlength=len(rows))

    def statistic(exponent):
        weights = np.exp(exponent * log_bc)
        expected = size * weights / weights.sum()
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(power) < 6 < statistic(1.25 * power)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(convolution, "LARGEST_TABLE", 100)
    with pytest.raises(TooWide, match="do not fit into a table of 100 numbers"):
        AffinityProduct(np.ones(3), np.array([500, 600, 700])).log_sums(np.array([0.5]))


def test_large_counts_agree_with_a_longer_table():
    # A window that is twice as wide, and a plain convolution of positive numbers.
    prior, counts = np.array([0.01, 1.0, 20.0]), np.array([0, 4000, 90_000])
    product = AffinityProduct(prior, counts)
    for power in (0.3, 5.0):
        d = np.arange(-4000, 6001)
        factors = []
        for alpha, x in zip(prior, counts, strict=True):
            possible = x + d >= 0
            logs = np.full(d.size, -np.inf)
            psi = dp.divergences.affinity_of_counts(alpha, int(x), x + d[possible])
            logs[possible] = power * psi
            factors.append(np.exp(logs))
        both = np.convolve(factors[0], factors[1])  # from -8000 on
        total = float((both * np.interp(8000 - np.arange(both.size), d, factors[2], 0, 0)).sum())
        found = product.log_sums(np.array([power]))[0]
        assert found == pytest.approx(np.log(total), rel=1e-9)
