"""The best answers to a noisy count, against plain minimisation and against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dpbayes as dp
from dpbayes.mechanisms import geometric
from dpbayes.mechanisms.geometric import best_answers
from dpbayes.mechanisms.optimum import OptimalMechanism, Remapped, distance_table
from dpbayes.mechanisms.protocol import own
from tests.samplers.sources import SeededBits


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_far_from_the_ends_of_a_large_data_set_the_answer_is_the_count_itself() -> None:
    answers, _ = best_answers((1.0, 1.0), 10**9, 0.1, 5 * 10**8, 5 * 10**8 + 100)
    assert np.array_equal(answers, np.arange(5 * 10**8, 5 * 10**8 + 101))


@pytest.mark.slow
def test_a_window_gives_the_answers_of_the_whole() -> None:
    whole, expected = best_answers((1.0, 2.0), 700, 0.3, 0, 700)
    part, part_expected = best_answers((1.0, 2.0), 700, 0.3, 0, 40)
    assert np.array_equal(whole[:41], part)
    assert expected[:41] == pytest.approx(part_expected, rel=1e-12)


@pytest.mark.slow
def test_blocks_of_columns_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = best_answers((1.0, 1.0), 90, 0.11, 0, 90)
    monkeypatch.setattr(geometric, "_COLUMNS", 7)
    best_answers.cache_clear()
    assert np.array_equal(best_answers((1.0, 1.0), 90, 0.11, 0, 90)[0], whole)


def test_too_many_counts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon = 0.001 .* compares at most 4000"):
        best_answers((1.0, 1.0), 10**6, 0.001, 0, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "k"), [("geometric", 12, 2), ("lattice", 12, 2), ("lattice", 5, 3)]
)
def test_the_option_answers_as_the_general_remap_does(name: str, n: int, k: int) -> None:
    prior = [1.0] * k
    general = Remapped(dp.mechanism(name, 0.4))
    option = dp.mechanism(name, 0.4, remap=True)
    for x in dp.compositions(n, k):
        expected = general.law(x, prior).mean_distance()
        assert option.law(x, prior).mean_distance() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("name", "n", "k"), [("geometric", 9, 2), ("lattice", 4, 3)])
def test_the_remap_keeps_the_promise(name: str, n: int, k: int) -> None:
    option = dp.mechanism(name, 0.7, remap=True)
    audited = dp.audit(option, n, [1.0] * k).epsilon
    assert audited <= 0.7 + 1e-9
    assert audited > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("counts", "epsilon"), [([3, 9], 0.2), ([1, 2, 4], 0.8)])
def test_draws_have_the_law(counts: list[int], epsilon: float) -> None:
    name = "geometric" if len(counts) == 2 else "lattice"
    prior = np.ones(len(counts))
    option = dp.mechanism(name, epsilon, remap=True)
    law = option.law(counts, prior)
    bits = SeededBits(7)
    drawn = [own(option, "draw")(np.array(counts), prior, bits)[1] for _ in range(4000)]
    found = np.array([np.all(law.outputs == r, axis=1).argmax() for r in drawn])
    share = np.bincount(found, minlength=len(law.outputs)) / len(drawn)
    error = np.sqrt(law.probabilities * (1 - law.probabilities) / len(drawn))
    assert np.all(np.abs(share - law.probabilities) <= 6 * error + 1e-9)


@pytest.mark.slow
def test_a_large_data_set_is_remapped_near_its_edge_only() -> None:
    plain, option = (dp.mechanism("geometric", 0.5, remap=remap) for remap in (False, True))
    inside = [50_000, 50_000]
    assert option.law(inside, [1, 1]).mean_distance() == pytest.approx(
        plain.law(inside, [1, 1]).mean_distance(), rel=1e-12
    )
    edge = [3, 99_997]
    assert option.law(edge, [1, 1]).mean_distance() < 0.9 * plain.law(edge, [1, 1]).mean_distance()


def test_options_are_checked() -> None:
    for name in ("geometric", "lattice"):
        with pytest.raises(TypeError, match="remap must be"):
            dp.mechanism(name, 1.0, remap=1)
    with pytest.raises(ValueError, match=r"5151 histograms.* a remap of lattice noise"):
        dp.mechanism("lattice", 1.0, remap=True).law([30, 30, 40], [1, 1, 1])
