"""The located largest loss against all pairs, and bounds against losses, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing import exact, located
from dpbayes.auditing.rows import mechanism_rows
from dpbayes.auditing.score_tables import two_categories

NAMES = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta", "expMech-repaired")
CASES = [(1, (1.0, 1.0), 1.0), (7, (0.3, 2.0), 0.1), (60, (1.0, 1.5), 1.0),
         (150, (1e-6, 40.0), 3.0), (400, (1.0, 1.0), 1.0), (300, (0.5, 0.5), 10.0)]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "prior", "epsilon"), CASES)
def test_the_located_loss_is_that_of_all_pairs_and_bounds_hold(name, n, prior, epsilon):
    mechanism, alpha = dp.mechanism(name, epsilon), np.array(prior)
    rows = mechanism_rows(mechanism, n, alpha)
    losses = [np.abs(rows.row(x) - rows.row(x + 1)).max() for x in range(n)]
    bounds = located.loss_bounds(n, alpha, mechanism.rates(n, alpha))
    assert np.all(bounds >= losses)
    found = located.located(mechanism, n, alpha)
    assert found is not None
    assert found[0].loss == pytest.approx(max(losses), rel=1e-12)
    laws = [mechanism.law(x, alpha) for x in (found[0].counts, found[0].neighbour)]
    ratio = [float(np.log(law.probability(found[0].output))) for law in laws]
    assert ratio[0] - ratio[1] == pytest.approx(found[0].loss, abs=1e-8)


@pytest.mark.parametrize("growth", [1.4, 1.05])
@pytest.mark.parametrize("pairs", [(0, 9), (0, 80), (30, 55), (70, 80), (79, 80)])
def test_bounds_of_some_pairs_hold_and_are_sharper_with_more_offsets(pairs, growth):
    n, prior = 80, np.array([0.4, 3.0])
    mechanism = dp.mechanism("expMech-smooth", 0.3)
    rows, rates = mechanism_rows(mechanism, n, prior), mechanism.rates(n, prior)
    losses = [np.abs(rows.row(x) - rows.row(x + 1)).max() for x in range(*pairs)]
    bounds = located.loss_bounds(n, prior, rates, pairs, growth)
    assert bounds.shape == (pairs[1] - pairs[0],)
    assert np.all(bounds >= losses)
    one_by_one = located.loss_bounds(n, prior, rates, pairs, 1.0)
    assert np.all(one_by_one >= losses)
    assert np.all(one_by_one <= bounds + 1e-12)


@pytest.mark.parametrize("name", ["expMech-local", "expMech-smooth", "expMech-delta"])
def test_sharper_bounds_find_the_loss_of_all_pairs(name, monkeypatch):
    monkeypatch.setattr(located, "_BEFORE_FINER", 3000)
    n, alpha, mechanism = 500, np.array([1.0, 2.0]), dp.mechanism(name, 0.1)
    sharpened = []
    original = located._sharpen
    monkeypatch.setattr(
        located, "_sharpen", lambda *given: (sharpened.append(given[-1]), original(*given))
    )
    rows = mechanism_rows(mechanism, n, alpha)
    losses = [np.abs(rows.row(x) - rows.row(x + 1)).max() for x in range(n)]
    found = located.located(mechanism, n, alpha)
    assert found is not None
    assert sharpened
    assert found[0].loss == pytest.approx(max(losses), rel=1e-12)


@pytest.mark.parametrize("by", [1, 2, 9, 40])
def test_steps_are_a_diagonal_of_the_rows(by):
    table = two_categories(40, np.array([0.3, 2.5]))
    diagonal = [table.row(x)[x + by] for x in range(41 - by)]
    np.testing.assert_allclose(table.steps(by), diagonal, rtol=1e-11, atol=1e-15)
    for low, high in ((0, 1), (0, 41 - by), ((41 - by) // 2, 41 - by)):
        assert np.array_equal(table.steps(by, low, high), table.steps(by)[low:high])


def test_sums_of_weights_lie_between_their_bounds():
    n, prior = 120, np.array([0.4, 3.0])
    table, rates = two_categories(n, prior), np.linspace(0.5, 60.0, n + 1)
    left, right = located._sides(table, rates)
    parts = located._sides(table, rates[37:92], 37)
    for whole, part in zip((left, right), parts, strict=True):
        np.testing.assert_allclose(part.low, whole.low[37:92], rtol=1e-12)
        np.testing.assert_allclose(part.high, whole.high[37:92], rtol=1e-12)
    for x in range(n + 1):
        weights = np.exp(-rates[x] * np.sqrt(-np.expm1(table.row(x))))
        for side, total in ((left, weights[:x].sum()), (right, weights[x + 1 :].sum())):
            assert side.low[x] <= total * (1 + 1e-12)
            assert total <= side.high[x] * (1 + 1e-12)


def test_large_audits_are_located_and_agree_with_the_stream(monkeypatch):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    monkeypatch.setattr(exact, "LARGEST_TABLE", 1_000_000)
    fast = dp.audit(mechanism, 1500, [1.0, 2.0])
    monkeypatch.setattr(exact, "applies", lambda *_: False)
    slow = dp.audit(mechanism, 1500, [1.0, 2.0])
    assert fast.epsilon == pytest.approx(slow.epsilon, rel=1e-12)
    assert fast.certificate.rows == 3
    assert fast.certificate.difference < 1e-8
    assert fast.delta(0.3) == pytest.approx(slow.delta(0.3), rel=1e-12)


def test_a_size_without_a_stream_refuses_a_curve():
    found = dp.audit(dp.mechanism("expMech", 1.0), 40_000, [1.0, 1.0])
    assert 0.5 < found.epsilon < 0.501
    with pytest.raises(ValueError, match="n must be at most 31621 for delta"):
        found.delta(0.1)


def test_another_law_is_noticed(monkeypatch):
    mechanism = dp.mechanism("expMech", 1.0)
    monkeypatch.setattr(type(mechanism), "rates", lambda self, n, prior: np.full(n + 1, 3.0))
    with pytest.raises(ArithmeticError, match="computed another law"):
        located.located(mechanism, 30, np.ones(2))
