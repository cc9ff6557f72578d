"""Orbits of noise steps: against plain renaming of every step."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dpbayes.study.noise_optimum import window
from dpbayes.study.noise_symmetry import orbits, renamings


@pytest.mark.parametrize("whole", [(1, 1, 1), (1, 2, 2), (1, 2, 3), (1, 1, 2, 2)])
def test_steps_share_an_orbit_exactly_when_a_renaming_takes_one_to_the_other(
    whole: tuple[int, ...],
) -> None:
    shares = tuple(Fraction(w, sum(whole)) for w in whole)
    space = window(shares, 2)
    found = orbits(space.points, space.first, space.second, shares)
    fair = [
        order
        for order in permutations(range(len(whole)))
        if all(shares[i] == w for i, w in zip(order, shares, strict=True))
    ]
    assert sorted(renamings(shares)) == sorted(fair)
    seen: dict[frozenset[tuple[tuple[int, ...], ...]], int] = {}
    for a, b, number in zip(space.first, space.second, found.step, strict=True):
        images = frozenset(
            tuple(tuple((sign * space.points[z])[list(order)].tolist()) for z in (a, b))
            for order in fair
            for sign in (1, -1)
        )
        assert seen.setdefault(images, int(number)) == number
    assert len(seen) == found.many
    # One point of each orbit: lengths tell no more orbits apart than are kept.
    assert len(np.unique(np.round(space.lengths, 9))) <= found.kept.size <= len(space.points)
