"""Credible intervals, confidence levels and hypothesis probabilities from a noise law (E, 5.2).

All of them describe the query's true answer given the *estimate* alone, under a flat prior. That
is not the posterior given every answer (see `dpbayes.queries.belief`), and it holds for queries
chosen without looking at the answers: picking the largest of many noisy answers and quoting its
interval breaks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from dpbayes._validate import instance, non_negative, open_unit, real
from dpbayes.queries import _arrays
from dpbayes.queries.masses import MassVector
from dpbayes.queries.noise import NoiseLaw


@dataclass(frozen=True)
class CellInterval:
    """An interval of whole cells around the middle one: `steps` i on each side, and its `mass`.

    >>> run = CellInterval(steps=3, mass=0.96)
    >>> run.cells, run.half_width
    (7, 3.5)
    """

    steps: int
    mass: float

    @property
    def cells(self) -> int:
        """The number of cells 2i + 1, which is also the interval's length on the real line."""
        return 2 * self.steps + 1

    @property
    def half_width(self) -> float:
        """Half the length on the real line, i + 1/2: the outermost cells reach half a unit on."""
        return self.steps + 0.5


@dataclass(frozen=True)
class Interval:
    """The credible interval low .. high of a query, with the confidence it was made for.

    >>> Interval(8.0, 12.5, 0.95).length
    4.5
    """

    low: float
    high: float
    confidence: float

    @property
    def length(self) -> float:
        """The length high - low."""
        return self.high - self.low


def credible_interval(pmf: MassVector | ArrayLike, delta: float) -> CellInterval:
    """Return the shortest centred run of cells with mass at least 1 - delta (E, Algorithm 3).

    Start with the middle cell and add one cell on each side until the mass is reached. Both sides
    are added separately, so that a histogram, which is not symmetric, is served as well.

    Parameters: `pmf` a `MassVector` or its masses (odd length); `delta` in (0, 1). When the vector
    holds less mass than 1 - delta the loop of the original would never end; here it is an error.

    Source: E, Algorithm 3 (its body is lost; derived). In the book: `alg-credible-interval`.

    >>> credible_interval([0.1, 0.2, 0.4, 0.2, 0.1], 0.25)
    CellInterval(steps=1, mass=0.8)
    """
    level = 1.0 - open_unit("delta", delta)
    vector = pmf if isinstance(pmf, MassVector) else MassVector(_arrays.vector("pmf", pmf), 0.0)
    masses, middle = vector.masses, vector.half_length
    pairs = masses[middle + 1 :] + masses[:middle][::-1]
    reached = np.cumsum(np.concatenate([masses[middle : middle + 1], pairs]))
    enough = np.flatnonzero(reached >= level)
    if enough.size == 0:
        raise ValueError(
            f"delta must be at least the mass missing from the vector, got delta = {delta!r} but "
            f"only {reached[-1]:.10g} of the mass is there; use a smaller gamma or the exact law"
        )
    steps = int(enough[0])
    return CellInterval(steps, float(reached[steps]))


def interval(estimate: float, law: NoiseLaw, delta: float) -> Interval:
    """Return estimate +- c, with c the smallest number such that P(|Z| <= c) >= 1 - delta.

    Source: E, Definition 2.5, with the exact law; ours. In the book: `def-credible-interval`.

    >>> interval(10.0, NoiseLaw([1.0]), 0.5)
    Interval(low=9.306852819440055, high=10.693147180559945, confidence=0.5)
    """
    centre = real("estimate", estimate)
    instance("law", law, NoiseLaw)
    c = law.half_width(delta)
    return Interval(centre - c, centre + c, 1.0 - delta)


def confidence(estimate: float, law: NoiseLaw, low: float, high: float) -> float:
    """Return the probability, given the estimate, that the true answer lies between low and high.

    >>> round(confidence(10.0, NoiseLaw([1.0]), 10.0, 12.0), 10)
    0.4323323584
    """
    centre = real("estimate", estimate)
    instance("law", law, NoiseLaw)
    return law.probability(real("low", low) - centre, real("high", high) - centre)


def probability_at_least(estimate: float, law: NoiseLaw, threshold: float) -> float:
    """Return the probability, given the estimate, of the hypothesis "true answer >= threshold".

    Source: E, section 1 (the hypothesis on Alice's income) and Definition 2.5.

    >>> round(probability_at_least(3.0, NoiseLaw([1.0]), 2.0), 10)
    0.8160602794
    """
    instance("law", law, NoiseLaw)
    return law.tail(real("threshold", threshold) - real("estimate", estimate))


def gaussian_half_width(variance: float, delta: float) -> float:
    """Return the half-width that a normal law of this variance would have, for comparison only.

    >>> round(gaussian_half_width(1.0, 0.05), 6)
    1.959964
    """
    spread = np.sqrt(non_negative("variance", variance))
    return float(-NormalDist().inv_cdf(0.5 * open_unit("delta", delta)) * spread)
