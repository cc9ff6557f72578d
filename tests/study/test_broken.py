"""Choices and draws that look at the data; the cabinet of `tests/mechanisms` has the
others.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.broken import (
    BestDraw,
    ChosenAfterwards,
)


def gammas(n, prior, values=(0.05, 0.2, 1.0)):
    fixed = [dp.mechanism("expMech-smooth", 1.0, gamma=gamma) for gamma in values]
    return [dp.calibrate(mechanism, n, prior, 1.0).mechanism for mechanism in fixed]


@pytest.mark.slow
def test_releasing_the_best_of_several_draws_breaks_what_each_draw_keeps():
    n, prior = 20, [1.0, 1.0]
    candidates = gammas(n, prior)
    for candidate in candidates:
        assert dp.audit(candidate, n, prior).epsilon <= 1.0 + 1e-12
    best = BestDraw(1.0, candidates)
    assert 1.3 < dp.audit(best, n, prior).epsilon <= 3.0
    assert dp.audit(BestDraw(1.0, candidates[:1]), n, prior).epsilon <= 1.0 + 1e-9


def test_law_of_the_best_draw_against_all_combinations():
    prior, counts = [1.0, 0.4], [2, 4]
    candidates = gammas(6, prior)[:2]
    laws = [mechanism.law(counts, prior) for mechanism in candidates]
    expected = np.zeros(7)
    for i, j in np.ndindex(7, 7):
        nearer = i if laws[0].distances[i] <= laws[1].distances[j] else j
        expected[nearer] += laws[0].probabilities[i] * laws[1].probabilities[j]
    found = BestDraw(1.0, candidates).law(counts, prior).probabilities
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.slow
def test_gamma_chosen_after_seeing_the_data_gives_neighbours_away_when_published():
    n, prior = 40, [1.0, 1.0]
    candidates = gammas(n, prior)
    chosen = ChosenAfterwards(1.0, candidates)
    choices = [chosen.choice(x, prior) for x in dp.compositions(n, 2)]
    assert len(set(choices)) > 1
    changes = sum(a != b for a, b in itertools.pairwise(choices))
    assert chosen.switches(n, prior) == changes > 0
    # Kept secret, the choice does no harm that an audit can find here.
    assert dp.audit(chosen, n, prior).epsilon <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("n", "prior", "epsilon"), [(9, 0.01, 8.0), (15, 1.0, 1.0), (6, 30.0, 0.2)]
)
def test_a_secret_choice_by_expected_error_keeps_the_largest_nominal_parameter(
    n, prior, epsilon
):
    alpha, gs = [prior, prior], (0.03, 0.4, 5.0)
    for epsilons in ([epsilon] * 3, [0.3 * epsilon, epsilon, 0.8 * epsilon]):
        settings = list(zip(epsilons, gs, strict=True))
        smooth = [dp.mechanism("expMech-smooth", e, gamma=g) for e, g in settings]
        chosen = ChosenAfterwards(epsilon, smooth)
        assert dp.audit(chosen, n, alpha).epsilon <= epsilon
    # What the proof says of the choice: it is the largest rate, at every data set.
    for x in dp.compositions(n, 2):
        rates = [m.rate(x, np.array(alpha)) for m in smooth]
        assert rates[chosen.choice(x, alpha)] == pytest.approx(max(rates), rel=1e-9)
