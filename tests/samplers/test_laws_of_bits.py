"""The samplers as they run, against the laws as they are written, through all their bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.geometric import TruncatedGeometric
from tests.samplers.sources import followed

pytest.importorskip("flint")

# Mechanism, epsilon, options, counts, runs, and a factor of epsilon whose law must be rejected.
CASES = (
    ("geometric", 1, {}, (1, 2), 10_000, 1.3),
    ("geometric", 1, {}, (0, 3), 10_000, 1.3),
    ("lapMech", 2, {}, (1, 2), 10_000, 1.1),
    ("ilapMech", 1, {}, (1, 2), 30_000, 1.1),
    ("ilapMech", 1, {"rounding": "nearest"}, (0, 3), 10_000, 1.1),
    ("ilapMech", 1, {}, (1, 0, 1), 4_000, None),
    ("draft-laplace", 1, {}, (1, 2), 5_000, 0.8),
    ("lattice", 2, {}, (1, 2), 10_000, 2.0),
    ("lattice", 2, {}, (1, 0, 1), 3_000, None),
    ("expMech", 1, {}, (1, 2), 600, 1.01),
    ("expMech", 1, {}, (1, 0, 1), 600, 1.1),
    ("expMech-local", 1, {}, (0, 3), 600, 1.01),
    ("expMech-smooth", 1, {}, (1, 2), 300, 1.1),
    ("permute-and-flip", 1, {}, (1, 2), 2_000, 2.0),
)


# Mechanism, epsilon, counts of three categories, runs, the most that may be undecided, the number
# of outputs reached, and a factor of epsilon whose law must be rejected. Where little is open no
# output can be missing. Noise on every category needs far more bits, so that more stays open.
THREE = (
    ("ilapMech", 1, (1, 1, 0), 10_000, 0.65, 9, 4.0),
    ("lattice", 4, (1, 1, 0), 10_000, 0.69, 1, 0.02),  # rejecting coins leave much open
    ("expMech", 1, (1, 0, 0), 600, 0.003, 3, 1.01),
    ("expMech", 1, (0, 2, 0), 1000, 0.009, 6, 1.01),
    ("expMech-smooth", 2, (1, 1, 0), 600, 0.09, 6, 1.5),
    ("expMech-local", 1, (0, 0, 1), 600, 0.003, 3, 1.1),
    ("permute-and-flip", 1, (1, 0, 0), 1000, 0.24, 3, 2.0),
)


@pytest.mark.parametrize(("name", "epsilon", "options", "x", "runs", "wrong"), CASES)
def test_a_sampler_follows_its_law_and_no_other_scale(
    name, epsilon, options, x, runs, wrong
) -> None:
    prior = [1.0] * len(x)
    mechanism = dp.mechanism(name, float(epsilon), **options)
    found = followed(mechanism, x, prior, runs)
    law = mechanism.law(x, prior)
    assert len(found.contradictions(law)) == 0
    if wrong is not None:
        other = dp.mechanism(name, epsilon * wrong, **options).law(x, prior)
        assert len(found.contradictions(other)) > 0


def test_a_choice_among_candidates_is_decided_almost_everywhere() -> None:
    found = followed(dp.mechanism("expMech", 1.0), [1, 2], [1, 1], 1100)
    assert found.undecided < 1e-4
    law = dp.mechanism("expMech", 1.0).law([1, 2], [1, 1])
    wanted = dict(zip(map(tuple, law.outputs.tolist()), law.probabilities, strict=True))
    assert found.masses == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(("name", "epsilon", "x", "runs", "most", "outputs", "wrong"), THREE)
def test_three_categories_are_decided_up_to_a_stated_mass(
    name, epsilon, x, runs, most, outputs, wrong
) -> None:
    prior = [1.0, 2.0, 0.5]
    mechanism = dp.mechanism(name, float(epsilon))
    found = followed(mechanism, x, prior, runs)
    assert found.undecided <= most
    assert len(found.masses) == outputs
    law = mechanism.law(x, prior)
    assert len(found.contradictions(law)) == 0
    assert sum(float(law.probability(r)) for r in found.masses) >= 1.0 - found.undecided - 1e-12
    other = dp.mechanism(name, epsilon * wrong).law(x, prior)
    assert len(found.contradictions(other)) > 0


@dataclass(frozen=True)
class HalfTheNoise(TruncatedGeometric):
    """Draws with twice the rate its law says."""

    def draw(self, counts, prior, bits):
        return TruncatedGeometric(2.0 * self.epsilon).draw(counts, prior, bits)


@dataclass(frozen=True)
class OneSided(TruncatedGeometric):
    """Forgets the sign."""

    def draw(self, counts, prior, bits):
        _, released = TruncatedGeometric(self.epsilon).draw(counts, prior, bits)
        first = counts[0] + abs(released[0] - counts[0])
        return released, np.array([first, counts.sum() - first])


@pytest.mark.parametrize("broken", [HalfTheNoise, OneSided])
def test_broken_samplers_contradict_their_law(broken) -> None:
    mechanism = broken(1.0)
    found = followed(mechanism, [1, 2], [1, 1], 5000)
    assert len(found.contradictions(mechanism.law([1, 2], [1, 1]))) > 0
