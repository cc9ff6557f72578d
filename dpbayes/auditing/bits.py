"""An audit of the sampler that really runs: its random bits are driven through all their values.

A release asks for fair bits a few at a time, so it is a tree: a node is a request, an edge one
answer to it, a leaf an output. Walking the tree from the heaviest open node gives every output a
probability between what was reached and that plus what is still open. No law is consulted, and no
sample is drawn.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.law import Law
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

LARGEST_REQUEST = 16
"""Requests for more bits at a time than this are refused: 2^16 answers to one question."""

_ROUNDING = 1e-12


class _Asked(Exception):
    """The sampler asks for more bits than the path holds."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class _Path:
    """A source of bits that answers from a list, and stops the sampler at its end."""

    def __init__(self, answers: tuple[int, ...]) -> None:
        self._answers, self._place = answers, 0

    def bits(self, count: int) -> int:
        if self._place == len(self._answers):
            raise _Asked(count)
        self._place += 1
        return self._answers[self._place - 1]


@dataclass(frozen=True)
class BitAudit:
    """What a sampler gives for one data set, with certainty.

    `outputs` (m, k) were reached, each with at least the probability in `reached` (m,); `undecided`
    is the probability of all bit strings that were not followed to their end, so every output has a
    probability between `reached` and `reached + undecided`. `runs` counts the runs of the sampler.
    """

    outputs: NDArray[np.int64]
    reached: NDArray[np.float64]
    undecided: float
    runs: int

    def contradictions(self, law: Law) -> NDArray[np.int64]:
        """Return the outputs whose probability by `law` cannot be that of the sampler, (m, k)."""
        expected = np.array([float(law.probability(output)) for output in self.outputs])
        low = self.reached - _ROUNDING
        wrong = (expected < low) | (expected > self.reached + self.undecided + _ROUNDING)
        return self.outputs[wrong]


def audit_bits(
    mechanism: Mechanism, counts: ArrayLike, prior: ArrayLike, runs: int = 20_000
) -> BitAudit:
    """Return bounds of the output probabilities of a mechanism's own sampler, for one data set.

    The heaviest open request is followed first, `runs` runs of the sampler at most. Masses are
    whole multiples of powers of 1/2 and added as fractions. Book: `release`. Raises TypeError for a
    mechanism without a sampler, ValueError where it asks for more than `LARGEST_REQUEST` bits.

    >>> from dpbayes.mechanisms import mechanism
    >>> geometric = mechanism("geometric", 1.0)
    >>> found = audit_bits(geometric, [1, 1], [1, 1], runs=2000)
    >>> found.undecided < 0.25, len(found.contradictions(geometric.law([1, 1], [1, 1])))
    (True, 0)
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    limit = _validate.integer("runs", runs, minimum=1)
    sampler = own(mechanism, "draw")
    if sampler is None:
        raise TypeError(f"mechanism must have an exact sampler, got {_validate.shown(mechanism)}")
    masses: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    open_nodes: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    used = 0
    while open_nodes and used < limit:
        depth, path = heapq.heappop(open_nodes)
        used += 1
        try:
            _, released = sampler(x, alpha, _Path(path))
        except _Asked as request:
            if request.count > LARGEST_REQUEST:
                raise ValueError(
                    f"mechanism must ask for at most {LARGEST_REQUEST} bits at a time, got a "
                    f"request for {request.count}"
                ) from None
            for answer in range(1 << request.count):
                heapq.heappush(open_nodes, (depth + request.count, (*path, answer)))
            continue
        masses[tuple(int(r) for r in released)] += Fraction(1, 1 << depth)
    undecided = 1 - sum(masses.values(), Fraction(0))
    outputs = sorted(masses)
    return BitAudit(
        np.array(outputs, dtype=np.int64).reshape(len(outputs), x.size),
        np.array([float(masses[output]) for output in outputs]),
        float(undecided),
        used,
    )
