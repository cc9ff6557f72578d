"""Does the time of an answer follow the noise in it? With ticks it does not; without, it may."""

from __future__ import annotations

import time

import numpy as np
from scipy.stats import spearmanr

from dpbayes.queries.grid import system_noise
from dpbayes.queries.listening import at_tick

ANSWERS, TICK, SCALE = 20_000, 0.001, 10 * 2**128


def test_rank_correlation_of_time_and_noise(benchmark):
    """Recorded: Spearman's rho of |noise| and time over 20 000 answers, bare and at ticks."""

    def correlation(tick: float | None) -> float:
        sizes, seconds = np.empty((2, ANSWERS))
        for i in range(ANSWERS):
            begun = time.perf_counter()
            noise = system_noise(SCALE) if tick is None else at_tick(draw, tick)
            seconds[i] = time.perf_counter() - begun
            sizes[i] = abs(noise)
        return float(spearmanr(sizes, seconds).statistic)

    def both() -> dict[str, float]:
        return {"bare": correlation(None), "at_ticks": correlation(TICK)}

    benchmark.extra_info.update(benchmark.pedantic(both, rounds=1, iterations=1))
    print(benchmark.extra_info)


def draw() -> int:
    return system_noise(SCALE)
