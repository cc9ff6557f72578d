"""What the online system does with a question, decided from H, b and alpha only, never from y.

E, section 5.1 and Figure 4: derive the answer from the history when that is short enough; else buy
the smallest budget; else refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes._validate import (
    choice,
    flag,
    frozen,
    instance,
    non_negative,
    open_unit,
    positive,
    positive_array,
)
from dpbayes.tables import workload
from dpbayes.tables.budgets import CellCosts, allocation, combine, no_cost
from dpbayes.tables.inference import Factor, empty_factor
from dpbayes.tables.noise import LARGEST_SCALE, SMALLEST_SCALE, as_float, on_grid, scale_in_units
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.workload import Array, sensitivity


@dataclass(frozen=True)
class Policy:
    """How answers are accounted for and bought.

    `neighbours` the relation the guarantee is for; `accounting` "cells" (exact overall cost) or
    "sequential" (sum of budgets); `spending` "smallest" (with the history's help) or "direct";
    `inference` whether answers are derived from the history at all.

    >>> Policy().neighbours, Policy(spending="direct").spending
    ('add-remove', 'direct')
    """

    neighbours: str = "add-remove"
    accounting: str = "cells"
    spending: str = "smallest"
    inference: bool = True

    def __post_init__(self) -> None:
        choice("neighbours", self.neighbours, workload.NEIGHBOURS)
        choice("accounting", self.accounting, ("cells", "sequential"))
        choice("spending", self.spending, ("smallest", "direct"))
        flag("inference", self.inference)


@dataclass(frozen=True)
class State:
    """Everything the answers so far have left behind: factorisation, answers / b, scales, spend.

    >>> later = empty_state(2, "add-remove").after(np.ones(2), 4.0, 12.0, "add-remove")
    >>> later.scaled_answers, later.scales, round(later.spent("sequential"), 12)
    (array([3.]), array([4.]), 0.25)
    """

    factor: Factor
    scaled_answers: Array
    scales: Array
    costs: CellCosts
    in_sequence: float

    def after(self, query: Array, scale: float, y: float, neighbours: str) -> State:
        """Return the state once `query` has been answered by y with noise of this scale."""
        return State(
            self.factor.append(query, scale),
            frozen(np.append(self.scaled_answers, y / scale)),
            frozen(np.append(self.scales, scale)),
            self.costs.after(query, scale),
            self._in_sequence_after(query, scale, neighbours),
        )

    def spent_after(self, query: Array, scale: float, policy: Policy) -> float:
        """Return the overall cost once a query was answered with noise of this scale."""
        if policy.accounting == "cells":
            return self.costs.after(query, scale).total
        return self._in_sequence_after(query, scale, policy.neighbours)

    def _in_sequence_after(self, query: Array, scale: float, neighbours: str) -> float:
        """Return the sum of budgets after one more answer, never below the true one."""
        S = float(sensitivity(query[None, :], neighbours)[0])
        return math.nextafter(self.in_sequence + math.nextafter(S / scale, math.inf), math.inf)

    def spent(self, accounting: str) -> float:
        """Return the overall cost under the named accounting."""
        return self.costs.total if accounting == "cells" else self.in_sequence


def empty_state(cells: int, neighbours: str) -> State:
    """Return the state before the first answer.

    >>> later = empty_state(2, "add-remove").after(np.ones(2), 4.0, 12.0, "add-remove")
    >>> later.factor.rank, round(later.spent("cells"), 12)
    (1, 0.25)
    """
    nothing = frozen(np.zeros(0))
    return State(empty_factor(cells), nothing, nothing, no_cost(cells, neighbours), 0.0)


@dataclass(frozen=True)
class Decision:
    """One of "derived", "fresh", "rejected".

    `history_weights` (m,) signed A_i b_i of the history's part of the estimate; `scale_units` the
    scale of the fresh noise on the grid, 0 when there is none; `fresh_share` its weight; `law` of
    the error of the estimate, None when rejected; `cost` S / b of the fresh answer.

    >>> made = decide(empty_state(2, "add-remove"), np.ones(2), 40.0, 0.05, 1.0, Policy())
    >>> made.outcome, round(made.cost, 6), made.fresh_share, round(made.law.half_width(0.05), 6)
    ('fresh', 0.149787, 1.0, 20.0)
    """

    outcome: str
    history_weights: Array
    scale_units: int
    fresh_share: float
    law: NoiseLaw | None
    cost: float


REJECTED = Decision("rejected", frozen(np.zeros(0)), 0, 0.0, None, 0.0)


def decide(
    state: State, query: Array, L: float, delta: float, bound: float, policy: Policy
) -> Decision:
    """Return what to do with a query that is to have an interval of length at most L.

    The answers in `state` are not looked at: the decision, and so a refusal, tells nothing about
    the data.

    >>> empty = empty_state(2, "add-remove")
    >>> decide(empty, np.ones(2), 1.0, 0.05, 1.0, Policy()).outcome
    'rejected'
    """
    limit = non_negative("bound", bound)  # nothing may be left at all
    S, w0 = _known(state, query, policy)
    bought = allocation(w0, S, L, delta, policy.spending)
    if bought.alpha == 0.0 and w0 is not None:
        return Decision("derived", frozen(w0), 0, 0.0, NoiseLaw(w0), 0.0)
    units = scale_in_units(S, bought.alpha)
    scale = as_float(units)
    if state.spent_after(query, scale, policy) > limit:
        return REJECTED
    share = bought.fresh_share
    weights = np.zeros(state.factor.answers) if w0 is None else bought.history_share * w0
    law = NoiseLaw(np.append(weights, share * scale))
    return Decision("fresh", frozen(weights), units, share, law, S / scale)


def _known(state: State, query: Array, policy: Policy) -> tuple[float, Array | None]:
    """Return the sensitivity of a query, and its noise weights over the history, if it has any."""
    cells = instance("state", state, State).factor.Z.shape[1]
    checked = workload.query("query", query, cells)
    S = float(sensitivity(checked[None, :], instance("policy", policy, Policy).neighbours)[0])
    if S == 0.0:
        raise ValueError(
            f"query must be one that some neighbour changes, but under {policy.neighbours} its "
            "sensitivity is 0: its answer is public and needs no private system"
        )
    return S, state.factor.noise_weights(checked) if policy.inference else None


def shortest_affordable(
    state: State, query: Array, delta: float, bound: float, policy: Policy
) -> float | None:
    """Return about the shortest length, to a thousandth, that the bound allows, if any does.

    All that is left goes into one answer, which is joined with the history; where the history alone
    does better, that. It follows from history and bound, so it tells nothing about the data.

    >>> found = shortest_affordable(empty_state(2, "add-remove"), np.ones(2), 0.05, 0.1, Policy())
    >>> round(found, 1)
    59.9
    """
    S, w0 = _known(state, query, policy)
    lengths = [] if w0 is None else [2.0 * NoiseLaw(w0).half_width(delta)]
    if policy.accounting == "cells":
        room = state.costs.room(query, bound)
    else:
        room = max(bound - state.in_sequence, 0.0) / S
    if room >= 1.0 / LARGEST_SCALE:
        scale = max(1.0 / room, SMALLEST_SCALE)
        lengths.append(-2.0 * scale * math.log(delta))
        if w0 is not None and policy.spending == "smallest":
            lengths.append(2.0 * NoiseLaw(combine(w0, scale)[1]).half_width(delta))
    return 1.0005 * min(lengths) if lengths else None


@dataclass(frozen=True)
class Stream:
    """What was done with each question: `outcomes` (k,) words, overall cost `spent` (k,).

    >>> seen = Stream(("fresh", "derived", "rejected"), np.array([0.2, 0.2, 0.2]))
    >>> seen.answered.round(3), seen.first_rejection
    (array([1.   , 1.   , 0.667]), 3)
    """

    outcomes: tuple[str, ...]
    spent: Array

    @property
    def answered(self) -> Array:
        """The share of questions answered so far, after each question."""
        got = np.array([outcome != "rejected" for outcome in self.outcomes])
        return np.asarray(np.cumsum(got) / np.arange(1, got.size + 1))

    @property
    def first_rejection(self) -> int:
        """The number, from 1, of the first question that was refused; one past the end if none."""
        return [*self.outcomes, "rejected"].index("rejected") + 1


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
    rows = workload.history("questions", questions)
    count, cells = rows.shape
    wanted = positive_array("lengths", lengths)
    if wanted.shape not in ((), (count,)):
        raise ValueError(f"lengths must be one number or {count}, got shape {wanted.shape}")
    instance("policy", policy, Policy)
    open_unit("delta", delta)
    limit = positive("bound", bound)
    state, outcomes, spent = empty_state(cells, policy.neighbours), [], []
    for row, length in zip(rows, np.broadcast_to(wanted, count), strict=True):
        query = on_grid(row, cells)
        decision = decide(state, query, float(length), delta, limit, policy)
        if decision.outcome == "fresh":
            state = state.after(query, as_float(decision.scale_units), 0.0, policy.neighbours)
        outcomes.append(decision.outcome)
        spent.append(state.spent(policy.accounting))
    return Stream(tuple(outcomes), frozen(np.array(spent)))
