"""The misprints of the documents: the printed formula fails where the corrected one holds."""

from __future__ import annotations

import re
from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate
from scipy.special import beta as beta_function
from scipy.special import gamma as gamma_function

import dpbayes as dp
from dpbayes.sensitivity import profile
from dpbayes.study.lemmas import score_law

ERRATA = Path(__file__).parents[1] / "book" / "claims" / "errata.md"


def test_errata_page_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(test_errata_\w+)`", ERRATA.read_text()))
    assert named
    assert named <= set(globals())


def test_errata_beta_density() -> None:
    a, b = 2.0, 3.5
    printed, right = (
        integrate.quad(lambda t, s=shift: t ** (a - s) * (1 - t) ** (b - s), 0, 1)[0]
        / beta_function(a, b)
        for shift in (0, 1)
    )
    assert right == pytest.approx(1.0, rel=1e-9)
    assert printed == pytest.approx(a * b / ((a + b) * (a + b + 1)), rel=1e-9)


def test_errata_dirichlet_density() -> None:
    alpha = np.array([1.5, 2.0, 2.5])
    constant = np.prod(gamma_function(alpha)) / gamma_function(alpha.sum())

    def mass(shift: float) -> float:
        def density(y: float, x: float) -> float:
            third = max(1 - x - y, 0.0)
            return float(np.prod(np.array([x, y, third]) ** (alpha - shift)) / constant)

        return float(integrate.dblquad(density, 0, 1, 0, lambda x: 1 - x, epsabs=1e-6)[0])

    assert mass(1.0) == pytest.approx(1.0, abs=1e-4)
    assert mass(0.0) < 0.1


def test_errata_adjacency() -> None:
    x, neighbour, stranger = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.array([1, 0, 0, 1])
    assert np.sum(x != neighbour) == 1
    assert np.sum(x == neighbour) > 1
    assert np.sum(x == stranger) <= 1
    assert np.sum(x != stranger) > 1


def test_errata_number_of_candidates() -> None:
    for n in (1, 4, 9):
        assert comb(n + 1, 1) == len(dp.compositions(n, 2))
        assert comb(n + 1, 2) != len(dp.compositions(n, 3)) == comb(n + 2, 2)


def test_errata_smooth_sensitivity() -> None:
    n, gamma = 60, 0.02
    local = profile(n, [1, 1])
    padded = np.concatenate(([0.0], local, [0.0])) * np.exp(-gamma)
    adjacent = np.maximum(local, np.maximum(padded[:-2], padded[2:]))
    everywhere = profile(n, [1, 1], True, gamma, "exponential")
    change = [np.abs(np.diff(np.log(values))).max() for values in (adjacent, everywhere)]
    assert change[0] > 2 * gamma
    assert change[1] <= gamma + 1e-12


def test_errata_draft_total() -> None:
    counts, noise, prior = np.array([4, 3, 2]), np.array([1, -2]), np.ones(3)
    n = int(counts.sum())
    first = prior[:2] + counts[:2] + np.abs(noise)
    printed = first.sum() + prior[2] + n - noise.sum()
    right = (prior[:2] + counts[:2] + noise).sum() + prior[2] + n - (counts[:2] + noise).sum()
    assert right == prior.sum() + n
    # Twice every downward step comes on top of the counts of the other categories.
    assert printed - right == counts[:2].sum() + 2 * np.abs(noise[noise < 0]).sum()


def test_errata_dilation_rate() -> None:
    n, epsilon, delta = 40, 1.0, 1e-3
    right = np.log(1 - epsilon / (2 * np.log(delta / (2 * (n + 1)))))
    printed = np.log(1 - epsilon / (2 * np.log(delta / (2 * (n - delta)))))
    tails = [(n + 1) * np.exp(-epsilon / (2 * np.expm1(rate))) for rate in (right, printed)]
    assert tails[0] == pytest.approx(delta / 2, rel=1e-9)
    assert tails[1] > delta / 2


def test_errata_event_g() -> None:
    scores = score_law(dp.mechanism("expMech-delta", 5.0, delta=0.2), [10, 10], [1, 1])
    rare = scores.probabilities[-scores.distances <= -scores.cut].sum()
    common = scores.probabilities[-scores.distances >= -scores.cut].sum()
    assert rare <= 0.1 < 0.9 <= common
