"""What the online system does with a question, decided from H, b and alpha only, never from y.

E, section 5.1 and Figure 4: derive the answer from the history when that is short enough; else buy
the smallest budget; else refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import choice, flag, frozen, instance, non_negative
from dpbayes.queries import _arrays
from dpbayes.queries.budget import Allocation, allocation, budget, combine
from dpbayes.queries.cost import CellCosts, no_cost
from dpbayes.queries.factor import Factor, empty_factor
from dpbayes.queries.grid import as_float, scale_in_units
from dpbayes.queries.noise import NoiseLaw
from dpbayes.queries.workload import sensitivity

_DOUBLINGS = 55  # from the smallest scale of noise there is to the largest, and a little more


@dataclass(frozen=True)
class Policy:
    """How a server accounts and spends.

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
        _arrays.neighbour_relation(self.neighbours)
        choice("accounting", self.accounting, ("cells", "sequential"))
        choice("spending", self.spending, ("smallest", "direct"))
        flag("inference", self.inference)


@dataclass(frozen=True)
class State:
    """Everything the answers so far have left behind: factorisation, answers / b, scales, spend."""

    factor: Factor
    scaled_answers: NDArray[np.float64]
    scales: NDArray[np.float64]
    costs: CellCosts
    in_sequence: float

    def after(self, query: NDArray[np.float64], scale: float, y: float, neighbours: str) -> State:
        """Return the state once `query` has been answered by y with noise of this scale."""
        spent = float(sensitivity(query[None, :], neighbours)[0]) / scale
        return State(
            self.factor.append(query, scale),
            frozen(np.append(self.scaled_answers, y / scale)),
            frozen(np.append(self.scales, scale)),
            self.costs.after(query, scale),
            math.nextafter(self.in_sequence + math.nextafter(spent, math.inf), math.inf),
        )

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
    history_weights: NDArray[np.float64]
    scale_units: int
    fresh_share: float
    law: NoiseLaw | None
    cost: float


def decide(
    state: State,
    query: NDArray[np.float64],
    L: float,
    delta: float,
    bound: float,
    policy: Policy,
) -> Decision:
    """Return what to do with a query that is to have an interval of length at most L.

    The answers in `state` are not looked at: the decision, and so a refusal, tells nothing about
    the data.

    >>> empty = empty_state(2, "add-remove")
    >>> decide(empty, np.ones(2), 1.0, 0.05, 1.0, Policy()).outcome
    'rejected'
    """
    instance("state", state, State)
    instance("policy", policy, Policy)
    limit = non_negative("bound", bound)  # nothing may be left at all
    query = _arrays.query("query", query, state.factor.basis.shape[1])
    S = float(sensitivity(query[None, :], policy.neighbours)[0])
    if S == 0.0:
        raise ValueError(
            f"query must be one that some neighbour changes, but under {policy.neighbours} its "
            "sensitivity is 0: its answer is public and needs no private system"
        )
    w0 = state.factor.noise_weights(query) if policy.inference else None
    bought = _bought(w0, S, L, delta, policy)
    if bought.alpha == 0.0 and w0 is not None:
        return Decision("derived", frozen(w0), 0, 0.0, NoiseLaw(w0), 0.0)
    units = scale_in_units(S, bought.alpha)
    scale = as_float(units)
    if spent_after(state, query, scale, S, policy) > limit:
        return Decision("rejected", frozen(np.zeros(0)), 0, 0.0, None, 0.0)
    share = bought.fresh_share
    weights = np.zeros(state.factor.answers) if w0 is None else bought.history_share * w0
    law = NoiseLaw(np.append(weights, share * scale))
    return Decision("fresh", frozen(weights), units, share, law, S / scale)


def _bought(
    w0: NDArray[np.float64] | None, S: float, L: float, delta: float, policy: Policy
) -> Allocation:
    if policy.spending == "smallest":
        return allocation(w0, S, L, delta)
    alone = allocation(None, S, L, delta)
    if w0 is None:
        return alone
    target = math.log(0.5 * delta)
    if NoiseLaw(w0).log_tail(0.5 * L) <= target:
        return replace(alone, alpha=0.0)
    kappa, joined = combine(w0, S / budget(S, L, delta))
    if NoiseLaw(joined).log_tail(0.5 * L) > target:
        return alone
    return replace(alone, history_share=1.0 - kappa, fresh_share=kappa, noise_weights=joined)


def spent_after(
    state: State, query: NDArray[np.float64], scale: float, S: float, policy: Policy
) -> float:
    """Return the overall cost once a query of sensitivity S was answered at this scale."""
    if policy.accounting == "cells":
        return state.costs.after(query, scale).total
    spent = math.nextafter(S / scale, math.inf)
    return math.nextafter(state.in_sequence + spent, math.inf)


def shortest_affordable(
    state: State, query: NDArray[np.float64], L: float, delta: float, bound: float, policy: Policy
) -> float | None:
    """Return about the shortest length above L at which the bound allows an answer, if any does.

    Found by doubling and bisection to three digits; it follows from the history and the bound, so
    it tells nothing about the data.
    """

    def allowed(length: float) -> bool:
        try:
            return decide(state, query, length, delta, bound, policy).outcome != "rejected"
        except ValueError:
            return False

    low, high = L, 2.0 * L
    for _ in range(_DOUBLINGS):
        if allowed(high):
            break
        low, high = high, 2.0 * high
    else:
        return None
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return high
