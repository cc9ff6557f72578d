"""Divergences against integrals, mechanisms that score by them, and changes of
scores."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study import scores
from dpbayes.study.scores import (
    ScoredExponential,
    divergence_table,
    local_changes,
    score_changes,
    span_of_change,
)

FINITE = [name for name in scores.DIVERGENCES if name not in ("renyi-2", "chi-squared")]


def integral(function, a, b, power=1):
    """Integrate function(p, q) over [0, 1] for Beta densities p, q in t = u^power,
    naively.
    """
    with mpmath.workdps(30):

        def along(u):
            t = u**power
            ends = [
                t ** (mpmath.mpf(x) - 1)
                * (1 - t) ** (mpmath.mpf(y) - 1)
                / mpmath.beta(x, y)
                for x, y in (a, b)
            ]
            return function(*ends) * power * u ** (power - 1)

        return float(
            mpmath.quad(along, [0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1])
        )


def shannon(p, q):
    m = (p + q) / 2
    return (p * mpmath.log(p / m) + q * mpmath.log(q / m)) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"),
    [((2.0, 5.0), (3.0, 4.0)), ((21.0, 1.5), (16.0, 6.5)), ((1.0, 1.0), (1.5, 0.5))],
)
def test_closed_forms_against_integrals(a, b):
    def root(p, q):
        return (mpmath.sqrt(p) - mpmath.sqrt(q)) ** 2 / 2

    def kullback(p, q):
        return p * mpmath.log(p / q)

    assert scores.squared_hellinger(a, b) == pytest.approx(
        integral(root, a, b), rel=1e-8
    )
    assert scores.kl(a, b) == pytest.approx(integral(kullback, a, b), rel=1e-8)
    assert scores.DIVERGENCES["reverse-kl"](a, b) == scores.kl(b, a)
    assert scores.jensen_shannon(a, b) == pytest.approx(
        integral(shannon, a, b), rel=1e-8
    )
    variation = integral(lambda p, q: abs(p - q) / 2, a, b)
    assert scores.total_variation(a, b) == pytest.approx(variation, rel=2e-4)
    affinity = integral(lambda p, q: p**0.7 * q**0.3, a, b)
    assert scores.renyi(a, b, 0.7) == pytest.approx(np.log(affinity) / -0.3, rel=1e-7)
    if min(2 * np.array(a) - b) > 0:
        square = integral(lambda p, q: p * p / q, a, b)
        assert scores.chi_squared(a, b) == pytest.approx(square - 1, rel=1e-7)
    else:
        assert np.isinf(scores.chi_squared(a, b))


@pytest.mark.parametrize("name", scores.DIVERGENCES)
def test_metrics_and_only_they_satisfy_the_triangle_inequality(name):
    for n, alpha in ((5, [0.4, 30.0]), (6, [9.0, 9.0])):
        table = divergence_table(name, n, alpha)
        through = (table[:, :, None] + table[None, :, :]).min(axis=1)
        if name in scores.METRICS:
            assert np.all(table <= through + 1e-7)
    assert name in scores.METRICS or np.any(table > through * (1 + 1e-6))


@pytest.mark.parametrize("name", FINITE)
def test_every_finite_score_is_private(name):
    assert dp.audit(ScoredExponential(1.3, name), 12, [1, 0.6]).epsilon <= 1.3 + 1e-12
    assert dp.audit(ScoredExponential(1.3, "kl"), 4, [1, 1, 1]).epsilon <= 1.3 + 1e-12


def test_where_the_triangle_fails_the_shortcut_underestimates():
    for name in FINITE:
        table = divergence_table(name, 10, (1.0, 1.0))
        steps = np.maximum(np.diag(table, 1), np.diag(table, -1))
        shortcut = np.maximum(np.append(steps, 0), np.append(0, steps))
        ratio = local_changes(name, 10, (1.0, 1.0)) / shortcut
        assert np.allclose(ratio, 1.0, rtol=1e-6) == (name in scores.METRICS)
        assert name in scores.METRICS or ratio.max() > 1.2


def test_the_largest_score_belongs_into_the_factor():
    n, prior, gamma = 25, (0.05, 0.05), 0.1
    largest = divergence_table("renyi-half", n, prior).max()
    careless = ScoredExponential(
        (1 + gamma * largest) / (1 + gamma), "renyi-half", gamma
    )
    assert dp.audit(careless, n, prior).epsilon > 1.05
    assert (
        dp.audit(ScoredExponential(1.0, "renyi-half", gamma), n, prior).epsilon <= 1.0
    )


@pytest.mark.parametrize("one_sided", [False, True])
def test_score_changes_loop_over_candidates_and_neighbours(one_sided):
    counts, prior = np.array([3, 2, 1]), np.array([1.0, 0.5, 2.0])
    moves = [
        y for y in dp.neighbours(counts) if not one_sided or tuple(y) > tuple(counts)
    ]
    for r, change in zip(
        *score_changes(counts, prior, one_sided=one_sided), strict=True
    ):
        own = dp.hellinger(prior + counts, prior + r)
        moved = [abs(own - dp.hellinger(prior + y, prior + r)) for y in moves]
        assert change == pytest.approx(max(moved), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.05, 0.05), (0.01, 40.0)])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 30.0])
def test_no_loss_of_local_sensitivity_exceeds_half_its_span(n, prior, epsilon):
    mechanism, span = dp.mechanism("expMech-local", epsilon), span_of_change(n, prior)
    # The law's own logarithms on another road: their differences, constant included.
    logs = [mechanism.law(x, prior).log_probabilities for x in dp.compositions(n, 2)]
    direct = max(np.ptp(logs[x + 1] - logs[x]) for x in range(n))
    assert direct == pytest.approx(epsilon / 2 * span, rel=1e-9, abs=1e-12)
    assert dp.audit(mechanism, n, prior).epsilon <= epsilon / 2 * span * (1 + 1e-9)
    assert span >= 2 - 1e-9
