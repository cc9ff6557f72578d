"""Releases: exact draws of each mechanism, guarantees from the description, refusals."""

from __future__ import annotations

import builtins
import math
import subprocess
import sys
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.releasing import Release, guarantee, release
from dpbayes.releasing.draws import draw
from dpbayes.samplers import candidates
from tests.samplers.sources import SeededBits
from tests.strategies import small_cases

PROVED = {
    "lapMech": {},
    "ilapMech": {"rounding": "nearest"},
    "lattice": {"projection": "l1"},
    "expMech": {},
    "expMech-smooth": {"divisor": 6.0},
    "permute-and-flip": {"sensitivity": "smooth"},
}
UNPROVED = ("draft-laplace", "expMech-local", "expMech-delta")


def mechanisms(epsilon):
    plain = [dp.mechanism(name, epsilon) for name in PROVED]
    return plain + [dp.mechanism(name, epsilon, **options) for name, options in PROVED.items()]


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


@pytest.mark.parametrize("mechanism", mechanisms(1.0), ids=str)
def test_draws_follow_the_law(mechanism):
    scored = mechanism.name in ("expMech", "expMech-smooth", "permute-and-flip")
    counts, draws = ((3, 4), 300) if scored else ((5, 6, 7), 4000)
    law = mechanism.law(counts, np.ones(len(counts)))
    value, limit = chi_square(mechanism, counts, draws, law)
    assert value <= limit


def test_draws_follow_the_law_and_the_test_sees_ten_percent():
    mechanism = dp.mechanism("geometric", 0.5)
    law = mechanism.law((2, 5), [1, 1])
    value, limit = chi_square(mechanism, (2, 5), 8_000, law)
    assert value <= limit
    value, limit = chi_square(dp.mechanism("geometric", 0.55), (2, 5), 8_000, law)
    assert value > limit


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


def test_unknown_mechanisms_have_no_sampler_and_no_guarantee():
    @dataclass(frozen=True)
    class Homemade:
        epsilon: float = 1.0
        name: str = "homemade"

    with pytest.raises(ValueError, match="no proof is recorded for the mechanism homemade"):
        release(Homemade(), [5, 6], [1, 1])
    with pytest.raises(ValueError, match="exact sampler, got parameter-laplace"):
        release(dp.mechanism("parameter-laplace", 1.0), [5, 6], [1, 1])


def test_ladder_of_enclosures_against_the_law():
    flint = pytest.importorskip("flint")
    counts, prior = np.array([2, 0, 5]), np.array([0.3, 1.0, 2.5])
    mechanism = dp.mechanism("expMech-smooth", 2.0)
    rate = mechanism.exact_rate(counts, prior)
    assert float(rate) == pytest.approx(mechanism.rate(counts, prior), rel=1e-8)
    assert float(rate) < mechanism.rate(counts, prior)
    rows = dp.compositions(7, 3)
    with flint.ctx.workprec(128):
        ladder = candidates._cumulative(flint, rows, counts, prior, rate)
        shares = np.diff([0.0, *(float((step / ladder[-1]).mid()) for step in ladder)])
        widths = [float(step.rad()) for step in ladder]
    np.testing.assert_allclose(shares, mechanism.law(counts, prior).probabilities, rtol=1e-9)
    assert max(widths) < 1e-30


def test_a_number_on_a_boundary_asks_for_more_bits():
    flint = pytest.importorskip("flint")
    counts, prior = np.array([3, 4]), np.ones(2)
    rate = dp.mechanism("expMech", 1.0).exact_rate(counts, prior)
    with flint.ctx.workprec(256):
        ladder = candidates._cumulative(flint, dp.compositions(7, 2), counts, prior, rate)
        share = ladder[2] / ladder[-1]
        exact = int((share * flint.arb(2) ** 200).floor().unique_fmpz())

    class Boundary:
        """The first 192 bits of the border between outputs 2 and 3, then all ones or all zeros."""

        def __init__(self, then):
            self.then, self.asked = then, 0

        def bits(self, count):
            self.asked += count
            if self.asked <= 192:
                return (exact >> (200 - self.asked)) & ((1 << count) - 1)
            return self.then & ((1 << count) - 1)

    low, high = Boundary(0), Boundary(-1)
    first = candidates.draw_candidate(low, counts, prior, rate)
    second = candidates.draw_candidate(high, counts, prior, rate)
    assert low.asked > 192
    assert first.tolist() == [2, 5]
    assert second.tolist() == [3, 4]


def test_a_missing_library_is_named(monkeypatch):
    original = builtins.__import__

    def without_flint(name, *arguments, **options):
        if name == "flint":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_flint)
    with pytest.raises(ImportError, match=r"install python-flint.*dpbayes\[release\]"):
        release(dp.mechanism("expMech", 1.0), [3, 4], [1, 1])
    assert release(dp.mechanism("lattice", 1.0), [3, 4], [1, 1]).counts.sum() == 7


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


def test_expected_distance_is_a_function_of_what_was_released():
    mechanism = dp.mechanism("lattice", 1.0)
    private = release(mechanism, [50, 60, 70], [1, 1, 1])
    law = mechanism.law(private.counts, private.prior)
    assert private.expected_distance() == law.mean_distance()


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
        ([3, 4], [1, 0], ValueError, "prior must be positive"),
        ([3, 4], [1, 1, 1], ValueError, "prior must have 2 entries"),
    ],
)
def test_bad_input(counts, prior, error, message):
    with pytest.raises(error, match=message):
        release(dp.mechanism("lattice", 1.0), counts, prior)


def test_more_bad_input():
    with pytest.raises(ValueError, match="epsilon must be at least 1e-06"):
        release(dp.mechanism("lattice", 1e-7), [3, 4], [1, 1])
    with pytest.raises(TypeError, match="without_guarantee must be True or False"):
        release(dp.mechanism("lattice", 1.0), [3, 4], [1, 1], without_guarantee=1)
    with pytest.raises(ValueError, match="takes at most 200000, use lattice instead"):
        release(dp.mechanism("expMech", 1.0), [11019, 7309, 1560, 302], [1] * 4)
    with pytest.raises(ValueError, match="2 categories"):
        release(dp.mechanism("geometric", 1.0), [3, 4, 5], [1] * 3)
    with pytest.raises(ValueError, match="metric must be hellinger"):
        release(
            dp.mechanism("expMech", 1.0, metric="published"), [3, 4], [1, 1], without_guarantee=True
        )
