"""Single outputs of clamped noise, against sums over levels, closed forms and all outputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from mpmath import mp

import dpbayes as dp
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.few import FewCategories
from dpbayes.laws.lattice.law import LatticeLaw
from dpbayes.laws.lattice.one_output import OneOutput
from dpbayes.laws.lattice.outputs import clamped_masses
from dpbayes.laws.lattice.projection import project
from dpbayes.posteriors import compositions


def direct(counts: np.ndarray, epsilon: float, output: np.ndarray) -> float:
    norm = float(np.abs(output - counts).sum())
    return float(np.exp(-0.5 * epsilon * norm - noise.log_normaliser(counts.size, epsilon)))


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([0, 3], 8.0), ([1, 0, 6], 1.5), ([2, 2, 0, 1], 0.7), ([0, 3, 0, 1, 2], 2.0), ([1] * 6, 3.0)],
)
def test_every_output_against_the_sum_over_levels(counts: list[int], epsilon: float) -> None:
    x = np.array(counts)
    rows, masses = clamped_masses(x, epsilon, noise.radius(x.size, epsilon, 1e-25) + int(x.sum()))
    outputs, which = np.unique(rows, axis=0, return_inverse=True)
    expected = np.bincount(which.ravel(), masses)
    found = [OneOutput(x, epsilon, output).probability() for output in outputs[:120]]
    np.testing.assert_allclose(found, expected[:120], rtol=3e-13)


def test_one_output_against_the_noise_vectors_that_end_there() -> None:
    x, epsilon, output = np.array([1, 0, 3]), 3.0, np.array([0, 0, 4])
    noisy = x + noise.points(3, 25)
    noisy = noisy[(noisy < 0).any(axis=1)]
    ends = (project(noisy, "l2") == output).all(axis=1)
    logs = -0.5 * epsilon * np.abs(noisy[ends] - x).sum(axis=1)
    total = float(np.exp(logs - noise.log_normaliser(3, epsilon)).sum())
    assert OneOutput(x, epsilon, output).probability() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.02, 1e-4, 1e-7])
@pytest.mark.parametrize(
    ("counts", "output"),
    [
        ([5, 0, 3], [5, 0, 3]),
        ([500, 20, 3], [0, 523, 0]),
        ([900_000, 0, 70, 2], [900_072, 0, 0, 0]),
        ([40, 41, 0, 2], [40, 0, 43, 0]),
        ([10**9, 10**9, 10**6, 0], [10**9 + 10, 10**9 - 10, 10**6, 0]),
    ],
)
def test_wide_noise_against_closed_forms(
    counts: list[int], output: list[int], epsilon: float
) -> None:
    x, r = np.array(counts), np.array(output)
    wanted = FewCategories(np.ones(x.size), x, epsilon).probability(r)
    found = OneOutput(x, epsilon, r).probability() + direct(x, epsilon, r)
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([1] + [0] * 27, 1e-6), ([2] + [0] * 9, 0.003), ([0, 1, 0, 1, 0, 0], 1e-5), ([1, 0, 0], 1e-8)],
)
def test_all_outputs_of_few_records_add_up_to_one(counts: list[int], epsilon: float) -> None:
    x = np.array(counts)
    law = LatticeLaw(np.ones(x.size), x, epsilon, "l2")
    found = [law.probability(output) for output in compositions(int(x.sum()), x.size)]
    assert abs(sum(found) - 1.0) < 1e-12


def test_an_improbable_output_keeps_its_digits() -> None:
    # Two categories in one: all records leave the larger of two, however much noise that takes.
    epsilon, x = 0.5, np.array([1000, 4])
    with mp.workdps(30):
        rho = mp.exp(-mp.mpf(epsilon) / 2)
        wanted = rho ** (2 * 1000) * (1 - rho**2) / (1 + rho**2) / (1 - rho**2) * rho**2
    found = OneOutput(x, epsilon, np.array([0, 1004])).probability()
    assert found == pytest.approx(float(wanted), rel=1e-12)
    assert 0.0 < found < 1e-200


def test_swapped_categories_have_swapped_outputs_but_for_ties() -> None:
    # With unlike released counts nobody ties, so the order of the categories does not matter.
    x, r = np.array([900, 0, 17, 4, 0, 60]), np.array([912, 0, 40, 0, 0, 29])
    order = np.array([3, 5, 1, 0, 4, 2])
    found = OneOutput(x, 0.01, r).probability()
    assert OneOutput(x[order], 0.01, r[order]).probability() == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(("k", "epsilon"), [*product([5, 20, 50], [1e-6, 0.003, 0.1])])
def test_probabilities_of_the_data_are_given_for_any_noise(k: int, epsilon: float) -> None:
    counts = [0] * k
    counts[1], counts[3] = 1_910, 64_362
    found = dp.mechanism("lattice", epsilon).law(counts, [1.0] * k).probability(counts)
    assert 0.0 < found < 1.0
    assert found.error <= 1e-11 * found
