"""Bit sources for tests only: seeded, scripted, counting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
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
