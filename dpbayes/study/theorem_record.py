"""The long run of the search for counterexamples: a million settings, kept with the package.

Each block has a generator of its own, seeded by its row and number, so any block can be run again
alone. `tools/search_theorem.py` runs the blocks that the record lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbayes import _validate
from dpbayes.sensitivity import DISTANCES
from dpbayes.study.records import read_rows
from dpbayes.study.theorem_chain import Chain
from dpbayes.study.theorem_search import search, violations, worst

SEED = 2026
CLIMBS, STEPS, MOST = 50, 149, 150
"""Climbs of a block, steps of a climb, and the largest number of records."""

PLAN = {
    ("hamming", 2): 60,
    ("hamming", 3): 60,
    ("hamming", 4): 20,
    ("hamming", 5): 20,
    ("hamming", 6): 20,
    ("l1", 2): 20,
}
"""Blocks of each row: the distance of data sets and the number of categories."""


@dataclass(frozen=True)
class Block:
    """What `CLIMBS` climbs of one row met: how much, and the setting that comes closest.

    `delta_ratio` is the largest actual over promised delta, attained with `n` records at `epsilon`,
    `delta` and the prior parameters (`other` is 0 where it grows without bound); `epsilon_ratio` is
    the largest actual over nominal epsilon of all settings.
    """

    distance: str
    k: int
    block: int
    settings: int
    violations: int
    delta_ratio: float
    epsilon_ratio: float
    n: int
    epsilon: float
    delta: float
    prior: float
    other: float

    @property
    def chain(self) -> Chain:
        """The setting that comes closest."""
        prior = (self.prior, self.other) if self.other else self.prior
        return Chain(self.k, self.n, self.epsilon, self.delta, prior, distance=self.distance)


def run_block(distance: str, k: int, block: int) -> Block:
    """Search one block again, from its own seed: `CLIMBS` times `STEPS` + 1 settings.

    Book: `fig-theorem-a-search`.
    """
    at = DISTANCES.index(_validate.choice("distance", distance, DISTANCES))
    _validate.integer("k", k, minimum=2)
    _validate.integer("block", block, minimum=0)
    trials = search(np.random.default_rng([SEED, at, k, block]), CLIMBS, STEPS, MOST, distance, k)
    best = worst(trials)
    loss = max(trial.epsilon_ratio for trial in trials)
    chain = best.chain
    prior, other = chain.prior if isinstance(chain.prior, tuple) else (chain.prior, 0.0)
    found = (len(trials), violations(trials), best.delta_ratio, loss)
    return Block(distance, k, block, *found, chain.n, chain.epsilon, chain.delta, prior, other)


def read_record(path: Path | None = None) -> list[Block]:
    """Return the blocks of the record that ships with the package, or of the file `path`."""
    return read_rows(Block, "theorem-search.csv", path)


def missing(blocks: Sequence[Block]) -> list[tuple[str, int, int]]:
    """Return the blocks of `PLAN` that are not among `blocks`, rows in turn."""
    have = {(b.distance, b.k, b.block) for b in blocks}
    plan = [(d, k, i) for (d, k), number in PLAN.items() for i in range(number)]
    return sorted((b for b in plan if b not in have), key=lambda b: b[2] / PLAN[b[0], b[1]])
