"""Exact draws of folded noise with plateaus: a table in balls that is complete, and many draws."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpbayes.samplers import candidates
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_plateaus import plateaus
from dpbayes.study.simplex_plateaus_draw import PlateauDraw
from tests.samplers.sources import SeededBits
from tests.study.test_simplex_plateaus import written_out

N, EPSILON = 30, Fraction(1)
SPACE = simplex(N)
FOUND = plateaus(SPACE, 1.0)


def test_probabilities_sum_to_one_in_balls_and_are_those_of_the_table():
    drawn, library = PlateauDraw(FOUND, N, EPSILON), candidates.flint()
    rows, table = written_out(N, 1.0, SPACE, FOUND)
    assert (FOUND.flats > 0.0).any()
    for x in ([3, 13, 14], [0, 0, 30], [20, 9, 1], [10, 10, 10]):
        with library.ctx.workprec(128):
            ladder = drawn._ladder(np.array(x), 128)
            assert ladder[-1].contains(1)
            assert float(ladder[-1].rad()) < 1e-30
        steps = np.diff([0.0, *(float(one.mid()) for one in ladder)])
        law = Counter()
        for place, step in enumerate(steps):
            row, order = divmod(place, 6)
            law[tuple(SPACE.rows[row][list(_order(order))].tolist())] += step
        here = int(np.flatnonzero((rows == x).all(axis=1))[0])
        found = np.array([law[tuple(row)] for row in rows.tolist()])
        np.testing.assert_allclose(found, table[here], atol=3e-6)


def _order(number):
    return [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)][number]


def test_many_draws_have_the_law_of_the_table():
    rows, table = written_out(N, 1.0, SPACE, FOUND)
    drawn, bits, x = PlateauDraw(FOUND, N, EPSILON), SeededBits(3), [14, 2, 14]
    seen = Counter(tuple(drawn.draw(bits, x).tolist()) for _ in range(10_000))
    law = 10_000 * table[int(np.flatnonzero((rows == x).all(axis=1))[0])]
    found = np.array([seen[tuple(row)] for row in rows.tolist()])
    common = law > 5.0
    groups = [np.append(one[common], one[~common].sum()) for one in (found, law)]
    assert found.sum() == 10_000
    assert common.sum() > 30
    assert chisquare(*groups, sum_check=False).pvalue > 1e-3


def test_what_cannot_be_completed_or_answered_is_refused():
    with pytest.raises(ValueError, match="n must be that of the plateaus, got 31"):
        PlateauDraw(FOUND, 31, EPSILON)
    with pytest.raises(ValueError, match="counts must be 3 with the sum 30"):
        PlateauDraw(FOUND, N, EPSILON).draw(SeededBits(1), [10, 10, 11])
    heavy = replace(FOUND, flats=FOUND.flats * 3.0, points=FOUND.points * 0.0)
    with pytest.raises(ValueError, match="must leave no negative weight"):
        PlateauDraw(heavy, N, EPSILON).draw(SeededBits(1), [10, 10, 10])
