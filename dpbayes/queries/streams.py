"""Streams of questions through the online system: what it decides needs no data and no noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.decision import Policy, decide, empty_state
from dpbayes.queries.grid import as_float, on_grid


@dataclass(frozen=True)
class Stream:
    """What a server did with each question: `outcomes` (k,) words, overall cost `spent` (k,)."""

    outcomes: tuple[str, ...]
    spent: NDArray[np.float64]

    @property
    def answered(self) -> NDArray[np.float64]:
        """The share of questions answered so far, after each question."""
        got = np.array([outcome != "rejected" for outcome in self.outcomes])
        return np.asarray(np.cumsum(got) / np.arange(1, got.size + 1))

    @property
    def first_rejection(self) -> int:
        """The number, from 1, of the first question that was refused; one past the end if none."""
        refused = [i for i, outcome in enumerate(self.outcomes, 1) if outcome == "rejected"]
        return refused[0] if refused else len(self.outcomes) + 1

    def count(self, outcome: str) -> int:
        """Return how many questions had this outcome."""
        return self.outcomes.count(outcome)


def stream(
    questions: ArrayLike, lengths: ArrayLike, delta: float, bound: float, policy: Policy
) -> Stream:
    """Return what the online system does with a stream of questions.

    The decisions depend on queries, lengths and budgets only, so none of it needs data or noise;
    and they depend on lengths and bound only through their product.

    Parameters: `questions` (k, cells); `lengths` one or (k,); `delta` in (0, 1); `bound` > 0.

    >>> stream([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 40.0, 0.05, 0.2, Policy()).outcomes
    ('fresh', 'derived', 'fresh')
    """
    rows = _arrays.history("questions", questions)
    count, cells = rows.shape
    wanted = np.broadcast_to(_arrays.real_array("lengths", lengths), count)
    open_unit("delta", delta)
    limit = positive("bound", bound)
    state = empty_state(cells, policy.neighbours)
    outcomes, spent = [], []
    for row, length in zip(rows, wanted, strict=True):
        query = on_grid(row, cells)
        decision = decide(state, query, positive("lengths", float(length)), delta, limit, policy)
        if decision.outcome == "fresh":
            scale = as_float(decision.scale_units)
            state = state.after(query, scale, 0.0, policy.neighbours)
        outcomes.append(decision.outcome)
        spent.append(state.spent(policy.accounting))
    return Stream(tuple(outcomes), frozen(np.array(spent)))


def answered_shares(
    questions: ArrayLike, bounds: Sequence[float], length: float, delta: float, policy: Policy
) -> NDArray[np.float64]:
    """Return the share of a stream that is answered under each bound."""
    shares = [stream(questions, length, delta, bound, policy).answered[-1] for bound in bounds]
    return np.array(shares)
