from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study import other_divergences as od
from dpbayes.study.other_scores import ScoredExponential, local_changes

FINITE = [name for name in od.DIVERGENCES if name not in ("renyi-2", "chi-squared")]


@pytest.mark.parametrize("sensitivity", ["global", "smooth"])
@pytest.mark.parametrize("name", FINITE)
def test_every_finite_score_is_private(name, sensitivity):
    mechanism = ScoredExponential(1.3, name, sensitivity)
    assert dp.audit(mechanism, 12, [1, 0.6]).epsilon <= 1.3 + 1e-12


def test_chi_squared_is_private_when_the_prior_keeps_it_finite():
    assert dp.audit(ScoredExponential(1.0, "chi-squared"), 6, [9.0, 9.0]).epsilon <= 1.0 + 1e-12
    with pytest.raises(ValueError, match="sensitivity is infinite"):
        ScoredExponential(1.0, "chi-squared").law([3, 3], [1, 1])


@pytest.mark.parametrize("sensitivity", ["global", "smooth"])
def test_hellinger_as_score_is_the_papers_mechanism(sensitivity):
    name = {"global": "expMech", "smooth": "expMech-smooth"}[sensitivity]
    ours = ScoredExponential(0.9, "hellinger", sensitivity).law([4, 7], [1, 2])
    theirs = dp.mechanism(name, 0.9).law([4, 7], [1, 2])
    np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities, rtol=1e-10)


def test_where_the_triangle_fails_the_shortcut_underestimates():
    n, prior = 10, (1.0, 1.0)
    for name in FINITE:
        table = od.divergence_table(name, n, prior)
        steps = np.maximum(np.diag(table, 1), np.diag(table, -1))
        shortcut = np.maximum(np.append(steps, 0), np.append(0, steps))
        full = local_changes(name, n, prior)
        if name in od.METRICS:
            np.testing.assert_allclose(full, shortcut, rtol=1e-6)
        else:
            assert np.max(full / shortcut) > 1.2


def test_the_largest_score_belongs_into_the_factor():
    n, prior, gamma = 25, (0.05, 0.05), 0.1
    largest = od.divergence_table("renyi-half", n, prior).max()
    forgotten = (1.0 + gamma * largest) / (1.0 + gamma)
    careless = ScoredExponential(forgotten, "renyi-half", "smooth", gamma)
    careful = ScoredExponential(1.0, "renyi-half", "smooth", gamma)
    assert dp.audit(careless, n, prior).epsilon > 1.05
    assert dp.audit(careful, n, prior).epsilon <= 1.0


def test_three_categories_by_enumeration():
    mechanism = ScoredExponential(1.0, "kl", "smooth")
    assert dp.audit(mechanism, 4, [1, 1, 1]).epsilon <= 1.0 + 1e-12


def test_bad_input():
    with pytest.raises(ValueError, match="divergence must be one of"):
        ScoredExponential(1.0, "hamming")
    with pytest.raises(ValueError, match="sensitivity must be one of"):
        ScoredExponential(1.0, "kl", "local")
