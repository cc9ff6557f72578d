"""The best answers to a noisy count, against plain minimisation and against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dpbayes as dp
from dpbayes.mechanisms import remap
from dpbayes.mechanisms.optimum import OptimalMechanism, distance_table
from dpbayes.mechanisms.remap import best_answers


def geometric_table(n: int, epsilon: float) -> NDArray[np.float64]:
    geometric = dp.mechanism("geometric", epsilon)
    rows = [geometric.law([x, n - x], [1.0, 1.0]) for x in range(n + 1)]
    return np.exp([row.log_probabilities for row in rows])


@pytest.mark.parametrize("n", [1, 7, 20])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.3, 5.0)])
def test_no_answer_is_better(n: int, epsilon: float, prior: tuple[float, float]) -> None:
    answers, expected = best_answers(prior, n, epsilon, 0, n)
    table = geometric_table(n, epsilon)
    losses = table.T @ distance_table(n, prior) / table.sum(axis=0)[:, None]
    assert expected == pytest.approx(losses.min(axis=1), rel=1e-12)
    assert losses[np.arange(n + 1), answers] == pytest.approx(losses.min(axis=1), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "epsilon", "published"), [(10, 0.1, 0.498), (20, 0.05, 0.610), (40, 0.02, 0.716)]
)
def test_the_remapped_geometric_mechanism_is_the_optimum(
    n: int, epsilon: float, published: float
) -> None:
    for prior in ((1.0, 1.0), (0.5, 3.0)):
        answers, expected = best_answers(prior, n, epsilon, 0, n)
        mean = float(geometric_table(n, epsilon).sum(axis=0) @ expected) / (n + 1)
        optimal = OptimalMechanism(epsilon).table(n, prior)
        least = float((optimal * distance_table(n, prior)).sum()) / (n + 1)
        assert mean == pytest.approx(least, rel=3e-6)
        if prior == (1.0, 1.0):
            assert mean == pytest.approx(published, abs=6e-4)
        assert np.all(np.diff(answers) >= 0)


def test_far_from_the_ends_of_a_large_data_set_the_answer_is_the_count_itself() -> None:
    answers, _ = best_answers((1.0, 1.0), 10**9, 0.1, 5 * 10**8, 5 * 10**8 + 100)
    assert np.array_equal(answers, np.arange(5 * 10**8, 5 * 10**8 + 101))


def test_a_window_gives_the_answers_of_the_whole() -> None:
    whole, expected = best_answers((1.0, 2.0), 700, 0.3, 0, 700)
    part, part_expected = best_answers((1.0, 2.0), 700, 0.3, 0, 40)
    assert np.array_equal(whole[:41], part)
    assert expected[:41] == pytest.approx(part_expected, rel=1e-12)


def test_blocks_of_columns_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = best_answers((1.0, 1.0), 90, 0.11, 0, 90)
    monkeypatch.setattr(remap, "_COLUMNS", 7)
    best_answers.cache_clear()
    assert np.array_equal(best_answers((1.0, 1.0), 90, 0.11, 0, 90)[0], whole)


def test_too_many_counts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon = 0.001 .* compares at most 6000"):
        best_answers((1.0, 1.0), 10**6, 0.001, 0, 10**6)
