"""What an answer costs, and whether the online system derives it, buys it or refuses it.

E, section 5, Figure 4; its rules for a budget are lost, and these follow from its definition of the
interval. Decisions depend on H, b and alpha, never on y: they tell nothing of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpbayes import _validate as check
from dpbayes.tables.inference import (
    NEIGHBOURS,
    Array,
    Factor,
    changes,
    coefficients,
    empty_factor,
    no_losses,
    shaped,
)
from dpbayes.tables.noise import LARGEST_SCALE, SMALLEST_SCALE, as_float, on_grid, scale_in_units
from dpbayes.tables.noise_law import NoiseLaw

SPENDINGS = ("smallest", "direct")
_SMALLEST_SHARE = 1e-6  # of the direct budget: what is cheaper still is charged as this


def budget(S: float, L: float, delta: float) -> float:
    """Return the budget 2 S ln(1/delta) / L at which one answer has an interval of length L.

    `S` > 0 sensitivity; `delta` in (0, 1), one minus the confidence.

    Source: derived; E's text is lost. In the book: `thm-direct-budget`.

    >>> round(budget(1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    length, missing = check.positive("L", L), -math.log(check.open_unit("delta", delta))
    alpha = 2.0 * check.positive("S", S) * missing / length
    if not 0.0 < alpha < math.inf:
        raise ValueError(f"L must be a length whose budget is a number, got {L!r} for S = {S!r}")
    return alpha


def combine(w0: ArrayLike, scale: float) -> tuple[float, Array]:
    """Return kappa and the joined weights ((1 - kappa) w0, kappa scale) of history and answer.

    kappa = v0 / (v0 + 2 scale^2) with v0 = 2 sum w0^2 makes the variance smallest.

    >>> combine([1.0], 1.0)
    (0.5, array([0.5, 0.5]))
    """
    weights, s = shaped("w0", w0, "m"), check.positive("scale", scale)
    ratio = float(np.linalg.norm(weights / s)) ** 2
    kappa = ratio / (ratio + 1.0) if ratio < math.inf else 1.0
    return kappa, check.frozen(np.append((1.0 - kappa) * np.abs(weights), kappa * s))


@dataclass(frozen=True)
class Allocation:
    """A budget `alpha`, 0 when the history suffices; the weight kappa of the fresh answer; and the
    noise weights of the combined error, the fresh answer last.

    >>> bought = allocation([4.0], 1.0, 20.0, 0.05)
    >>> round(bought.alpha, 6), round(bought.fresh_share, 6), bought.noise_weights.round(4)
    (0.150645, 0.26638, array([2.9345, 1.7683]))
    """

    alpha: float
    fresh_share: float
    noise_weights: Array

    @property
    def history_share(self) -> float:
        """The factor 1 - kappa on the history's weights."""
        return 1.0 - self.fresh_share


def allocation(
    w0: ArrayLike | None, S: float, L: float, delta: float, spending: str = "smallest"
) -> Allocation:
    """Return the budget whose answer, joined with the history, has an interval of length L.

    `w0` (m,) are the noise weights of the query's estimate from the history, None when it is not
    estimable. `spending` "smallest" looks for the smallest budget, not below a millionth of the
    direct one; "direct" takes that unless the history suffices. Where joining makes the interval
    longer, as it can from about delta = 1/e on, the fresh answer stands alone.

    Source: derived; E's text is lost. In the book: `thm-history-budget`.

    >>> bought = allocation([4.0], 1.0, 20.0, 0.05)
    >>> round(bought.alpha, 6), round(bought.fresh_share, 6), bought.noise_weights.round(4)
    (0.150645, 0.26638, array([2.9345, 1.7683]))
    """
    check.choice("spending", spending, SPENDINGS)
    direct = budget(S, L, delta)
    weights = np.zeros(0) if w0 is None else np.abs(shaped("w0", w0, "m"))
    alone = Allocation(direct, 1.0, check.frozen(np.append(np.zeros(weights.size), S / direct)))
    if w0 is None:
        return alone
    target = math.log(0.5 * delta)
    if not np.any(weights) or NoiseLaw(weights).log_tail(0.5 * L) <= target:
        return Allocation(0.0, 0.0, check.frozen(np.append(weights, 0.0)))

    def excess(share: float) -> float:
        return NoiseLaw(combine(weights, S / (share * direct))[1]).log_tail(0.5 * L) - target

    if excess(1.0) > 0.0:
        return alone
    share = 1.0 if spending == "direct" else _smallest(excess, weights, S / direct)
    return Allocation(share * direct, *combine(weights, S / (share * direct)))


def _smallest(excess: Callable[[float], float], weights: Array, scale: float) -> float:
    """Return the smallest share of the direct budget at which an excess is at most 0."""
    if excess(_SMALLEST_SHARE) <= 0.0:
        return _SMALLEST_SHARE
    # The excess is almost linear in x = ln(1 + (share ratio)^2), the log ratio of the variances.
    ratio = float(np.linalg.norm(weights)) / scale

    def share_at(x: float) -> float:
        return min(math.sqrt(math.expm1(x)) / ratio, 1.0)

    low, high = (math.log1p((share * ratio) ** 2) for share in (_SMALLEST_SHARE, 1.0))
    root = brentq(lambda x: excess(share_at(x)), low, high, xtol=1e-300, rtol=1e-14)
    share, nudge = share_at(float(root)), 1e-14
    while excess(share) > 0.0 and share < 1.0:  # never on the wrong side of the promise
        share, nudge = min(1.0, share * (1.0 + nudge)), 2.0 * nudge
    return share


@dataclass(frozen=True)
class Policy:
    """How answers are accounted for and bought.

    `neighbours` "add-remove" or "replace-one"; `accounting` "cells" (exact overall cost) or
    "sequential" (sum of budgets); `spending` "smallest" (with the history's help) or "direct";
    `inference` whether answers are derived from the history at all.
    """

    neighbours: str = "add-remove"
    accounting: str = "cells"
    spending: str = "smallest"
    inference: bool = True

    def __post_init__(self) -> None:
        check.choice("neighbours", self.neighbours, NEIGHBOURS)
        check.choice("accounting", self.accounting, ("cells", "sequential"))
        check.choice("spending", self.spending, SPENDINGS)
        check.flag("inference", self.inference)


@dataclass(frozen=True)
class State:
    """What the answers so far have left: factorisation, answers / b, scales, and what was spent.

    `losses` of each cell or pair of cells and the sum of budgets `in_sequence` are rounded up.

    >>> later = empty_state(2, "add-remove").after(np.ones(2), 4.0, 12.0)
    >>> later.scaled_answers, later.scales, round(later.spent("sequential"), 12)
    (array([3.]), array([4.]), 0.25)
    """

    factor: Factor
    scaled_answers: Array
    scales: Array
    losses: Array
    in_sequence: float

    def after(self, query: Array, scale: float, y: float) -> State:
        """Return the state once `query` has been answered by y with noise of this scale."""
        return State(
            self.factor.append(query, scale),
            check.frozen(np.append(self.scaled_answers, y / scale)),
            check.frozen(np.append(self.scales, scale)),
            *self._spent_after(query, scale),
        )

    def spent(self, accounting: str) -> float:
        """Return the overall cost under the named accounting."""
        return float(self.losses.max()) if accounting == "cells" else self.in_sequence

    def spent_after(self, query: Array, scale: float, accounting: str) -> float:
        losses, in_sequence = self._spent_after(query, scale)
        return float(losses.max()) if accounting == "cells" else in_sequence

    def room(self, query: Array, bound: float, accounting: str) -> float:
        """Return the largest 1 / scale with which a query can still be answered within a bound."""
        change = changes(query, self.losses)
        if accounting == "sequential":
            return max((bound - self.in_sequence) / float(change.max()), 0.0)
        left = (bound - self.losses[change > 0.0]) / change[change > 0.0]
        return max(float(left.min()), 0.0)

    def _spent_after(self, query: Array, scale: float) -> tuple[Array, float]:
        change = changes(query, self.losses)
        costs = np.nextafter(change / scale, np.inf)
        losses = np.where(change > 0.0, np.nextafter(self.losses + costs, np.inf), self.losses)
        return check.frozen(losses), math.nextafter(self.in_sequence + costs.max(), math.inf)


def empty_state(cells: int, neighbours: str) -> State:
    """Return the state before the first answer."""
    losses = check.frozen(no_losses(check.integer("cells", cells, 1), neighbours))
    return State(empty_factor(cells), np.zeros(0), np.zeros(0), losses, 0.0)


@dataclass(frozen=True)
class Decision:
    """One of "derived", "fresh", "rejected".

    `history_weights` (m,) signed A_i b_i of the history's part of the estimate; `scale_units` of
    fresh noise on the grid, or 0; `fresh_share` its weight; `law` of the error, if there is one.

    >>> made = decide(empty_state(2, "add-remove"), np.ones(2), 40.0, 0.05, 1.0, Policy())
    >>> made.outcome, made.fresh_share, round(made.law.half_width(0.05), 6)
    ('fresh', 1.0, 20.0)
    """

    outcome: str
    history_weights: Array
    scale_units: int
    fresh_share: float
    law: NoiseLaw | None


REJECTED = Decision("rejected", check.frozen(np.zeros(0)), 0, 0.0, None)


def decide(
    state: State, query: Array, L: float, delta: float, bound: float, policy: Policy
) -> Decision:
    """Return what to do with a query that is to have an interval of length at most L.

    >>> made = decide(empty_state(2, "add-remove"), np.ones(2), 40.0, 0.05, 1.0, Policy())
    >>> made.outcome, made.fresh_share, round(made.law.half_width(0.05), 6)
    ('fresh', 1.0, 20.0)
    """
    limit = check.non_negative("bound", bound)  # nothing may be left at all
    S, w0 = _known(state, query, policy)
    bought = allocation(w0, S, L, delta, policy.spending)
    if bought.alpha == 0.0 and w0 is not None:
        return Decision("derived", check.frozen(w0), 0, 0.0, NoiseLaw(w0))
    units = scale_in_units(S, bought.alpha)
    scale, share = as_float(units), bought.fresh_share
    if state.spent_after(query, scale, policy.accounting) > limit:
        return REJECTED
    weights = np.zeros(state.scales.size) if w0 is None else bought.history_share * w0
    law = NoiseLaw(np.append(weights, share * scale))
    return Decision("fresh", check.frozen(weights), units, share, law)


def _known(state: State, query: Array, policy: Policy) -> tuple[float, Array | None]:
    """Return the sensitivity of a query, and its noise weights over the history, if it has any."""
    losses = check.instance("state", state, State).losses
    S = float(changes(coefficients("query", query, len(losses)), losses).max())
    if S == 0.0:
        raise ValueError("query must be one that some neighbour changes: its answer is public")
    inference = check.instance("policy", policy, Policy).inference
    return S, state.factor.noise_weights(query) if inference else None


def shortest_affordable(
    state: State, query: Array, delta: float, bound: float, policy: Policy
) -> float | None:
    """Return about the shortest length, to a thousandth, that the bound allows, if any does."""
    _, w0 = _known(state, query, policy)
    lengths = [] if w0 is None else [2.0 * NoiseLaw(w0).half_width(delta)]
    room = state.room(query, bound, policy.accounting)
    if room >= 1.0 / LARGEST_SCALE:
        scale = max(1.0 / room, SMALLEST_SCALE)
        lengths.append(-2.0 * scale * math.log(delta))
        if w0 is not None and policy.spending == "smallest":
            lengths.append(2.0 * NoiseLaw(combine(w0, scale)[1]).half_width(delta))
    return 1.0005 * min(lengths) if lengths else None


@dataclass(frozen=True)
class Stream:
    """What was done with each question: `outcomes` (k,) words, overall cost `spent` (k,).

    >>> Stream(("fresh", "rejected"), np.array([0.2, 0.2])).answered
    array([1. , 0.5])
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
    """Return what the online system does with a stream of questions; it needs no data or noise.

    `questions` (k, cells); `lengths` one or (k,); `bound` > 0: the outcomes depend on both only
    through their product.

    >>> stream([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 40.0, 0.05, 0.2, Policy()).outcomes
    ('fresh', 'derived', 'fresh')
    """
    rows = shaped("questions", questions, "k", "cells")
    wanted = check.positive_array("lengths", lengths)
    if wanted.ndim:
        shaped("lengths", wanted, len(rows))
    check.instance("policy", policy, Policy)
    limit, outcomes, spent = check.positive("bound", bound), [], []
    state = empty_state(rows.shape[1], policy.neighbours)
    for row, length in zip(rows, np.broadcast_to(wanted, len(rows)), strict=True):
        query = on_grid(row, row.size)
        made = decide(state, query, float(length), delta, limit, policy)
        if made.outcome == "fresh":
            state = state.after(query, as_float(made.scale_units), 0.0)
        outcomes.append(made.outcome)
        spent.append(state.spent(policy.accounting))
    return Stream(tuple(outcomes), check.frozen(np.array(spent)))
