"""Losses and hockey sticks against sums over sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.auditing.exact import hockey_stick, loss

weights = st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(lambda w: sum(w) > 0.1)


def logs(values):
    with np.errstate(divide="ignore"):
        return np.log(np.array(values) / sum(values))


@given(weights, weights, st.floats(-1.0, 3.0))
def test_delta_is_the_worst_set_of_outputs(first, second, epsilon):
    p, q = np.exp(logs(first)), np.exp(logs(second))
    sets = itertools.chain.from_iterable(itertools.combinations(range(4), m) for m in range(5))
    worst = max(sum(p[i] - math.exp(epsilon) * q[i] for i in s) for s in map(list, sets))
    assert hockey_stick(logs(first), logs(second), epsilon) == pytest.approx(worst, abs=1e-12)


def test_an_output_of_one_side_only_is_an_infinite_loss_and_of_neither_none():
    p, q = np.array([0.0, -np.inf, -np.inf]), np.array([-np.inf, 0.0, -np.inf])
    assert loss(p, q).tolist() == [np.inf, -np.inf, 0.0]


def test_a_pair_names_its_worst_output():
    pair = dp.audit_pair(dp.mechanism("geometric", 0.7), [4, 6], [5, 5], [1, 1])
    witness = pair.witness
    assert pair.epsilon == pytest.approx(0.7, rel=1e-12)
    assert witness.loss == pair.epsilon
    p, q = (
        dp.mechanism("geometric", 0.7).law(x, [1, 1]).probability(witness.output)
        for x in (witness.counts, witness.neighbour)
    )
    assert math.log(p / q) == pytest.approx(0.7, rel=1e-12)
    both = (pair.log_p, pair.log_q), (pair.log_q, pair.log_p)
    assert pair.delta(0.2) == max(hockey_stick(*laws, 0.2) for laws in both) > 0.0
