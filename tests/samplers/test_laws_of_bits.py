"""The samplers as they run, against the laws as they are written, through all their
bits.
"""

from __future__ import annotations

import pytest

import dpbayes as dp
from dpbayes.samplers.whole_numbers import two_sided_geometric
from tests.mechanisms.cabinet import adding
from tests.samplers.sources import followed

pytest.importorskip("flint")

ONES, OTHER = (1.0, 1.0, 1.0), (1.0, 2.0, 0.5)
# Mechanism, epsilon, options, counts, prior, runs, the most that may be undecided, and
# a factor of epsilon whose law must be rejected. Noise on every category needs far more
# bits, and rejecting coins leave much open.
CASES = (
    ("geometric", 1, {}, (1, 2), ONES, 10_000, 1, 1.3),
    ("geometric", 1, {}, (0, 3), ONES, 10_000, 1, 1.3),
    ("lapMech", 2, {}, (1, 2), ONES, 10_000, 1, 1.1),
    ("ilapMech", 1, {}, (1, 2), ONES, 30_000, 1, 1.1),
    ("ilapMech", 1, {"rounding": "nearest"}, (0, 3), ONES, 10_000, 1, 1.1),
    ("ilapMech", 1, {}, (1, 1, 0), OTHER, 10_000, 0.65, 4.0),
    ("draft-laplace", 1, {}, (1, 2), ONES, 5_000, 1, 0.8),
    ("lattice", 2, {}, (1, 2), ONES, 10_000, 1, 2.0),
    ("lattice", 4, {}, (1, 1, 0), OTHER, 10_000, 0.69, 0.02),
    ("expMech", 1, {}, (1, 2), ONES, 1100, 1e-4, 1.01),
    ("expMech", 1, {}, (1, 0, 1), ONES, 600, 1, 1.1),
    ("expMech", 1, {}, (0, 2, 0), OTHER, 1000, 0.009, 1.01),
    ("expMech-local", 1, {}, (0, 3), ONES, 600, 1, 1.01),
    ("expMech-local", 1, {}, (0, 0, 1), OTHER, 600, 0.003, 1.1),
    ("expMech-smooth", 1, {}, (1, 2), ONES, 300, 1, 1.1),
    ("expMech-smooth", 2, {}, (1, 1, 0), OTHER, 600, 0.09, 1.5),
    ("expMech-smooth", 4, {}, (4, 26), ONES, 500, 0.3, 1.375),
    ("expMech-smooth", 4, {}, (0, 40), ONES, 500, 0.3, 1.375),
    ("permute-and-flip", 1, {}, (1, 2), ONES, 2_000, 1, 2.0),
    ("permute-and-flip", 1, {}, (1, 0, 0), OTHER, 1000, 0.24, 2.0),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon", "options", "x", "prior", "runs", "most", "wrong"), CASES
)
def test_a_sampler_follows_its_law_and_no_other_scale(
    name, epsilon, options, x, prior, runs, most, wrong
) -> None:
    prior = prior[: len(x)]
    mechanism = dp.mechanism(name, float(epsilon), **options)
    found, law = followed(mechanism, x, prior, runs), mechanism.law(x, prior)
    assert found.undecided <= most
    assert found.contradictions(law) == []
    # No output is missing.
    assert (
        sum(float(law.probability(r)) for r in found.masses)
        >= 1.0 - found.undecided - 1e-12
    )
    other = dp.mechanism(name, epsilon * wrong, **options).law(x, prior)
    assert found.contradictions(other) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [lambda rate, bits: two_sided_geometric(bits, 2 * rate),
     lambda rate, bits: abs(two_sided_geometric(bits, rate))],
)  # fmt: skip
def test_broken_samplers_contradict_their_law(noise) -> None:
    mechanism = adding(noise)
    found = followed(mechanism, [1, 2], [1, 1], 5000)
    assert found.contradictions(mechanism.law([1, 2], [1, 1])) != []
