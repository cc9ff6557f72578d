"""Bit sources for tests only, and what a sampler gives over all bits it may read."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class SeededBits:
    """Fair bits from a seeded generator, counted."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.used = 0

    def bits(self, count: int) -> int:
        self.used += count
        return int.from_bytes(self.rng.bytes((count + 7) // 8), "big") >> (-count % 8)


class OutOfBits(Exception):
    """The answers have ended."""


class Answers:
    """Whole requests answered from a list; the request beyond its end is raised."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.path, self.place = path, 0

    def bits(self, count: int) -> int:
        if self.place == len(self.path):
            raise OutOfBits(count)
        self.place += 1
        return self.path[self.place - 1]


class Reached(NamedTuple):
    """Values with the mass that surely leads to each, and the mass of what is
    undecided.
    """

    masses: dict[Any, Fraction]
    undecided: Fraction

    def contradictions(self, law: Any) -> list[tuple[int, ...]]:
        """Return the outputs whose probability by `law` cannot be that of the
        sampler."""
        most = float(self.undecided) + 1e-12
        return [
            output
            for output, mass in self.masses.items()
            if not -1e-12 <= float(law.probability(output)) - float(mass) <= most
        ]


def explored(
    sampler: Callable[[Answers], Any], depth: float = math.inf, runs: float = math.inf
) -> Reached:
    """Return what a sampler gives over all bits up to a depth, or in the likeliest
    runs.
    """
    masses: dict[Any, Fraction] = defaultdict(Fraction)
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while waiting and runs > 0:
        used, path = heapq.heappop(waiting)
        runs -= 1
        try:
            masses[sampler(Answers(path))] += Fraction(1, 1 << used)
        except OutOfBits as end:
            width = end.args[0]
            if used + width <= depth:
                for answer in range(1 << width):
                    heapq.heappush(waiting, (used + width, (*path, answer)))
    return Reached(dict(masses), 1 - sum(masses.values(), Fraction(0)))


def followed(mechanism: Any, counts: Any, prior: Any, runs: int) -> Reached:
    """Return what a mechanism's own sampler gives in so many runs."""
    x, alpha = np.array(counts), np.array(prior, dtype=float)
    return explored(
        lambda bits: tuple(mechanism.draw(x, alpha, bits)[1].tolist()), runs=runs
    )
