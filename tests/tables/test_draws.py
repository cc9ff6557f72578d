"""Releases of each mechanism follow its law, and a test that would see ten percent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.protocol import own
from tests.tables.proved import PROVED

PLAIN = [(name, {}) for name, make in REGISTRY.items() if own(make(1.0), "draw")]
OPTIONS = [(name, options) for name, options in PROVED.items() if options]
SCORED = ("expMech", "expMech-smooth", "permute-and-flip")


def chi_square(mechanism, counts, draws, law):
    """Return the statistic of releases from the system's bits, and what it exceeds once in 10^9."""
    prior = np.ones(len(counts))
    drawn = [
        dp.release(mechanism, counts, prior, without_guarantee=True).counts for _ in range(draws)
    ]
    rows, observed = np.unique(drawn, axis=0, return_counts=True)
    expected = draws * np.array([law.probability(row) for row in rows])
    kept = expected >= 5
    rest = draws - expected[kept].sum()
    value = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    value += (observed[~kept].sum() - rest) ** 2 / max(rest, 5.0)
    return value, kept.sum() + 6 * math.sqrt(2 * kept.sum())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), PLAIN + OPTIONS, ids=str)
def test_releases_follow_the_law(name, options):
    mechanism = dp.mechanism(name, 1.0, **options)
    counts, draws = ((3, 4), 300) if name in SCORED else ((5, 6, 7), 3000)
    counts = (5, 6) if name == "geometric" else counts
    law = mechanism.law(counts, np.ones(len(counts)))
    value, limit = chi_square(mechanism, counts, draws, law)
    assert value <= limit


@pytest.mark.slow
def test_releases_of_another_epsilon_do_not_follow_it():
    law = dp.mechanism("geometric", 0.5).law((2, 5), [1, 1])
    value, limit = chi_square(dp.mechanism("geometric", 0.55), (2, 5), 8_000, law)
    assert value > limit


def test_unknown_mechanisms_have_no_sampler_and_no_guarantee():
    @dataclass(frozen=True)
    class Homemade:
        epsilon: float = 1.0
        name: str = "homemade"

    with pytest.raises(ValueError, match="no proof is recorded for the mechanism homemade"):
        dp.release(Homemade(), [5, 6], [1, 1])
    with pytest.raises(ValueError, match="exact sampler, got parameter-laplace"):
        dp.release(dp.mechanism("parameter-laplace", 1.0), [5, 6], [1, 1])
