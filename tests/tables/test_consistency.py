"""Consistent answers: a minimum by its conditions, by another solver and by all active sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import lsq_linear

from dpbayes import tables
from dpbayes.tables.approximations import LARGEST, consistent


def by_active_sets(G, d):
    """Return G x at the minimum over x >= 0 by trying every set of cells that may be above 0."""
    best, fitted = math.inf, None
    for size in range(G.shape[1] + 1):
        for chosen in itertools.combinations(range(G.shape[1]), size):
            x = np.zeros(G.shape[1])
            if chosen:
                x[list(chosen)] = np.linalg.lstsq(G[:, chosen], d, rcond=None)[0]
            error = float(((G @ x - d) ** 2).sum())
            if (x >= -1e-12).all() and error < best - 1e-14:
                best, fitted = error, G @ x
    return fitted


@st.composite
def histories(draw):
    cells, answers = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    H = rng.integers(-1, 3, (answers, cells)).astype(float)
    H[:, 0] += np.where(H.any(axis=1), 0.0, 1.0)
    x = rng.integers(0, 6, cells)
    b = rng.uniform(0.5, 8.0, answers)
    return H, b, H @ x + rng.laplace(size=answers) * b, x


@given(histories())
def test_it_is_the_minimum_by_three_roads(case):
    H, b, y, _ = case
    fitted = consistent(H, b, y, H)
    G, d = H / b[:, None], y / b
    assert np.allclose(fitted / b, by_active_sets(G, d), atol=1e-6 * (1 + np.abs(d).max()))
    other = lsq_linear(G, d, (0, np.inf), method="bvls", tol=1e-14).x
    assert np.allclose(fitted / b, G @ other, atol=1e-5 * (1 + np.abs(d).max()))


@given(histories())
def test_over_all_answers_together_it_is_never_further_off_than_the_unbiased_estimate(case):
    """The theorem of the page, for every draw: weighted squared errors over the history."""
    H, b, y, x = case
    unbiased = tables.blue(H, b, H).estimate(y)
    truth = H @ x
    ours = (((consistent(H, b, y, H) - truth) / b) ** 2).sum()
    assert ours <= (((unbiased - truth) / b) ** 2).sum() * (1 + 1e-9) + 1e-9


def test_what_it_costs_is_bias_where_counts_are_small():
    """One empty cell: the estimate is max(y, 0), and its mean is half the scale."""
    b = 3.0
    mean = quad(lambda y: max(y, 0.0) * math.exp(-abs(y) / b) / (2 * b), -200, 200, points=[0.0])[0]
    assert mean == pytest.approx(b / 2, rel=1e-9)
    rng = np.random.default_rng(3)
    drawn = [consistent([[1.0]], [b], [y], [1.0]) for y in b * rng.laplace(size=2000)]
    assert np.mean(drawn) == pytest.approx(b / 2, abs=6 * np.std(drawn) / math.sqrt(2000))


def test_what_is_not_estimable_gets_no_number():
    two = consistent([[1.0, 1.0]], [1.0], [4.0], [[1.0, 0.0], [1.0, 1.0]])
    assert np.isnan(two[0])
    assert two[1] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[1.0]], [0.0], [1.0], [1.0]), "scales must be positive"),
        (([[1.0]], [1.0], [1.0, 2.0], [1.0]), "y must have shape"),
        (([[1.0]], [1.0], [math.nan], [1.0]), "y must be finite"),
        (([[1.0]], [1.0], [1.0], [1.0, 1.0]), "Q must have shape"),
        ((np.ones((2, LARGEST)), [1.0, 1.0], [1.0, 1.0], [1.0]), "H must have at most"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ValueError, match=message):
        consistent(*given)


def test_extreme_answers_still_have_a_certified_fit():
    rng = np.random.default_rng(5)
    for size in (1e-6, 1.0, 1e6, 1e12):
        H = tables.random_ranges((12,), 20, rng)
        y = size * rng.standard_normal(20)
        gradient = H.T @ (consistent(H, np.full(20, 2.0), y, H) - y)
        assert gradient.min() >= -1e-8 * size
