"""Better answers to folded noise with plateaus: the mean is that of a private table written out."""

from itertools import permutations

import numpy as np
import pytest

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_answers import answered
from dpbayes.study.simplex_plateaus import plateaus
from dpbayes.study.simplex_record import read_record


def written_out(n, epsilon, space, noise, found):
    """The table P[answer | data] after both answers, every order of every row by itself."""
    rows = compositions(n, 3)
    place = {tuple(row): number for number, row in enumerate(rows.tolist())}
    table = np.zeros((len(rows), len(rows)))
    for number, row in enumerate(space.rows):
        half = noise.half[number]
        for order in map(list, permutations(range(3))):
            near = [(row + np.array([0, t, -t]))[order] for t in range(-half, half + 1)]
            apart = [np.abs(rows - one).sum(axis=1) // 2 for one in near]
            alike = sum(
                bool((row[list(other)] == row[order]).all()) for other in permutations(range(3))
            )
            for answer, weight, away in (
                (found.points[number], noise.points[number], apart[half]),
                (found.flats[number], noise.flats[number], np.min(apart, axis=0)),
            ):
                column = place[tuple(answer[order].tolist())]
                table[:, column] += weight * np.exp(-epsilon * away) / alike
    return rows, table


@pytest.mark.parametrize(("n", "epsilon", "prior"), [(24, 0.5, 1.0), (20, 1.0, 0.7)])
def test_the_table_written_out_is_private_complete_and_has_the_mean(n, epsilon, prior):
    space = simplex(n, 3, prior)
    noise = plateaus(space, epsilon)
    found = answered(space, epsilon, noise)
    rows, table = written_out(n, epsilon, space, noise, found)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-9)
    first, second = np.nonzero(np.abs(rows[:, None] - rows).sum(axis=2) == 2)
    used = table.max(axis=0) > 0.0
    assert np.log(table[first][:, used] / table[second][:, used]).max() < epsilon * (1 + 1e-9)
    losses = distance_table(n, [prior] * 3)
    mean = float((table * losses).sum() / len(rows))
    assert mean <= found.mean * (1 + 1e-12)
    assert mean == pytest.approx(found.mean, rel=1e-6)
    assert mean <= noise.mean * (1 + 1e-12)
    assert epsilon >= 1.0 or mean < 0.999 * noise.mean  # narrow noise: nothing to gain


def test_beside_the_noise_no_answer_is_worse_than_what_was_said():
    space = simplex(60)
    for epsilon in (0.5, 1.0, 3.0):
        noise = plateaus(space, epsilon)
        assert answered(space, epsilon, noise).mean <= noise.mean * (1 + 1e-7)


def test_where_noise_is_wide_the_answers_of_the_record_are_nearest():
    wide = [one for one in read_record() if one.k == 3 and one.epsilon < 1.0]
    assert {one.n for one in wide} == {30, 100, 300, 1000}
    assert all(one.lower < one.answered < one.plateaus for one in wide)
    assert all(one.answered / one.lower == one.best < 1.0115 for one in wide)
