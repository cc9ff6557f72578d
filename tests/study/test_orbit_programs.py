"""Linear programs on orbits, against the program without symmetry and the printed ratios."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.geometric import best_answers
from dpbayes.mechanisms.optimum import OptimalMechanism, distance_table, record_distances
from dpbayes.study.orbit_programs import orbit_optimum, orbits


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 3), (3, 4)])
def test_orbits_are_those_of_all_renamings(n: int, k: int) -> None:
    rows = dp.compositions(n, k)
    shape = orbits(n, k)
    seen: dict[frozenset[tuple[tuple[int, ...], tuple[int, ...]]], int] = {}
    for i, x in enumerate(rows.tolist()):
        for j, r in enumerate(rows.tolist()):
            orbit = frozenset(
                (tuple(x[p] for p in order), tuple(r[p] for p in order))
                for order in permutations(range(k))
            )
            assert seen.setdefault(orbit, int(shape.label[i, j])) == shape.label[i, j]
            assert len(orbit) == shape.size[shape.label[i, j]]
    assert len(seen) == shape.size.size


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(12, 2), (6, 3), (3, 4)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_value_is_that_of_the_whole_program(n: int, k: int, epsilon: float) -> None:
    prior = [0.7] * k
    found = orbit_optimum(n, k, epsilon, 0.7)
    whole = OptimalMechanism(epsilon).table(n, prior)
    least = float((whole * distance_table(n, prior)).sum()) / len(whole)
    assert found.value == pytest.approx(least, rel=1e-5)
    assert found.lower <= found.value + 1e-12
    assert found.lower == pytest.approx(found.value, rel=1e-7)


def test_the_table_is_private() -> None:
    table = orbit_optimum(7, 3, 0.6).table
    close = record_distances(7, 3) == 1
    first, second = np.nonzero(close)
    assert table.sum(axis=1) == pytest.approx(np.ones(len(table)), abs=1e-9)
    assert np.all(table[first] <= np.exp(0.6) * table[second] + 1e-9)


@pytest.mark.slow
def test_two_categories_are_solved_by_the_remapped_geometric_mechanism() -> None:
    n, epsilon = 60, 0.15
    _, expected = best_answers((1.0, 1.0), n, epsilon, 0, n)
    law = dp.mechanism("geometric", epsilon)
    mass = sum(np.exp(law.law([x, n - x], [1, 1]).log_probabilities) for x in range(n + 1))
    optimum = orbit_optimum(n, 2, epsilon)
    assert float(mass @ expected) / (n + 1) == pytest.approx(optimum.value, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon", "ratio", "remapped"),
    [(8, 0.5, 1.10, 1.027), (8, 1.0, 1.0314, None), (8, 5.0, 1.0945, None)],
)
def test_lattice_noise_over_the_optimum(
    n: int, epsilon: float, ratio: float, remapped: float | None
) -> None:
    check_ratios(n, epsilon, ratio, remapped)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon", "ratio", "remapped"),
    [(8, 0.1, 1.28, 1.005), (15, 1.0, 1.0158, None), (20, 1.0, 1.0107, None)],
)
def test_lattice_noise_over_the_optimum_at_length(
    n: int, epsilon: float, ratio: float, remapped: float | None
) -> None:
    check_ratios(n, epsilon, ratio, remapped)


def check_ratios(n: int, epsilon: float, ratio: float, remapped: float | None) -> None:
    lattice = dp.mechanism("lattice", epsilon)
    table = np.array([lattice.law(x, [1.0] * 3).probabilities for x in dp.compositions(n, 3)])
    losses, least = distance_table(n, [1.0] * 3), orbit_optimum(n, 3, epsilon).lower
    found = float((table * losses).sum()) / len(losses) / least
    assert found == pytest.approx(ratio, abs=6e-5 if ratio < 1.09 else 6e-3)
    if remapped is not None:
        answered = float((table.T @ losses).min(axis=1).sum()) / len(losses) / least
        assert answered == pytest.approx(remapped, abs=6e-4)


def test_too_many_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="861 candidates; orbit programs take at most 700"):
        orbit_optimum(40, 3, 1.0)
