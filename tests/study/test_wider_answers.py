"""Answers outside the histograms: nearer than any histogram where the noise is wide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import beta, dlaplace

import dpbayes as dp
from dpbayes.study.count_certificate import certificate
from dpbayes.study.wider_answers import wider_answers


@pytest.mark.parametrize(("n", "epsilon"), [(5, 0.02), (10, 0.1), (20, 0.1)])
def test_a_wider_answer_beats_the_least_mean_among_histograms(n: int, epsilon: float) -> None:
    # Why `thm-remap-optimal` and the pages that quote it name the answers they speak of.
    found = wider_answers(n, epsilon)
    assert found.mean < 0.99 * certificate(n, epsilon, (1.0, 1.0)).lower
    widths = found.answers.sum(axis=1)
    assert np.all(widths < n + 2.0)


def test_its_mean_is_that_of_the_integrals() -> None:
    n, epsilon = 3, 0.3
    found = wider_answers(n, epsilon, (2.0, 1.0))
    total = 0.0
    for x in range(n + 1):
        ends = dlaplace.cdf(-x, epsilon), dlaplace.sf(n - x - 1, epsilon)
        row = [ends[0], *dlaplace.pmf(np.arange(1, n) - x, epsilon), ends[1]]
        for share, (a, b) in zip(row, found.answers, strict=True):
            overlap = integrate.quad(
                lambda p, a=a, b=b, x=x: np.sqrt(
                    beta.pdf(p, a, b) * beta.pdf(p, 2.0 + x, 1.0 + n - x)
                ),
                0.0,
                1.0,
                epsabs=1e-12,
            )[0]
            total += share * np.sqrt(max(0.0, 1.0 - overlap)) / (n + 1)
    assert found.mean == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-3, 1e3), (1e3, 1e3), (0.5, 4.0)])
@pytest.mark.parametrize(("n", "epsilon"), [(1, 0.02), (2, 1.0), (7, 0.3), (7, 20.0)])
def test_it_is_never_above_the_remap_and_not_below_where_the_noise_is_narrow(
    n: int, epsilon: float, prior: tuple[float, float]
) -> None:
    remapped = dp.mechanism("geometric", epsilon, remap=True)
    least = np.mean([remapped.law([x, n - x], prior).mean_distance() for x in range(n + 1)])
    found = wider_answers(n, epsilon, prior).mean
    assert found <= least * (1.0 + 1e-9)
    assert found == pytest.approx(least, rel=1e-9) or epsilon < 1.0 or n > 2


def test_too_many_records_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be at most 60"):
        wider_answers(61, 1.0)
