"""Sums over the shortfall by powers, against those node by node."""

import numpy as np
import pytest

from dpbayes.laws.lattice import laurent
from dpbayes.laws.lattice.chains import Link, Row
from dpbayes.laws.lattice.pivots import PIECE
from dpbayes.laws.lattice.shortfalls import payments, readings, short

RHO, LEVEL = float(np.exp(-0.01)), 7
ZETA = 50.0 * np.exp(2j * np.pi * np.arange(40) / 40)


def link(rng, count, bottom):
    def heights():
        return rng.random((1, 5, 6)) + 1j * rng.random((1, 5, 6))

    zero = rng.random((1, 1, 6)) * bottom + 0j
    owed = short(RHO, LEVEL, count, ZETA)
    return Link(zero, owed, heights(), heights(), heights(), heights(), count >= LEVEL)


@pytest.mark.parametrize(
    "payers",
    [
        [(9, 1, 1), (20, 0, 2)],
        [(9, 0, 3)],
        [(7, 1, 2)],
        [(7, 1, 1), (30, 1, 1), (8, 0, 1)],
    ],
)
def test_powers_of_the_shortfall_are_summed_once(payers):
    rng = np.random.default_rng(3)
    level, owed = payments(RHO, LEVEL, ZETA)
    weights = readings(RHO, ZETA)[:, None, None, None]
    links = [(link(rng, count, bottom), copies) for count, bottom, copies in payers]
    row = Row(slice(0, 5), links, [(link(rng, 0, 1).at(slice(0, 1)), 2)])
    assert laurent.few_powers(row, ZETA)
    found = laurent.sums(row, weights, level, owed, RHO, ZETA)
    expected = row.sums(weights, level, owed, PIECE)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


def test_a_true_count_below_the_level_has_no_such_powers():
    rng = np.random.default_rng(4)
    assert not laurent.few_powers(Row(slice(0, 5), [(link(rng, 3, 1), 1)], []), ZETA)
    assert not laurent.few_powers(Row(slice(0, 5), [(link(rng, 9, 1), 1)], []), ZETA[:3])
    assert not laurent.few_powers(Row(slice(0, 5), [(link(rng, 9, 0), 7)], []), ZETA)
