"""One release from all sides: every number by a second road."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import comb
from scipy.stats import beta

import dpbayes as dp
from dpbayes.study.all_data import everywhere
from dpbayes.study.one_release import (
    EXPLORED,
    NOISY,
    NOMINAL,
    SUM_KEPT,
    at_scale,
    explored,
    one_release,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLORED)
def test_means_losses_and_audit_are_those_of_the_library(name: str) -> None:
    seen = one_release(name, 12, 3, [0.5, 2.0], 0.7, gamma=0.4, delta=1e-4, noisy=5)
    assert np.allclose(seen.means, everywhere(seen.mechanism, 12, [0.5, 2.0]).distances, rtol=1e-14)
    assert seen.losses.max() == pytest.approx(seen.audit.epsilon, rel=1e-11)
    assert seen.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert seen.distance == pytest.approx(float(dp.hellinger([3.5, 11.0], [5.5, 9.0])), rel=1e-13)


@pytest.mark.parametrize("name", EXPLORED)
def test_noise_aware_is_bayes_rule_over_all_counts(name: str) -> None:
    n, prior = 9, np.array([1.5, 0.5])
    seen = one_release(name, n, 2, prior, 0.9, noisy=4)
    x = np.arange(n + 1)
    before = beta_binomial(n, prior)
    if name in NOISY:
        drawn = np.array([4, 5] if name in SUM_KEPT else [4])
        likelihood = np.exp(seen.mechanism.log_likelihoods(drawn, n, 2)[0])
        if name in SUM_KEPT:  # one factor for each of the two counts, which move together
            likelihood = likelihood**2
    else:
        likelihood = np.array([law.probability([4, 5]) for law in seen.laws])
    weights = before * likelihood / (before * likelihood).sum()
    mean = weights @ ((prior[0] + x) / (prior.sum() + n))
    assert seen.aware.mean[0] == pytest.approx(mean, rel=1e-10)
    below = weights @ beta.cdf(0.3, prior[0] + x, prior[1] + n - x)
    assert seen.aware.cumulative(0, [0.3])[0] == pytest.approx(below, rel=1e-9)


def beta_binomial(n: int, prior: np.ndarray) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(400)
    angle = 0.25 * np.pi * (nodes + 1.0)
    theta = np.sin(angle) ** 2
    density = beta.pdf(theta, *prior) * 2.0 * np.sin(angle) * np.cos(angle) * weights
    x = np.arange(n + 1)
    powers = theta[:, None] ** x * (1.0 - theta[:, None]) ** (n - x)
    total = comb(n, x) * (density @ powers)
    return np.asarray(total / total.sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lapMech", "expMech-smooth", "expMech-delta", "permute-and-flip"])
def test_an_audited_promise_is_the_actual_loss(name: str) -> None:
    seen = one_release(name, 15, 4, [1.0, 1.0], 0.8, gamma=0.3, promise="audited")
    assert seen.audit.epsilon == pytest.approx(0.8, rel=1e-9)
    assert seen.guessing == pytest.approx(np.exp(0.8) / (1 + np.exp(0.8)), rel=1e-9)


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-repaired"])
def test_a_scale_multiplies_the_exponents(name: str) -> None:
    plain = explored(name, 0.6)
    first, second = (m.law([2, 6], [1, 1]).log_probabilities for m in (plain, at_scale(plain, 2.0)))
    assert np.allclose(2 * (first - first[2]), second - second[2], atol=1e-12)


def test_a_scale_multiplies_the_rate_of_noise() -> None:
    assert at_scale(explored("geometric", 0.6), 2.0).epsilon == 1.2


def test_without_a_draw_the_release_is_the_upper_quartile() -> None:
    seen = one_release("geometric", 30, 10, [1, 1], 0.5)
    below = np.cumsum(seen.probabilities)
    assert below[seen.released] >= 0.75 > below[seen.released - 1]


def test_noise_that_never_lowers_a_count_has_no_finite_loss() -> None:
    seen = one_release("draft-laplace", 8, 3, [1, 1], 0.5, noisy=1)
    assert seen.noisy == 3
    assert np.all(np.isposinf(seen.losses))
    assert seen.guessing == 1.0


@pytest.mark.parametrize("name", NOMINAL)
def test_an_audited_promise_is_refused_where_not_every_loss_is_reached(name: str) -> None:
    with pytest.raises(ValueError, match=f"promise must be nominal for {name}, got 'audited'"):
        one_release(name, 8, 3, [1, 1], 0.5, promise="audited")


def test_a_count_that_cannot_be_chosen_is_brought_into_range() -> None:
    assert one_release("expMech", 5, 2, [1, 1], 1.0, noisy=-3).noisy == 0
    seen = one_release("geometric", 5, 2, [1, 1], 1.0, noisy=-3)
    assert (seen.noisy, seen.released) == (-3, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ones": 6}, "ones must be at most n = 5, got 6"),
        ({"name": "optimal"}, "name must be one of"),
        ({"promise": "kept"}, "promise must be one of"),
        ({"distance": "l2"}, "distance must be one of"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object], message: str) -> None:
    asked: dict[str, object] = {
        "name": "expMech",
        "n": 5,
        "ones": 2,
        "prior": [1, 1],
        "epsilon": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        one_release(**(asked | wrong))
