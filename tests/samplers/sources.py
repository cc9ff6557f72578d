"""Bit sources for tests only: seeded, scripted, counting."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
    """The script has ended."""


class ScriptedBits:
    """The bits of one script, first bit first."""

    def __init__(self, script: str) -> None:
        self.script, self.place = script, 0

    def bits(self, count: int) -> int:
        chunk = self.script[self.place : self.place + count]
        if len(chunk) < count:
            raise OutOfBits(count - len(chunk))
        self.place += count
        return int(chunk, 2)


def law_of_bits(
    sampler: Callable[[ScriptedBits], Any], depth: int
) -> tuple[dict[Any, Fraction], Fraction]:
    """Return exact probabilities over all scripts of at most `depth` bits, and the mass left."""
    weights: dict[Any, int] = defaultdict(int)
    left, open_scripts = 0, [""]
    while open_scripts:
        script = open_scripts.pop()
        source = ScriptedBits(script)
        try:
            weights[sampler(source)] += 1 << (depth - len(script))
        except OutOfBits as end:
            longer = len(script) + end.args[0]
            if longer > depth:
                left += 1 << (depth - len(script))
            else:
                width = end.args[0]
                open_scripts += [script + f"{i:0{width}b}" for i in range(1 << width)]
    return {value: Fraction(w, 1 << depth) for value, w in weights.items()}, Fraction(
        left, 1 << depth
    )


class Answers:
    """Whole requests answered from a list; the request beyond its end is raised."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.path, self.place = path, 0

    def bits(self, count: int) -> int:
        if self.place == len(self.path):
            raise OutOfBits(count)
        self.place += 1
        return self.path[self.place - 1]


@dataclass(frozen=True)
class Reached:
    """Outputs with the mass that surely leads to each, and the mass of what is undecided."""

    masses: dict[tuple[int, ...], float]
    undecided: float

    def contradictions(self, law: Any) -> list[tuple[int, ...]]:
        """Return the outputs whose probability by `law` cannot be that of the sampler."""
        most = self.undecided + 1e-12
        return [
            output
            for output, mass in self.masses.items()
            if not -1e-12 <= float(law.probability(output)) - mass <= most
        ]


def followed(mechanism: Any, counts: Any, prior: Any, runs: int) -> Reached:
    """Return what a mechanism's own sampler gives, the likeliest requests for bits first."""
    x, alpha = np.array(counts), np.array(prior, dtype=float)
    masses: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for _ in range(runs):
        if not waiting:
            break
        depth, path = heapq.heappop(waiting)
        try:
            released = mechanism.draw(x, alpha, Answers(path))[1]
            masses[tuple(released.tolist())] += Fraction(1, 1 << depth)
        except OutOfBits as end:
            width = end.args[0]
            for answer in range(1 << width):
                heapq.heappush(waiting, (depth + width, (*path, answer)))
    undecided = 1 - sum(masses.values(), Fraction(0))
    return Reached({output: float(mass) for output, mass in masses.items()}, float(undecided))
