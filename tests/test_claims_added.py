"""Verdicts on claims that a second reading of the documents added; one test a claim."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
import pytest
from scipy.integrate import quad

import dpbayes as dp
from dpbayes import tables
from dpbayes.sensitivity import profile
from dpbayes.study import mass_vectors, query_history
from dpbayes.study.linear_queries import recorded_times, worked_example
from dpbayes.study.theorem_chain import corner_pair, enumerated_pair
from tests.test_claims import check, check_no_verdict, delta_mechanism, mean
from tests.test_claims_printed import rms, series_of

A_MECHANISM = delta_mechanism(distance="l1")
EXAMPLE = worked_example()
BEST = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q)


def points(document: str, figure: str, panel: str) -> dict[tuple[str, str], float]:
    return {
        (s.curve, p.x): p.y
        for s in series_of(document, figure, panel)
        for p in s.points
    }


@pytest.mark.slow
def test_a_c15_three_categories_are_not_alike() -> None:
    read = points("A", "2", "a")
    sizes = [x for curve, x in read if curve == "expMech-delta"]
    printed = [read["expMech-delta", x] / read["Laplace 2/eps", x] for x in sizes]
    assert len(sizes) == 6
    assert min(printed) > 1.3
    noise = dp.mechanism("ilapMech", 0.8)
    data = [dp.split(n, [0.2, 0.3, 0.5]) for n in (1000, 2000, 20_000)]
    errors = np.array([[mean(m, x) for m in (A_MECHANISM, noise)] for x in data])
    assert errors[0] == pytest.approx([0.1968, 0.1132], abs=6e-5)
    assert errors[2] == pytest.approx([0.03608, 0.02556], abs=6e-6)
    check("A-C15", as_written=bool(np.any(errors[:, 0] < errors[:, 1])))


def test_a_c16_laplace_is_better_on_fewer_records() -> None:
    sizes = list(range(10, 1405))
    ours, lap = (
        dp.mean_distances(m, [0.1, 0.9], [1.0, 1.0], sizes)
        for m in (A_MECHANISM, dp.mechanism("lapMech", 0.8))
    )
    check("A-C16", as_written=bool(np.all(lap < ours)))


def test_a_c17_document_e_noises_answers() -> None:
    # One scale a question, fewer questions than cells, none of them a cell alone.
    questions, cells = EXAMPLE.H.shape
    on_parameters = questions == cells and np.all(EXAMPLE.H.sum(axis=1) == 1.0)
    assert len(EXAMPLE.scales) == questions
    check("A-C17", as_written=bool(on_parameters))


def test_a_c18_document_e_measures_otherwise() -> None:
    # The squared error of an estimate, not the sum of absolute errors.
    squared = 2.0 * float(BEST.weights**2 @ np.asarray(EXAMPLE.scales) ** 2)
    assert BEST.variance == pytest.approx(squared, rel=1e-12)
    absolute = float(np.abs(BEST.weights) @ np.asarray(EXAMPLE.scales))
    check("A-C18", as_written=bool(np.isclose(BEST.variance, absolute)))


def test_a_c19_number_of_beta_candidates() -> None:
    counts = []
    for n in (1, 7, 40):
        candidates = 1.0 + dp.compositions(n, 2)
        apart = dp.hellinger(candidates[:, None, :], candidates[None, :, :])
        assert np.all(apart[~np.eye(len(candidates), dtype=bool)] > 0.0)
        counts.append(len(candidates) == n + 1)
    check("A-C19", as_written=all(counts))


def test_a_c20_inference_is_recursive() -> None:
    records, prior = [0, 1, 1, 2, 0, 1], np.array([0.5, 1.0, 2.0])
    parameters = prior
    for one in records:
        parameters = dp.posterior(np.eye(3, dtype=int)[one], parameters).concentration
    at_once = dp.posterior(np.bincount(records), prior).concentration
    assert dp.posterior([7, 3], [1, 1]).mean[0] == pytest.approx(2 / 3)
    check("A-C20", as_written=bool(np.allclose(parameters, at_once, rtol=1e-15)))


def test_a_c21_the_distance_has_a_closed_form() -> None:
    check_no_verdict("A-C21", 0.0 < float(dp.hellinger([3, 2], [1.5, 4])) < 1.0)


@pytest.mark.slow
def test_d_c38_the_second_new_mechanism() -> None:
    theirs = dp.mechanism("expMech-delta", 0.784, delta=1e-6)
    pair = enumerated_pair(theirs, *corner_pair(178, 4), [0.02, 1e8, 1e8, 1e8])
    check("D-C38", as_written=pair.delta(0.784) <= 1e-6)
    # What D's Figure 3 was drawn with, two categories.
    a = np.column_stack((1.0 + np.arange(601), 601.0 - np.arange(601)))
    distances = dp.hellinger(a[:, None, :], a[None, :, :])
    smooth = profile(600, [1.0, 1.0], True, 0.01, "exponential")
    logs = -distances / (4 * smooth[:, None])
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    assert np.abs(np.diff(logs, axis=0)).max() == pytest.approx(0.2576, abs=6e-5)


def test_d_c39_one_candidate_more() -> None:
    found = {n: len(dp.compositions(n, 2)) for n in (1, 10, 600)}
    check(
        "D-C39",
        as_written=all(number == n for n, number in found.items()),
        corrected=all(number == n + 1 for n, number in found.items()),
    )
    assert dp.number_of_candidates(600, 4) == comb(603, 3) == 36_361_101


def test_d_c40_not_all_at_one() -> None:
    curves = series_of("D", "5")
    drawn = [rms(s, s.drawn) for s in curves]
    at_one = [rms(s, s.caption) for s in curves]
    assert max(drawn) < 1.3
    assert all("ε = 0.8" in s.drawn.settings for s in curves)
    check("D-C40", as_written=max(at_one) < 1.3)


def test_e_c30_a_smaller_error_with_the_same_sample() -> None:
    rng, p = np.random.default_rng(6), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    counts = rng.multinomial(500, p, size=20_000) / 500
    plain = ((counts - p) ** 2).sum(axis=1).mean()
    mirrored = ((0.5 * (counts + counts[:, ::-1]) - p) ** 2).sum(axis=1).mean()
    sides = p[[0, 1, 3, 4]]
    expected = 0.4 * 0.6 + (sides * (1 - 2 * sides)).sum() / 2
    assert mirrored / plain == pytest.approx(expected / (1 - (p**2).sum()), rel=0.02)
    check("E-C30", as_written=mirrored > 0.99 * plain)


def test_e_c31_the_probability_calculation_meets_a_small_error() -> None:
    weights = BEST.noise_weights
    lost = [mass_vectors.pmf_probability_calculation(weights, g) for g in (1e-2, 1e-8)]
    cells = [vector.masses.size for vector in lost]
    cheap = lost[1].lost < 1e-6 and cells[1] < 4 * cells[0]
    assert cells[1] / cells[0] == pytest.approx(3.936, abs=6e-4)
    small = mass_vectors.pmf_probability_calculation(np.full(1000, 0.1), 1e-8)
    everywhere = small.standard_deviation > 0.9 * np.sqrt(2 * 1000 * 0.01)
    check("E-C31", as_written=bool(everywhere), corrected=bool(cheap))


def test_e_c32_recorded_times_of_both_algorithms() -> None:
    times = recorded_times()
    many = times["answers"] >= 100
    slopes = [
        np.polyfit(np.log(times["answers"][many]), np.log(times[name][many]), 1)[0]
        for name in ("Algorithm 1", "Algorithm 2")
    ]
    assert slopes == pytest.approx([1.23, 1.69], abs=0.01)
    check_no_verdict("E-C32", slopes[0] < slopes[1])


def test_e_c33_estimable_without_the_table() -> None:
    history = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    inside, outside = np.array([1.0, 1, 1, 1]), np.array([1.0, 0, 0, 0])
    inverse = np.linalg.pinv(history)
    by_footnote = [
        bool(np.allclose(q @ inverse @ history, q)) for q in (inside, outside)
    ]
    assert by_footnote == [True, False]
    # Unbiased weights w have w H = Q; by least squares, for both.
    found = [np.linalg.lstsq(history.T, q, rcond=None)[0] for q in (inside, outside)]
    unbiased = [
        bool(np.allclose(w @ history, q))
        for w, q in zip(found, (inside, outside), strict=True)
    ]
    weights = tables.blue(history, [1.0, 1.0], inside).weights
    assert np.allclose(weights @ history, inside)
    check("E-C33", as_written=unbiased == by_footnote)


def test_e_c34_a_constant_does_not_count() -> None:
    rng = np.random.default_rng(4)
    query, constant = rng.normal(size=6), 1000.0
    table = rng.integers(0, 9, 6)
    moved = [abs((query @ (table + e) + constant) - (query @ table + constant))
             for e in np.eye(6)]  # fmt: skip
    scale = float(np.squeeze(query_history.laplace_scales([query], [1.0])))
    check("E-C34", as_written=bool(np.isclose(max(moved), scale, rtol=1e-9)))


def test_e_c35_closed_form_for_equal_noises() -> None:
    """The density of m equal noises, written out, against the law and by quadrature."""
    m, scale = 4, 2.5

    def density(x: float) -> float:
        z = abs(x) / scale
        terms = [
            comb(m - 1, j) * z ** (m - 1 - j) * factorial(m - 1 + j) / 2 ** (m + j)
            for j in range(m)
        ]
        return float(np.exp(-z) * sum(terms) / factorial(m - 1) ** 2 / scale)

    law, wrong = tables.NoiseLaw([scale] * m), []
    for at in (0.5, 4.0, 20.0, 60.0):
        tail = quad(density, at, at + 60 * scale, epsrel=1e-12, epsabs=0)[0]
        wrong.append(abs(tail / law.tail(at) - 1.0))
    assert 2 * quad(density, 0, np.inf)[0] == pytest.approx(1.0, rel=1e-9)
    check("E-C35", as_written=max(wrong) < 1e-7)


def test_e_c36_a_budget_follows_from_the_utility() -> None:
    alpha = tables.budget(1.0, 40.0, 0.05)
    assert alpha == pytest.approx(np.log(20) / 20, rel=1e-9)
    check_no_verdict("E-C36", alpha == pytest.approx(0.1498, abs=6e-5))
