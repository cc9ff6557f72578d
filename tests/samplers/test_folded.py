"""Exact draws of folded noise: its weights in balls, its law over all scripts, and many draws."""

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from dpbayes.posteriors import compositions
from dpbayes.samplers import folded as tested
from dpbayes.samplers.folded import classes, draw_folded, enclosed_weights
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_folded import folded
from tests.samplers.dense_folded import dense
from tests.samplers.sources import SeededBits, law_of_bits


@pytest.mark.parametrize(
    ("n", "k", "epsilon"), [(7, 2, "1/3"), (4, 3, "7/10"), (3, 4, "2"), (2, 5, "1"), (1, 3, "5")]
)
def test_balls_hold_the_weights_of_the_whole_system(n, k, epsilon):
    budget, space = Fraction(epsilon), simplex(n, k)
    rows, _, weights = dense(n, k, budget)
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
    rows, table, weights = dense(2, 3, budget)
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


def test_a_sign_that_no_precision_tells_is_refused(monkeypatch):
    assert len(tested.decided_weights(2, 3, Fraction(1, 10**30), 2)) == 2
    monkeypatch.setattr(tested, "MOST_PRECISION", 32)
    for call in (
        lambda: tested.decided_weights(2, 3, Fraction(1, 10**30), 2),
        lambda: draw_folded(SeededBits(1), (1, 0, 1), Fraction(1, 10**30)),
    ):
        monkeypatch.setattr(tested, "FIRST_PRECISION", 2)
        with pytest.raises(ValueError, match=r"epsilon must be larger to tell in 32 bits .* 1e-30"):
            call()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match=r"exist at n = 6 records over k = 4 .*got 0.05, where a"):
        draw_folded(SeededBits(1), (1, 1, 2, 2), Fraction(1, 20))
    with pytest.raises(ValueError, match=r"at most 400 classes .* in ball arithmetic, got 884"):
        draw_folded(SeededBits(1), (50, 25, 25), Fraction(1))
    with pytest.raises(ValueError, match=r"at most 1000 classes .* folded noise, got 1008 for"):
        draw_folded(SeededBits(1), (50, 27, 30), Fraction(1))
    with pytest.raises(
        ValueError, match=r"at most 2000000 numbers .* n = 100 records over k = 10 "
    ):
        draw_folded(SeededBits(1), (10,) * 10, Fraction(1))
    with pytest.raises(ValueError, match="epsilon"):
        draw_folded(SeededBits(1), (3, 1, 2), Fraction(0))


def test_classes_are_the_histograms_up_to_their_order():
    space = classes(5, 4)
    assert space.copies.sum() == len(space.every) == 56
    np.testing.assert_array_equal(space.rows[space.number], np.sort(space.every, axis=1))
    x = np.array([2, 0, 1, 2])
    counted = space.alike(x)
    assert counted.sum(axis=1).tolist() == space.copies.tolist()
    for d in range(6):
        assert counted[:, d].sum() == int((space.apart(x) == d).sum())
    other = simplex(5, 4)
    np.testing.assert_array_equal(
        other.copies[other.place[tuple(space.rows[:, :-1].T)]], space.copies
    )
