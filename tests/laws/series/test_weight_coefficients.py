"""Coefficients of the weight's power series against mpmath, and the rules that sum them."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.laws.gauss_sums import block_nodes, block_rule
from dpbayes.laws.series.expansions import expand_weight
from dpbayes.laws.series.weight_coefficients import log_coefficients
from dpbayes.laws.square_root import square_root_series


def reference(rate, index):
    """ln p_j and -rate d ln p_j / d rate by the defining formula, 80 digits."""
    with mpmath.workdps(80):
        lam, j = mpmath.mpf(rate), mpmath.mpf(index)
        k, below = mpmath.besselk(j - 0.5, lam), mpmath.besselk(j - 1.5, lam)
        log = mpmath.log(mpmath.sqrt(2 / mpmath.pi) * k / mpmath.gamma(j + 1))
        log += (j + 0.5) * mpmath.log(lam) - j * mpmath.log(2)
        return float(log), float(lam * below / k - 1)


@pytest.mark.parametrize("rate", [1e-4, 0.1, 1.0, 10.0, 100.0, 1000.0])
def test_coefficients_match_the_bessel_formula(rate):
    indices = [0, 1, 2, 10, 31, 32.3, 50.5, 63, 64, 100.5, 1000.25, 1e5 + 0.5]
    logs, slopes = log_coefficients(rate, indices)
    for i, index in enumerate(indices):
        log, slope = reference(rate, index)
        assert logs[i] == pytest.approx(log, rel=2e-14, abs=2e-14)
        assert slopes[i] == pytest.approx(slope, rel=1e-12, abs=1e-13)


def test_the_textbook_formula_fails_where_ours_does_not():
    from scipy.special import gammaln, kve

    j, rate = 1e5, 400.0
    ours = log_coefficients(rate, [j])[0][0]
    naive = 0.5 * np.log(2 / np.pi) + (j + 0.5) * np.log(rate) - j * np.log(2) - gammaln(j + 1)
    with np.errstate(over="ignore"):
        naive += np.log(kve(j - 0.5, rate)) - rate
    assert ours == pytest.approx(reference(rate, j)[0], rel=1e-13)
    assert not abs(naive - ours) < 1e-11


@given(st.integers(0, 10**6), st.integers(1, 10**7), st.integers(1, 20))
@settings(deadline=None)
def test_block_rules_are_exact_and_positive(start, length, size):
    nodes, weights = block_rule(start, length, size)
    assert np.all(weights > 0)
    assert nodes.min() >= start - 1e-6
    assert nodes.max() <= (start + length - 1) * (1 + 1e-12)
    assert weights.sum() == pytest.approx(length, rel=1e-12)
    centre, half = start + (length - 1) / 2, max(length / 2, 0.5)
    whole = np.arange(start, start + length) if length < 3000 else None
    for degree in range(1, min(2 * size, 12)):
        sums = weights @ ((nodes - centre) / half) ** degree
        if whole is not None:
            exact = (((whole - centre) / half) ** degree).sum()
            assert sums == pytest.approx(exact, abs=1e-11 * length)
        elif degree % 2:
            assert abs(sums) < 1e-11 * length


def test_blocks_cover_every_integer_once():
    for rate in (0.0, 5.0, 300.0):
        _, weights = block_nodes(7, 50_000.0, rate)
        covered = weights.sum()
        assert covered > 50_000 - 7
        assert covered == pytest.approx(round(covered), abs=1e-6)


@pytest.mark.parametrize(
    ("rate", "nearest", "log_candidates"),
    [(1e-6, 0.1, 5), (0.5, 1e-2, 10), (16, 5e-4, 60), (360, 3e-3, 500), (1e4, 1e-8, 20)],
)
def test_expansions_are_right_to_the_last_digits(rate, nearest, log_candidates):
    expansion = expand_weight(rate, nearest, log_candidates)
    errors = expansion.errors(nearest, -log_candidates)
    assert max(errors) < 3e-13
    total = np.exp(expansion.log_weights).sum() + expansion.atom
    assert total == pytest.approx(1.0, abs=1e-13)
    assert expansion.exponents.size < 400


def test_an_expansion_short_of_terms_reports_its_error():
    expansion = expand_weight(10.0, 1e-2, 10.0)
    short = type(expansion)(
        10.0,
        expansion.exponents[:-100],
        expansion.log_weights[:-100],
        expansion.slopes[:-100],
        expansion.atom,
    )
    assert max(short.errors(1e-2, np.log(1e-4))) > 1e-3


def test_the_root_series_adds_up_to_the_root():
    series = square_root_series(42.0 / 1e-6)
    c = np.geomspace(1e-6, 50.0, 200)
    sums = -np.expm1(-np.outer(c, series.powers)) @ series.weights + series.rest
    np.testing.assert_allclose(sums, np.sqrt(-np.expm1(-c)), rtol=1e-13)
