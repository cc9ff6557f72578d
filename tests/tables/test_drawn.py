"""Releases: exact draws of each mechanism, guarantees from the description, refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.mechanisms.independent import IndependentNoise
from dpbayes.mechanisms.protocol import guarantee
from dpbayes.tables.drawn import Release, release
from tests.strategies import small_cases
from tests.tables.proved import mechanisms

UNPROVED = ("draft-laplace", "expMech-local", "expMech-delta")


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(small_cases((2, 3), (8, 4)), st.sampled_from([0.5, 1.0, 3.0]), st.integers(0, 11))
def test_actual_loss_stays_within_the_stated_guarantee(case, epsilon, which):
    counts, prior = case
    mechanism = mechanisms(epsilon)[which]
    promised = guarantee(mechanism, counts.size).epsilon
    here = mechanism.law(counts, prior)
    for other in dp.neighbours(counts):
        there = mechanism.law(other, prior)
        for row in here.outputs:
            p, q = here.probability(row), there.probability(row)
            if min(p, q) > 1e-280:
                assert abs(math.log(p / q)) <= promised + 1e-8


def test_the_epsilon_comes_from_the_noise_and_not_from_the_label():
    # lapMech adds twice the noise a single count needs at k = 2, k/2 times for k categories.
    assert guarantee(dp.mechanism("lapMech", 1.0), 2).epsilon == 0.5
    assert guarantee(dp.mechanism("lapMech", 1.0), 4).epsilon == 0.5
    assert guarantee(dp.mechanism("ilapMech", 1.0), 4).epsilon == 1.0
    assert guarantee(dp.mechanism("ilapMech", 1.0, sensitivity=0.5), 2).epsilon == 2.0
    assert guarantee(dp.mechanism("expMech-smooth", 1.0, divisor=2.0), 2).epsilon == 2.0
    assert guarantee(dp.mechanism("lattice", 0.1), 7).epsilon == 0.1


def test_sentence_names_the_neighbours_and_the_bound():
    private = release(dp.mechanism("lattice", 0.8), [5, 6, 7], [1, 1, 1])
    sentence = private.guarantee.sentence
    assert "for all count vectors" in sentence.lower()
    assert "differ by replacing one record" in sentence
    assert "P[M(x) in S] <= e^0.8 P[M(x') in S]" in sentence
    assert sentence in str(private)


@pytest.mark.parametrize("name", UNPROVED)
def test_mechanisms_without_a_proof_are_refused_unless_asked(name):
    mechanism = dp.mechanism(name, 1.0)
    with pytest.raises(ValueError, match="must have a proved guarantee"):
        release(mechanism, [5, 6], [1, 1])
    private = release(mechanism, [5, 6], [1, 1], without_guarantee=True)
    assert private.guarantee.epsilon is None
    assert private.guarantee.sentence.startswith("No guarantee: ")


def test_a_release_holds_no_true_counts_and_has_no_seed():
    assert [field.name for field in fields(Release)] == [
        "mechanism",
        "prior",
        "n",
        "noisy",
        "counts",
        "labels",
    ]
    private = release(dp.mechanism("lattice", 1e-6), [5, 6, 7], [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        private.counts[0] = 1
    with pytest.raises(TypeError, match="seed"):
        release(dp.mechanism("lattice", 1.0), [5, 6, 7], [1, 1, 1], seed=1)
    assert np.allclose(private.posterior.concentration, private.counts + 1)


@pytest.mark.slow
def test_package_and_function_share_their_name():
    code = (
        "import dpbayes.samplers.whole_numbers, dpbayes as dp;"
        "print(dp.release(dp.mechanism('lattice', 1.0), [3, 4], [1, 1]).counts.sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7"


@pytest.mark.parametrize(
    ("counts", "prior", "error", "message"),
    [
        ([-1, 5], [1, 1], ValueError, "counts must be at least 0"),
        ([1.5, 5], [1, 1], ValueError, "counts must be whole"),
        ([True, False], [1, 1], TypeError, r"counts must be .* whole"),
        ([0, 0], [1, 1], ValueError, "at least one record"),
        ([2**62 - 10, 9], [1, 1], ValueError, r"at most 2\^61 records for a release"),
        ([3, 4], [1, 0], ValueError, "prior must be positive"),
        ([3, 4], [1, 1, 1], ValueError, "prior must have 2 entries"),
    ],
)
def test_bad_input(counts, prior, error, message):
    with pytest.raises(error, match=message):
        release(dp.mechanism("lattice", 1.0), counts, prior)


@pytest.mark.parametrize("name", ["lattice", "geometric"])
def test_the_largest_counts_are_released_with_their_sum(name):
    counts = [2**61 - 10, 10]
    for _ in range(20):
        private = release(dp.mechanism(name, 1e-6), counts, [1, 1])
        assert private.counts.sum() == 2**61
        assert private.counts.min() >= 0


def test_no_record_at_all_is_noisy_where_the_number_is_secret():
    # Were it refused, one record more or less would be told apart for certain.
    noisy = [
        release(IndependentNoise("0.5"), [0, 0, 0], [1, 1, 1]).noisy.tolist() for _ in range(400)
    ]
    zeros = sum(value == 0 for one in noisy for value in one)
    assert abs(zeros - 1200 * math.tanh(0.25)) < 6 * math.sqrt(300)


def test_more_bad_input():
    with pytest.raises(ValueError, match="epsilon must be at least 1e-06"):
        release(dp.mechanism("lattice", 1e-7), [3, 4], [1, 1])
    with pytest.raises(TypeError, match="without_guarantee must be True or False"):
        release(dp.mechanism("lattice", 1.0), [3, 4], [1, 1], without_guarantee=1)
    with pytest.raises(ValueError, match="takes at most 200000"):
        release(dp.mechanism("permute-and-flip", 1.0), [11019, 7309, 1560, 302], [1] * 4)
    with pytest.raises(ValueError, match="2 categories"):
        release(dp.mechanism("geometric", 1.0), [3, 4, 5], [1] * 3)
    with pytest.raises(ValueError, match="metric must be hellinger"):
        release(
            dp.mechanism("expMech", 1.0, metric="published"), [3, 4], [1, 1], without_guarantee=True
        )


@pytest.mark.parametrize("name", ["expMech-repaired", "discrete-gaussian"])
def test_what_release_promises_in_general_has_the_delta_of_those_it_takes(name: str) -> None:
    private = dp.release(dp.mechanism(name, 1.0, delta=1e-6), [5, 7], [1, 1])
    assert private.guarantee.delta > 0.0
    assert "+ delta" in str(dp.release.__doc__)


def test_a_secret_number_of_records_is_nowhere_in_the_release():
    # Noise at epsilon 0.001 moves a total by hundreds: that of the truth must not stand beside it.
    for _ in range(20):
        private = release(IndependentNoise("0.001"), [40_000, 2], [1, 1])
        assert private.n == private.counts.sum()
        assert "40002" not in repr(private) or private.counts.sum() == 40_002
