"""A search for settings in which expMech-delta breaks its (epsilon, delta) promise.

Random settings hardly ever break it: the settings that do lie next to the kink of the smooth
sensitivity (`theorem_chain.kink`). So every climb starts there, and the same climbs are run where
violations are known to exist; a search that misses those says nothing about the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.sensitivity import DISTANCES
from dpbayes.study.theorem_chain import CANDIDATES, Chain, kink

# ln of: epsilon over its value at the kink, delta, the prior parameter, the other one (k = 2).
_LOWEST = np.array([-3.0, np.log(1e-12), np.log(1e-9), np.log(1e-9)])
_HIGHEST = np.array([3.0, np.log(0.5), np.log(30.0), np.log(1e9)])
_REACH = np.array([0.3, 1.0, 1.0, 1.0])
_LARGEST_EPSILON = 60.0


@dataclass(frozen=True)
class Trial:
    """One audited setting, with actual/nominal epsilon and delta(epsilon)/delta.

    The promise is broken when `delta_ratio` exceeds 1. `chain` is the setting, `pair` the first
    counts of the two data sets at which delta(epsilon) is attained.
    """

    chain: Chain
    epsilon_ratio: float
    delta_ratio: float
    pair: tuple[int, int]


def search(
    rng: np.random.Generator,
    starts: int,
    steps: int,
    most: int,
    distance: str = "hamming",
    k: int = 2,
    candidates: str = "n+1",
) -> list[Trial]:
    """Return every setting audited on `starts` random climbs of `steps` steps each.

    Seven climbs in ten start near the kink of a random setting with 2 to `most` records, the others
    anywhere; each moves to a random setting nearby whenever that raises delta(epsilon)/delta, or,
    while that is 0, the actual epsilon over the nominal one. The settings are chains
    (`theorem_chain`): the prior is (b, B, ..., B) with B without bound, and for k = 2 also any two
    parameters. Each audit goes through all neighbours and all outputs. Book:
    `fig-theorem-a-search`.

    >>> trials = search(np.random.default_rng(0), starts=1, steps=3, most=4)
    >>> len(trials), max(trial.delta_ratio for trial in trials) <= 1.0
    (4, True)
    """
    generator = _validate.generator("rng", rng)
    _validate.integer("starts", starts, minimum=1)
    _validate.integer("steps", steps, minimum=0)
    _validate.integer("most", most, minimum=2)
    _validate.integer("k", k, minimum=2)
    _validate.choice("distance", distance, DISTANCES)
    _validate.choice("candidates", candidates, CANDIDATES)
    trials: list[Trial] = []
    for start in range(starts):
        n = int(generator.integers(2, most + 1))
        both = k == 2 and start % 2 == 1
        plan = Chain(k, n, 1.0, 0.5, (1.0, 1.0) if both else 1.0, candidates, distance)
        trials += _climb(generator, plan, steps, most)
    return trials


def worst(trials: Sequence[Trial]) -> Trial:
    """Return the trial that comes closest to breaking the promise, or breaks it most."""
    return max(trials, key=_height)


def violations(trials: Sequence[Trial]) -> int:
    """Return how many trials break the promise, rounding allowed for."""
    return sum(trial.delta_ratio > 1.0 + 1e-6 for trial in trials)


def _climb(rng: np.random.Generator, plan: Chain, steps: int, most: int) -> list[Trial]:
    here = rng.uniform(_LOWEST, _HIGHEST)
    if rng.random() < 0.7:
        here[0] = 0.05 * rng.normal()
    best = _trial(plan, plan.n, here)
    trials = [best]
    reach = 1.0
    for _ in range(steps):
        there = np.clip(here + reach * _REACH * rng.normal(size=here.size), _LOWEST, _HIGHEST)
        there[0] *= rng.choice([0.0, 0.1, 1.0])
        change = round(reach * 0.2 * plan.n * rng.normal())
        n = int(np.clip(best.chain.n + change, 2, most))
        trial = _trial(plan, n, there)
        trials.append(trial)
        if _height(trial) > _height(best):
            here, best = there, trial
        else:
            reach = max(0.97 * reach, 0.02)
    return trials


def _height(trial: Trial) -> tuple[float, float]:
    return trial.delta_ratio, trial.epsilon_ratio


def _trial(plan: Chain, n: int, logarithms: NDArray[np.float64]) -> Trial:
    over, log_delta, first, second = (float(value) for value in logarithms)
    b = float(np.exp(first))
    prior = (b, float(np.exp(second))) if isinstance(plan.prior, tuple) else b
    setting = replace(plan, n=n, delta=float(np.exp(log_delta)), prior=prior)
    epsilon = min(kink(setting, quick=True) * float(np.exp(over)), _LARGEST_EPSILON)
    chain = replace(setting, epsilon=max(epsilon, 1e-6))
    found = chain.audit(quick=True)
    return Trial(chain, found.epsilon_ratio, found.ratio, found.pair)
