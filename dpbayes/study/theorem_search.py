"""A search for settings in which expMech-delta breaks its (epsilon, delta) promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.auditing import audit
from dpbayes.mechanisms import mechanism
from dpbayes.sensitivity import DISTANCES

# Both prior parameters, epsilon and delta are drawn and moved on a logarithmic scale.
_LOWEST = np.log([1e-9, 1e-9, 0.1, 1e-12])
_HIGHEST = np.log([300.0, 300.0, 60.0, 0.5])


@dataclass(frozen=True)
class Trial:
    """One audited setting, k = 2, with actual/nominal epsilon and delta(epsilon)/delta.

    The promise is broken when `delta_ratio` exceeds 1.
    """

    n: int
    prior: tuple[float, float]
    epsilon: float
    delta: float
    epsilon_ratio: float
    delta_ratio: float


def search(
    rng: np.random.Generator, starts: int, steps: int, most: int, distance: str = "hamming"
) -> list[Trial]:
    """Return every setting audited on `starts` random climbs of `steps` steps each.

    Each climb starts at a random setting with 2 to `most` records and moves to a random one nearby
    whenever that raises delta(epsilon)/delta, or, while that is 0, the actual epsilon over the
    nominal one. Each audit goes through all neighbours and all outputs. Book:
    `fig-theorem-a-search`.

    >>> trials = search(np.random.default_rng(0), starts=1, steps=3, most=4)
    >>> len(trials), max(trial.delta_ratio for trial in trials) <= 1.0
    (4, True)
    """
    generator = _validate.generator("rng", rng)
    _validate.integer("starts", starts, minimum=1)
    _validate.integer("steps", steps, minimum=0)
    _validate.integer("most", most, minimum=2)
    _validate.choice("distance", distance, DISTANCES)
    trials: list[Trial] = []
    for _ in range(starts):
        n = int(generator.integers(2, most + 1))
        trials += _climb(generator, n, steps, distance)
    return trials


def worst(trials: Sequence[Trial]) -> Trial:
    """Return the trial that comes closest to breaking the promise, or breaks it most."""
    return max(trials, key=_height)


def _climb(rng: np.random.Generator, n: int, steps: int, distance: str) -> list[Trial]:
    here = rng.uniform(_LOWEST, _HIGHEST)
    best = _trial(n, here, distance)
    trials = [best]
    reach = 1.0
    for _ in range(steps):
        there = np.clip(here + reach * rng.normal(size=here.size), _LOWEST, _HIGHEST)
        trial = _trial(n, there, distance)
        trials.append(trial)
        if _height(trial) > _height(best):
            here, best = there, trial
        else:
            reach = max(0.97 * reach, 0.05)
    return trials


def _height(trial: Trial) -> tuple[float, float]:
    return trial.delta_ratio, trial.epsilon_ratio


def _trial(n: int, logarithms: NDArray[np.float64], distance: str) -> Trial:
    a, b, epsilon, delta = (float(value) for value in np.exp(logarithms))
    calibrated = mechanism("expMech-delta", epsilon, delta=delta, distance=distance)
    result = audit(calibrated, n, [a, b])
    excess = result.delta(epsilon) / delta
    return Trial(n, (a, b), epsilon, delta, result.epsilon / epsilon, excess)
