"""Releases of bare counts: exact draws of each mechanism, guarantees, labels,
refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.capabilities import Draws, own
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.tables import drawn
from dpbayes.tables.drawn import Release, release
from dpbayes.tables.units import decimal_text
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.samplers.sources import SeededBits

PLAIN = [
    dp.mechanism(name, 1.0) for name, make in REGISTRY.items() if own(make(1.0), Draws)
]
OTHERS = [
    dp.mechanism("ilapMech", 1.0, rounding="nearest"),
    dp.mechanism("lattice", 1.0, projection="l1"),
    dp.mechanism("expMech-smooth", 1.0, divisor=6.0),
    dp.mechanism("permute-and-flip", 1.0, sensitivity="smooth"),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PLAIN + OTHERS, ids=str)
def test_releases_follow_the_law(mechanism, monkeypatch):
    """Through the path of real releases, with the bits of a seeded source."""
    source = SeededBits(31)
    monkeypatch.setattr(drawn, "SystemBits", lambda: source)
    scored = mechanism.name in (
        "expMech",
        "expMech-smooth",
        "permute-and-flip",
        "optimal",
    )
    counts, draws = ((3, 4), 300) if scored else ((5, 6, 7), 3000)
    counts = (5, 6) if mechanism.name == "geometric" else counts
    prior = np.ones(len(counts))
    made = [
        release(mechanism, counts, prior, without_guarantee=True).counts
        for _ in range(draws)
    ]
    assert (
        misfit(np.array(made), mechanism.law(counts, prior).probability) <= ALPHA_LIMIT
    )


def test_a_release_in_words_has_its_promise_and_says_that_no_account_adds_it_up():
    private = release(dp.mechanism("lattice", 0.8), [5, 6, 7], [1, 1, 1])
    assert private.guarantee.sentence in str(private)
    assert str(private).endswith("No account adds this up with other releases.")


@pytest.mark.parametrize("name", ["draft-laplace", "expMech-local", "expMech-delta"])
def test_mechanisms_without_a_proof_are_refused_unless_asked(name):
    mechanism = dp.mechanism(name, 1.0)
    with pytest.raises(ValueError, match="must have a proved guarantee"):
        release(mechanism, [5, 6], [1, 1])
    private = release(mechanism, [5, 6], [1, 1], without_guarantee=True)
    assert private.guarantee.epsilon is None
    assert private.guarantee.sentence.startswith("No guarantee: ")


def test_a_release_holds_no_true_counts_and_has_no_seed():
    names = [field.name for field in fields(Release)]
    assert names == [
        "mechanism", "prior", "n", "noisy", "counts", "design_effect", "prior_stated",
        "labels",
    ]  # fmt: skip
    private = release(dp.mechanism("lattice", 1e-6), [5, 6, 7], [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        private.counts[0] = 1
    with pytest.raises(TypeError, match="seed"):
        release(dp.mechanism("lattice", 1.0), [5, 6, 7], [1, 1, 1], seed=1)
    assert np.allclose(private.posterior.concentration, private.counts + 1)


LATTICE = dp.mechanism("lattice", 1.0)


@pytest.mark.parametrize(
    ("mechanism", "counts", "prior", "message"),
    [
        (LATTICE, [0, 0], [1, 1], "at least one record"),
        (LATTICE, [2**62 - 10, 9], [1, 1], r"at most 2\^61 records for a release"),
        (dp.mechanism("lattice", 1e-7), [3, 4], [1, 1], "must be at least 1e-06"),
        (dp.mechanism("permute-and-flip", 1.0), [11019, 7309, 1560, 302], [1] * 4,
         "takes at most 200000"),
        (dp.mechanism("geometric", 1.0), [3, 4, 5], [1] * 3, "2 categories"),
        (dp.mechanism("parameter-laplace", 1.0), [5, 6], [1, 1],
         "exact sampler, got parameter-laplace"),
    ],
)  # fmt: skip
def test_bad_input(mechanism, counts, prior, message):
    with pytest.raises(ValueError, match=message):
        release(mechanism, counts, prior)


def test_unknown_mechanisms_have_no_guarantee():
    @dataclass(frozen=True)
    class Homemade:
        epsilon: float = 1.0
        name: str = "homemade"

    with pytest.raises(
        ValueError, match="no proof is recorded for the mechanism homemade"
    ):
        release(Homemade(), [5, 6], [1, 1])


@pytest.mark.parametrize("name", ["lattice", "geometric"])
def test_the_largest_counts_are_released_with_their_sum(name):
    for _ in range(20):
        private = release(dp.mechanism(name, 1e-6), [2**61 - 10, 10], [1, 1])
        assert private.counts.sum() == 2**61
        assert private.counts.min() >= 0


def test_no_record_at_all_is_noisy_where_the_number_is_secret():
    # Were it refused, one record more or less would be told apart for certain.
    noise = IndependentNoise("0.5")
    noisy = [release(noise, [0, 0, 0], [1, 1, 1]).noisy.tolist() for _ in range(400)]
    zeros = sum(value == 0 for one in noisy for value in one)
    assert abs(zeros - 1200 * math.tanh(0.25)) < 6 * math.sqrt(300)


def test_a_secret_number_of_records_is_nowhere_in_the_release():
    # Noise at epsilon 0.001 moves a total by hundreds: that of the truth must not stand
    # beside it.
    for _ in range(20):
        private = release(IndependentNoise("0.001"), [40_000, 2], [1, 1])
        assert private.n == private.counts.sum()
        assert "40002" not in repr(private) or private.counts.sum() == 40_002


def test_the_order_of_labelled_counts_does_not_leak():
    answers = pd.Series(["poor"] * 9 + ["good"] * 4 + ["fair"] * 6).value_counts()
    for counts, kind in (
        (answers, "Series"),
        ({"poor": 9, "fair": 6, "good": 4}, "dict"),
    ):
        with pytest.raises(
            ValueError, match=f"must be a vector in a declared order, .* a {kind}"
        ):
            dp.release(dp.mechanism("lattice", 1.0), counts, [1, 1, 1])


@given(st.integers(1, 10**45), st.integers(1, 10**30), st.integers(1, 12))
def test_printed_bounds_are_on_the_safe_side_close_and_never_nothing(
    numerator, denominator, digits
):
    value = Fraction(numerator, denominator)
    up, down = (Fraction(decimal_text(value, way, digits)) for way in ("up", "down"))
    assert 0 < down <= value <= up <= value * Fraction(102, 100)
    assert up - down <= Fraction(1, 10**digits)
