"""Bounds from shifted outputs against all losses, and the two inequalities they rest on."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing import located
from dpbayes.auditing.rows import mechanism_rows
from dpbayes.auditing.score_tables import two_categories
from dpbayes.auditing.shifted import _curvature_ratios, shifted_bounds

NAMES = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta", "expMech-repaired")
CASES = [(1, (1.0, 1.0)), (7, (0.3, 2.0)), (2, (1e-300, 1.0)), (60, (1.0, 1.5)),
         (150, (1e-6, 40.0)), (200, (0.5, 0.5))]  # fmt: skip
PRIORS = [(1.0, 1.0), (0.01, 3.0), (1e-6, 40.0), (7.5, 0.4)]


def losses(mechanism, n, prior):
    rows = mechanism_rows(mechanism, n, prior)
    return np.array([np.abs(rows.row(x) - rows.row(x + 1)).max() for x in range(n)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "prior"), CASES)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 10.0])
def test_bounds_hold_for_every_pair_and_a_stretch_has_those_of_the_whole(name, n, prior, epsilon):
    mechanism, alpha = dp.mechanism(name, epsilon), np.array(prior)
    rates, table = mechanism.rates(n, alpha), two_categories(n, alpha)
    truth = losses(mechanism, n, alpha)
    bounds = shifted_bounds(table, rates, (0, n))
    assert np.all(bounds >= truth)
    for pairs in ((0, (n + 1) // 2), (n // 3, n)):
        part = shifted_bounds(table, rates, pairs)
        np.testing.assert_allclose(part, bounds[slice(*pairs)], rtol=1e-9, atol=1e-9)
        finer = shifted_bounds(table, rates, pairs, 1.0)
        assert np.all(finer >= truth[slice(*pairs)])


@pytest.mark.parametrize("prior", [(1.0, 1.0), (1.0, 2.0), (0.5, 0.5)])
@pytest.mark.parametrize("name", ["expMech-local", "expMech-smooth", "expMech-delta"])
def test_few_pairs_stay_above_the_largest_loss(name, prior):
    n, alpha, mechanism = 400, np.array(prior), dp.mechanism(name, 0.3)
    bounds = shifted_bounds(two_categories(n, alpha), mechanism.rates(n, alpha), (0, n))
    largest = losses(mechanism, n, alpha).max()
    assert 1 <= np.count_nonzero(bounds >= largest) <= 40


@pytest.mark.parametrize("prior", PRIORS)
def test_steps_of_distances_fall_with_the_way_and_shifted_ones_keep_their_share(prior):
    n, alpha = 90, np.array(prior)
    table = two_categories(n, alpha)
    exponents = -np.array([table.row(x) for x in range(n + 1)])
    distances = np.sqrt(-np.expm1(-exponents))
    ratios = _curvature_ratios(table)
    assert np.all(np.diff(ratios) >= -1e-12)
    for x in range(n):
        steps = distances[x + 1] - distances[x]
        assert np.all(np.diff(steps[: x + 1]) >= -1e-12)
        assert np.all(np.diff(steps[x + 1 :]) >= -1e-12)
        others = np.delete(np.arange(n), x)
        s = exponents[x, others]
        share = np.expm1(-ratios[np.minimum(x, others)] * s) / np.expm1(-s)
        shifted = distances[x + 1, others + 1] ** 2
        assert np.all(shifted >= share * distances[x, others] ** 2 * (1 - 1e-10))


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.3])
@pytest.mark.parametrize(
    ("n", "prior"), [(120, (1.0, 1.0)), (301, (0.2, 3.0)), (400, (1e-3, 1e-3))]
)
@pytest.mark.parametrize("name", ["expMech-smooth", "expMech-delta"])
def test_a_loss_located_with_sharper_bounds_is_that_of_all_pairs(
    name, n, prior, epsilon, monkeypatch
):
    monkeypatch.setattr(located, "_BEFORE_FINER", 0)
    mechanism, alpha = dp.mechanism(name, epsilon), np.array(prior)
    found = located.located(mechanism, n, alpha)
    assert found is not None
    assert found[0].loss == pytest.approx(losses(mechanism, n, alpha).max(), rel=1e-12)


def test_a_small_epsilon_at_many_records_leaves_few_pairs(monkeypatch):
    monkeypatch.setattr(located, "_MOST_ENTRIES", 50 * 20_001)
    mechanism, alpha = dp.mechanism("expMech-smooth", 0.05), np.ones(2)
    assert located.loss_bounds(20_000, alpha, mechanism.rates(20_000, alpha)).min() > 0.0197
    monkeypatch.setattr(located, "_BEFORE_FINER", 4 * 20_001)
    found = located.located(mechanism, 20_000, alpha)
    assert found is not None
    assert sorted([found[0].counts.min(), found[0].neighbour.min()]) == [2, 3]
