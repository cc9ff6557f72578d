"""Search again for settings in which A's mechanism breaks its promise.

    python tools/search_theorem.py hamming 3 0

The arguments name one block: distance of data sets, categories and number.

The record of all blocks is dpbayes/data/theorem-search.csv. Random settings hardly ever
break the promise; those that do lie next to the kink of the smooth sensitivity, so the
climbs start there. The same climbs run where violations exist.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.theorem_chain import Chain, ChainAudit, kink

CLIMBS, STEPS, MOST = 50, 149, 150  # of a block; records at most
DISTANCES = ("hamming", "l1")
# Logarithms: epsilon over its value at the kink, delta, prior parameter, the other one.
_LOWEST = np.array([-3.0, np.log(1e-12), np.log(1e-9), np.log(1e-9)])
_HIGHEST = np.array([3.0, np.log(0.5), np.log(30.0), np.log(1e9)])
_REACH = np.array([0.3, 1.0, 1.0, 1.0])


class L1Chain(Chain):
    """A chain whose distance of data sets counts a replaced record twice."""

    @property
    def gamma(self) -> float:
        """Twice the rate, so that S falls by e^(-2 gamma) a record."""
        return 2.0 * super().gamma


def _kink(chain: Chain) -> float:
    """Return the epsilon of the kink; in l1 half of that gamma is enough."""
    found, twice = kink(chain), 2.0 * chain.logarithm
    if isinstance(chain, L1Chain):
        return float(twice * (np.sqrt(1.0 + found / twice) - 1.0))
    return found


@dataclass(frozen=True)
class Block:
    """How many settings were audited, how many broke the promise, and the closest."""

    settings: int
    violations: int
    delta_ratio: float
    closest: Chain


def run_block(distance: str, k: int, number: int) -> Block:
    """Run the climbs of one block from its own seed."""
    rng = np.random.default_rng([2026, DISTANCES.index(distance), k, number])
    kind = L1Chain if distance == "l1" else Chain
    trials = []
    for start in range(CLIMBS):
        n, both = int(rng.integers(2, MOST + 1)), k == 2 and start % 2 == 1
        plan = kind(k, n, 1.0, 0.5, (1.0, 1.0) if both else 1.0)
        trials += _climb(rng, plan)
    broken = sum(found.ratio > 1.0 + 1e-6 for _, found in trials)
    chain, found = max(trials, key=lambda trial: _height(trial[1]))
    return Block(len(trials), broken, found.ratio, chain)


def _climb(rng: np.random.Generator, plan: Chain) -> list[tuple[Chain, ChainAudit]]:
    """Go from a random setting to better ones nearby; return every setting audited."""
    here, reach = rng.uniform(_LOWEST, _HIGHEST), 1.0
    if rng.random() < 0.7:
        here[0] = 0.05 * rng.normal()
    best = _trial(plan, plan.n, here)
    trials = [best]
    for _ in range(STEPS):
        step = reach * _REACH * rng.normal(size=here.size)
        there = np.clip(here + step, _LOWEST, _HIGHEST)
        there[0] *= rng.choice([0.0, 0.1, 1.0])
        change = round(reach * 0.2 * plan.n * rng.normal())
        trial = _trial(plan, int(np.clip(best[0].n + change, 2, MOST)), there)
        trials.append(trial)
        if _height(trial[1]) > _height(best[1]):
            here, best = there, trial
        else:
            reach = max(0.97 * reach, 0.02)
    return trials


def _height(found: ChainAudit) -> tuple[float, float]:
    return found.ratio, found.epsilon_ratio


def _trial(plan: Chain, n: int, at: NDArray[np.float64]) -> tuple[Chain, ChainAudit]:
    over, log_delta, first, second = (float(value) for value in at)
    prior = (
        (np.exp(first), np.exp(second))
        if isinstance(plan.prior, tuple)
        else np.exp(first)
    )
    setting = replace(plan, n=n, delta=float(np.exp(log_delta)), prior=prior)
    epsilon = min(_kink(setting) * float(np.exp(over)), 60.0)
    chain = replace(setting, epsilon=max(epsilon, 1e-6))
    return chain, chain.audit()


if __name__ == "__main__":
    print(run_block(sys.argv[1], *map(int, sys.argv[2:])))
