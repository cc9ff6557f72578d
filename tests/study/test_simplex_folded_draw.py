"""Exact draws of folded noise: its weights in balls, its law over all scripts, and many draws."""

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from dpbayes.posteriors import compositions
from dpbayes.study import simplex_folded_draw as tested
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_folded_draw import draw_folded, enclosed_weights
from tests.samplers.sources import SeededBits, law_of_bits


def _dense(n, k, epsilon):
    """Return all rows and their weights from the whole system, solved with fifty digits."""
    rows = compositions(n, k)
    with mpmath.workdps(50):
        q = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        apart = (np.abs(rows[:, None] - rows).sum(axis=2) // 2).tolist()
        table = mpmath.matrix([[q**d for d in row] for row in apart])
        return rows, table, list(mpmath.lu_solve(table, mpmath.ones(len(rows), 1)))


@pytest.mark.parametrize(
    ("n", "k", "epsilon"), [(7, 2, "1/3"), (4, 3, "7/10"), (3, 4, "2"), (2, 5, "1"), (1, 3, "5")]
)
def test_balls_hold_the_weights_of_the_whole_system(n, k, epsilon):
    budget, space = Fraction(epsilon), simplex(n, k)
    rows, _, weights = _dense(n, k, budget)
    balls = enclosed_weights(n, k, budget, 128)
    for row, exact in zip(rows, weights, strict=True):
        ball = balls[space.place[tuple(row[:-1])]]
        with mpmath.workdps(50):
            middle = mpmath.mpf(ball.mid().str(45, radius=False))
            assert abs(middle / exact - 1) < mpmath.mpf(10) ** -30
        assert ball.rel_accuracy_bits() > 90


def test_two_categories_have_the_weights_of_the_truncated_geometric_mechanism():
    balls, q = enclosed_weights(9, 2, Fraction(1, 2), 128), float(np.exp(-0.5))
    found = [float(one.mid()) for one in balls]
    np.testing.assert_allclose(found[0], 1.0 / (1.0 + q), rtol=1e-15)
    np.testing.assert_allclose(found[1:], (1.0 - q) / (1.0 + q), rtol=1e-14)


@pytest.mark.parametrize("x", [(0, 0, 2), (1, 0, 1)])
def test_over_all_scripts_of_bits_the_law_is_exact(x):
    budget, depth = Fraction(3, 4), 16
    rows, table, weights = _dense(2, 3, budget)
    found, left = law_of_bits(lambda bits: tuple(draw_folded(bits, x, budget).tolist()), depth)
    here = int(np.flatnonzero((rows == x).all(axis=1))[0])
    assert 0 < left < Fraction(1, 1000)
    for r, row in enumerate(rows.tolist()):
        exact = float(weights[r] * table[here, r])
        assert float(found[tuple(row)]) - 1e-15 <= exact <= float(found[tuple(row)] + left) + 1e-15


def test_many_draws_have_the_law_of_folded_noise():
    x, rows, space = (1, 2, 5), compositions(8, 3), simplex(8)
    bits = SeededBits(11)
    drawn = Counter(tuple(draw_folded(bits, x, Fraction(1)).tolist()) for _ in range(20_000))
    weights = folded(space, 1.0).weights[space.place[tuple(rows[:, :-1].T)]]
    apart = np.abs(rows - x).sum(axis=1) // 2
    expected = 20_000 * weights * np.exp(-apart)
    seen = np.array([drawn[tuple(row)] for row in rows.tolist()])
    assert seen.sum() == 20_000
    assert expected.min() > 4.0
    assert chisquare(seen, expected).pvalue > 1e-3
    # The same draws do not have the law of a slightly different epsilon.
    other = folded(space, 1.1).weights[space.place[tuple(rows[:, :-1].T)]]
    assert chisquare(seen, 20_000 * other * np.exp(-1.1 * apart)).pvalue < 1e-6


def test_where_balls_are_too_wide_precision_is_doubled_and_nothing_else_changes(monkeypatch):
    fine = [draw_folded(SeededBits(seed), (3, 1, 2), Fraction(1)).tolist() for seed in range(40)]
    assert enclosed_weights(6, 3, Fraction(1), 2) == []
    monkeypatch.setattr(tested, "FIRST_PRECISION", 2)
    wide = [draw_folded(SeededBits(seed), (3, 1, 2), Fraction(1)).tolist() for seed in range(40)]
    assert wide == fine


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="folded noise does not exist for n = 6, k = 4"):
        draw_folded(SeededBits(1), (1, 1, 2, 2), Fraction(1, 20))
    with pytest.raises(ValueError, match="has 884 classes of data sets"):
        draw_folded(SeededBits(1), (50, 25, 25), Fraction(1))
    with pytest.raises(ValueError, match="epsilon"):
        draw_folded(SeededBits(1), (3, 1, 2), Fraction(0))
