"""The programs' three kinds of Laplace noise, each held against a run of its own description."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.programs import (
    OlderLaplace,
    RepairedLaplace,
    SequentialLaplace,
    _log_beta,
)

DRAWS = 40_000


def close(distances: np.ndarray, masses: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether a sample agrees with a law at its nine deciles, within six standard errors."""
    cuts = np.quantile(drawn, np.linspace(0.1, 0.9, 9)) + 1e-9
    exact = np.array([masses[distances <= cut].sum() for cut in cuts])
    seen = np.array([(drawn <= cut).mean() for cut in cuts])
    return bool(np.all(np.abs(exact - seen) <= 6 * np.sqrt(0.25 / drawn.size)))


@pytest.mark.slow
@pytest.mark.parametrize("records", [None, 30])
def test_sequential_noise(records: int | None) -> None:
    x, n = np.array([4, 3, 5]), records or 12
    rng = np.random.default_rng(3)
    released = []
    for noise in np.floor(rng.laplace(0, 2 / 0.8, (DRAWS, 2))).astype(int):
        first = int(np.clip(x[0] + noise[0], 0, n))
        second = int(np.clip(x[1] + noise[1], 0, n - first))
        released.append((first, second, n - first - second))
    drawn = dp.hellinger(x + 1.0, np.array(released) + 1.0)
    law = SequentialLaplace(0.8, records=records).law(x, [1, 1, 1])
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert close(law.distances, law.probabilities, drawn)
    wrong = SequentialLaplace(0.8, 3.0, records=records).law(x, [1, 1, 1])
    assert not close(wrong.distances, wrong.probabilities, drawn)


def by_hand(counts: list[int], scale: float) -> dict[tuple[int, ...], float]:
    """Return the law by going through every whole noise that is not clamped, and the tails."""
    n = sum(counts)

    def below(y: float) -> float:
        return 0.5 * math.exp(y / scale) if y < 0 else 1 - 0.5 * math.exp(-y / scale)

    def clamped(x: int) -> list[float]:
        masses = [below(r + 1 - x) - below(r - x) for r in range(n + 1)]
        return [below(1 - x), *masses[1:n], 1 - below(n - x)]

    found: dict[tuple[int, ...], float] = defaultdict(float)
    marginals = [clamped(x) for x in counts[:-1]]
    for noisy in itertools.product(range(n + 1), repeat=len(counts) - 1):
        left, released = n, []
        for r in noisy:
            released.append(min(r, left))
            left -= released[-1]
        found[*released, left] += math.prod(m[r] for m, r in zip(marginals, noisy, strict=True))
    return found


@pytest.mark.parametrize("counts", [[3, 2], [2, 3, 1], [1, 2, 1, 2]])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_sequential_noise_is_that_of_a_loop(counts: list[int], epsilon: float) -> None:
    law = SequentialLaplace(epsilon).law(counts, [1.0] * len(counts))
    expected = by_hand(counts, 2 / epsilon)
    for output, probability in zip(law.outputs.tolist(), law.probabilities, strict=True):
        assert probability == pytest.approx(expected.get(tuple(output), 0.0), abs=1e-13)


def test_cutting_to_n_is_post_processing_and_keeps_the_promise() -> None:
    assert dp.audit(SequentialLaplace(0.8), 5, [1, 1, 1]).epsilon <= 0.8 + 1e-12


def test_sequential_noise_in_two_categories_is_lapmech() -> None:
    same = dp.mechanism("lapMech", 0.8).law([3, 5], [1, 1])
    drawn = SequentialLaplace(0.8).law([3, 5], [1, 1])
    assert np.abs(same.probabilities - drawn.probabilities).max() < 1e-14


def test_the_older_noise() -> None:
    start = np.array([8.0, 8.0, 8.0])
    noise = np.floor(np.random.default_rng(4).laplace(0, 2 / 0.8, (DRAWS, 2)))
    first = np.maximum(start[:2] + noise, 1.0)
    released = np.column_stack((first, start.sum() - first.sum(axis=1)))
    affinity = _log_beta((start + released) / 2) - (_log_beta(start) + _log_beta(released)) / 2
    drawn = np.sqrt(np.clip(-np.expm1(affinity), 0.0, 1.0))
    law = OlderLaplace(0.8).distances([5, 5, 5], [3, 3, 3])
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert close(law.values, law.masses, drawn)
    wrong = OlderLaplace(0.73).distances([5, 5, 5], [3, 3, 3])
    assert not close(wrong.values, wrong.masses, drawn)


def test_the_repaired_noise() -> None:
    start = np.array([9.0, 7.0])
    noise = np.round(np.random.default_rng(5).laplace(0, 2 / 0.5, DRAWS))
    second = start[1] + noise
    kept = (second > 0) & (second < start.sum())
    drawn = dp.hellinger(start, np.column_stack((start.sum() - second, second))[kept])
    law = RepairedLaplace(0.5).distances([2, 3], [7, 4])
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert close(law.values, law.masses, drawn)
    wrong = RepairedLaplace(0.45).distances([2, 3], [7, 4])
    assert not close(wrong.values, wrong.masses, drawn)
