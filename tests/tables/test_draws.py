"""Draws of each mechanism follow its law, and a test that would see ten percent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.tables.drawn import draw, release
from tests.samplers.sources import SeededBits
from tests.tables.proved import mechanisms


def chi_square(mechanism, counts, draws, law):
    source, prior = SeededBits(31), np.ones(len(counts))
    drawn = [draw(mechanism, np.array(counts), prior, source)[1] for _ in range(draws)]
    rows, observed = np.unique(drawn, axis=0, return_counts=True)
    expected = draws * np.array([law.probability(row) for row in rows])
    kept = expected >= 5
    rest = draws - expected[kept].sum()
    value = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    value += (observed[~kept].sum() - rest) ** 2 / max(rest, 5.0)
    return value, kept.sum() + 6 * math.sqrt(2 * kept.sum())


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", mechanisms(1.0), ids=str)
def test_draws_follow_the_law(mechanism):
    scored = mechanism.name in ("expMech", "expMech-smooth", "permute-and-flip")
    counts, draws = ((3, 4), 300) if scored else ((5, 6, 7), 4000)
    law = mechanism.law(counts, np.ones(len(counts)))
    value, limit = chi_square(mechanism, counts, draws, law)
    assert value <= limit


@pytest.mark.slow
def test_draws_follow_the_law_and_the_test_sees_ten_percent():
    mechanism = dp.mechanism("geometric", 0.5)
    law = mechanism.law((2, 5), [1, 1])
    value, limit = chi_square(mechanism, (2, 5), 8_000, law)
    assert value <= limit
    value, limit = chi_square(dp.mechanism("geometric", 0.55), (2, 5), 8_000, law)
    assert value > limit


def test_unknown_mechanisms_have_no_sampler_and_no_guarantee():
    @dataclass(frozen=True)
    class Homemade:
        epsilon: float = 1.0
        name: str = "homemade"

    with pytest.raises(ValueError, match="no proof is recorded for the mechanism homemade"):
        release(Homemade(), [5, 6], [1, 1])
    with pytest.raises(ValueError, match="exact sampler, got parameter-laplace"):
        release(dp.mechanism("parameter-laplace", 1.0), [5, 6], [1, 1])
