"""Noise on every count: its law against a plain sum, its promise against every neighbour."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.geometric import IndependentLaw, IndependentNoise, log_clamped
from dpbayes.mechanisms.protocol import guarantee
from dpbayes.samplers.bits import SystemBits

COUNTS = list(itertools.product(range(4), repeat=2))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_the_promise_is_kept_and_attained_for_one_record_more_or_less(epsilon):
    worst = 0.0
    released = np.arange(0, 40)
    for count in range(30):
        loss = log_clamped(count, released, epsilon) - log_clamped(count + 1, released, epsilon)
        worst = max(worst, float(np.abs(loss).max()))
    assert worst == pytest.approx(epsilon, abs=1e-12)
    assert guarantee(IndependentNoise(epsilon), 2).epsilon == epsilon


@pytest.mark.slow
def test_all_neighbours_of_small_data_by_the_joint_law():
    law = IndependentNoise("0.5")
    logs = {
        x: dict(zip(map(tuple, made.outputs.tolist()), made.log_probabilities, strict=True))
        for x in COUNTS
        for made in [law.law(x, [1, 1])]
    }
    for x in COUNTS:
        for i in range(2):
            other = tuple(c + (j == i) for j, c in enumerate(x))
            if other in logs:
                both = logs[x].keys() & logs[other].keys()
                worst = max(abs(logs[x][r] - logs[other][r]) for r in both)
                assert worst <= 0.5 + 1e-12


@pytest.mark.slow
def test_the_exact_sampler_has_this_law_and_no_wider_one():
    mechanism = IndependentNoise(Fraction(1))
    size, counts = 20_000, np.array([3, 0])
    draws = [mechanism.draw(counts, np.ones(2), SystemBits())[1] for _ in range(size)]
    for place in range(2):
        for r in range(6):
            share = np.mean([draw[place] == r for draw in draws])
            right = float(np.exp(log_clamped(int(counts[place]), np.array([r]), 1.0))[0])
            assert abs(share - right) < 6 * math.sqrt(right * (1 - right) / size)
    exact = np.mean([draw[0] == 3 for draw in draws])
    wrong = float(np.exp(log_clamped(3, np.array([3]), 0.9))[0])
    assert abs(exact - wrong) > 6 * math.sqrt(wrong * (1 - wrong) / size)


def test_the_sentence_names_its_relation():
    sentence = guarantee(IndependentNoise("0.1"), 3).sentence
    assert "differ by one record more or less" in sentence
    assert "n itself is public" not in sentence
    assert "P[M(x) in S] <= e^0.1 P[M(x') in S]" in sentence


@pytest.mark.parametrize("epsilon", [0, -1, "x", True, float("nan")])
def test_bad_parameters_are_refused(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon must be"):
        IndependentNoise(epsilon)
    with pytest.raises(ValueError, match="counts"):
        IndependentNoise(1.0).law([-1, 2], [1, 1])
    assert dp.hellinger([1, 1], [2, 2]) > 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_one_count_against_a_plain_sum(count, epsilon):
    released = np.arange(0, 60)
    noise = {z: math.exp(-epsilon * abs(z)) for z in range(-2000, 2001)}
    total = math.fsum(noise.values())
    wanted = Counter()
    for z, weight in noise.items():
        wanted[max(count + z, 0)] += weight / total
    found = np.exp(log_clamped(count, released, epsilon))
    assert found == pytest.approx([wanted[int(r)] for r in released], rel=1e-11)


def test_the_listed_law_is_complete_and_the_drawn_one_agrees():
    mechanism = IndependentNoise(1.0)
    listed = mechanism.law([30, 5, 0], [1, 1, 1])
    assert listed.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    drawn = IndependentLaw(listed.prior, listed.counts, 1.0)
    estimate = drawn.mean_distance()
    assert abs(estimate - listed.mean_distance()) <= 4.5 * estimate.error
    assert drawn.probability([31, 4, 0]) == pytest.approx(listed.probability([31, 4, 0]), rel=1e-12)
    assert drawn.probability([31, 4, 0]) > 0


def test_many_categories_are_answered_by_draws():
    assert isinstance(IndependentNoise(1.0).law([5] * 12, [1] * 12), IndependentLaw)
