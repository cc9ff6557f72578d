"""What an answer costs, and whether the online system derives it, buys it or refuses
it.

E, section 5, Figure 4; its rules for a budget are lost and derived here. Decisions
depend on H, b and alpha, never on y: they tell nothing of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate as check
from dpbayes._roots import root
from dpbayes.tables.inference import (
    Array,
    Factor,
    coefficients,
    empty_factor,
    shaped,
)
from dpbayes.tables.losses import (
    Groups,
    Split,
    all_together,
    changes_of_groups,
    largest_change,
    lost_after,
    of_new_groups,
)
from dpbayes.tables.noise import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    as_float,
    scale_in_units,
)
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.units import RELATIONS

SPENDINGS = ("smallest", "direct")
_SMALLEST_SHARE = 1e-6  # of the direct budget: what is cheaper still is charged as this


def budget(S: float, L: float, delta: float) -> float:
    """Return the budget 2 S ln(1/delta) / L of one answer at length L
    (`thm-direct-budget`).

    >>> round(budget(1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    length, missing = check.positive("L", L), -math.log(check.open_unit("delta", delta))
    alpha = 2.0 * check.positive("S", S) * missing / length
    if not 0.0 < alpha < math.inf:
        raise ValueError(
            f"L must be a length whose budget is a number, got {L!r} for S = {S!r}"
        )
    return alpha


def combine(w0: ArrayLike, scale: float) -> tuple[float, Array]:
    """Return kappa and the joined weights ((1 - kappa) w0, kappa scale) of history and
    answer.

    kappa = v0 / (v0 + 2 scale^2) with v0 = 2 sum w0^2 makes the variance smallest.

    >>> combine([1.0], 1.0)
    (0.5, array([0.5, 0.5]))
    """
    weights, s = shaped("w0", w0, "m"), check.positive("scale", scale)
    ratio = float(np.linalg.norm(weights / s)) ** 2
    kappa = ratio / (ratio + 1.0) if ratio < math.inf else 1.0
    return kappa, check.frozen(np.append((1.0 - kappa) * np.abs(weights), kappa * s))


class Allocation(NamedTuple):
    """A budget, 0 when the history suffices; the fresh answer's weight; the error's
    weights.
    """

    alpha: float
    fresh_share: float
    noise_weights: Array


def allocation(
    w0: ArrayLike | None, S: float, L: float, delta: float, spending: str = "smallest"
) -> Allocation:
    """Return the budget whose answer, joined with the history, has an interval of
    length L.

    `w0` (m,) are the query's noise weights over the history, None when it is not
    estimable. `spending` "smallest" is the smallest budget, not below a millionth of
    the direct one; "direct" takes that unless the history suffices. Where joining makes
    the interval longer, as it can from about delta = 1/e on, the fresh answer stands
    alone. Derived; `thm-history-budget`.

    >>> bought = allocation([4.0], 1.0, 20.0, 0.05)  # an Allocation
    >>> round(bought.alpha, 6), round(bought.fresh_share, 6)
    (0.150645, 0.26638)
    """
    check.choice("spending", spending, SPENDINGS)
    direct = budget(S, L, delta)
    weights = np.zeros(0) if w0 is None else np.abs(shaped("w0", w0, "m"))
    alone = Allocation(
        direct, 1.0, check.frozen(np.append(np.zeros(weights.size), S / direct))
    )
    if w0 is None:
        return alone
    target = math.log(0.5 * delta)
    if not np.any(weights) or NoiseLaw(weights).log_tail(0.5 * L) <= target:
        return Allocation(0.0, 0.0, check.frozen(np.append(weights, 0.0)))

    def excess(share: float) -> float:
        return (
            NoiseLaw(combine(weights, S / (share * direct))[1]).log_tail(0.5 * L)
            - target
        )

    if excess(1.0) > 0.0:
        return alone
    share = 1.0 if spending == "direct" else _smallest(excess, weights, S / direct)
    return Allocation(share * direct, *combine(weights, S / (share * direct)))


def _smallest(excess: Callable[[float], float], weights: Array, scale: float) -> float:
    """Return the smallest share of the direct budget at which an excess is at most
    0."""
    if excess(_SMALLEST_SHARE) <= 0.0:
        return _SMALLEST_SHARE
    # The excess is almost linear in x = ln(1 + (share ratio)^2), the log ratio of the
    # variances.
    ratio = float(np.linalg.norm(weights)) / scale

    def share_at(x: float) -> float:
        return min(math.sqrt(math.expm1(x)) / ratio, 1.0)

    low, high = (math.log1p((share * ratio) ** 2) for share in (_SMALLEST_SHARE, 1.0))
    # Where noise and history are of very different sizes, rounding leaves no change of
    # sign between the ends: the direct budget, whose excess is at most 0, is kept.
    if excess(share_at(low)) <= 0.0 or excess(share_at(high)) > 0.0:
        return 1.0
    near = root(lambda x: excess(share_at(x)), low, high, xtol=1e-300, rtol=1e-14)
    share, nudge = share_at(near), 1e-14
    while excess(share) > 0.0 and share < 1.0:  # never on the wrong side of the promise
        share, nudge = min(1.0, share * (1.0 + nudge)), 2.0 * nudge
    return share


@dataclass(frozen=True)
class Policy:
    """How answers are paid: by the overall cost ("cells") or the sum of budgets
    ("sequential"); with the history's help ("smallest") or without ("direct"); are any
    derived from it at all.

    `dropped` says that a record can be left out of all counts by a value that was not
    declared, or by a missing one.
    """

    neighbours: str = "add-or-remove"
    accounting: str = "cells"
    spending: str = "smallest"
    inference: bool = True
    dropped: bool = False

    def __post_init__(self) -> None:
        check.choice("neighbours", self.neighbours, RELATIONS)
        check.choice("accounting", self.accounting, ("cells", "sequential"))
        check.choice("spending", self.spending, SPENDINGS)
        check.flag("inference", self.inference)
        check.flag("dropped", self.dropped)

    @property
    def replaced(self) -> bool:
        """Whether neighbouring tables differ by one record replaced."""
        return self.neighbours == RELATIONS[0]


@dataclass(frozen=True)
class State:
    """What the answers so far have left: the best estimates' factor over groups of
    cells, and `lost`, what records of each group, pair of groups or all together have
    lost, rounded up.

    >>> later = empty_state(2, Policy()).after(np.ones(2), 4.0, 12.0)
    >>> later.scaled_answers, later.scales, round(later.spent, 12)
    (array([3.]), array([4.]), 0.25)
    """

    policy: Policy
    groups: Groups
    factor: Factor
    scaled_answers: Array
    scales: Array
    lost: Array
    _looked_at: list[tuple[Array, Split]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def spent(self) -> float:
        """The overall cost so far."""
        return float(self.lost.max())

    def after(self, query: Array, scale: float, y: float) -> State:
        """Return the state once `query` has been answered by y with noise of this
        scale.
        """
        made = self._split(query)
        row = made.values * made.lengths
        return replace(
            self,
            groups=made.groups,
            factor=self._spread(made).append(row, scale),
            scaled_answers=check.frozen(np.append(self.scaled_answers, y / scale)),
            scales=check.frozen(np.append(self.scales, scale)),
            lost=check.frozen(self._lost_after(made, scale)),
        )

    def spent_after(self, query: Array, scale: float) -> float:
        """Return the overall cost once `query` is answered with noise of this scale."""
        return float(self._lost_after(self._split(query), scale).max())

    def known(self, query: Array) -> tuple[float, Array | None]:
        """Return a query's sensitivity, and its noise weights over the history, if it
        has any.
        """
        S = largest_change(self._values(query), self.policy.replaced)
        if S == 0.0:
            raise ValueError(
                "query must be one that some neighbour changes: its answer is public"
            )
        if not self.policy.inference:
            return S, None
        made = self._split(query)
        return S, self._spread(made).noise_weights(made.values * made.lengths)

    def room(self, query: Array, bound: float) -> float:
        """Return the largest 1 / scale with which a query can still be answered within
        a bound.
        """
        lost, change = self._changes(self._split(query))
        left = (bound - lost[change > 0.0]) / change[change > 0.0]
        return max(float(left.min()), 0.0)

    def _values(self, query: Array) -> Array:
        """Return the coefficient of each value that a record may take."""
        cells = self.groups.of_cell.size - self.policy.dropped
        asked = coefficients("query", query, cells)
        return np.append(asked, 0.0) if self.policy.dropped else asked

    def _split(self, query: Array) -> Split:
        """Return the groups that a query leaves, worked out once for one that stays."""
        for seen, made in self._looked_at:
            if seen is query:
                return made
        made = self.groups.split(self._values(query))
        stays = isinstance(query, np.ndarray) and not query.flags.writeable
        self._looked_at[:] = [(query, made)] if stays else []
        return made

    def _spread(self, made: Split) -> Factor:
        """Return the factor over new groups: in theirs an old one's coordinate is
        shared out by length.
        """
        if made.old.size == self.groups.sizes.size:  # none is new, nor in another place
            return self.factor
        before = np.sqrt(self.groups.sizes)[made.old]
        return replace(
            self.factor, Z=self.factor.Z[:, made.old] * made.lengths / before
        )

    def _changes(self, made: Split) -> tuple[Array, Array]:
        """Return what records have lost so far, and what each changes of the query."""
        replaced = self.policy.replaced
        if self.policy.accounting == "sequential":
            return self.lost, np.array([largest_change(made.values, replaced)])
        change = changes_of_groups(made.values, replaced)
        return of_new_groups(self.lost, made.old, replaced), change

    def _lost_after(self, made: Split, scale: float) -> Array:
        return lost_after(*self._changes(made), scale)


def empty_state(cells: int, policy: Policy) -> State:
    """Return the state before the first answer."""
    chosen = check.instance("policy", policy, Policy)
    groups = all_together(check.integer("cells", cells, 1) + chosen.dropped)
    pairs = chosen.replaced and chosen.accounting == "cells"
    lost, none = np.zeros((1, 1) if pairs else 1), np.zeros(0)
    return State(chosen, groups, empty_factor(1), none, none, check.frozen(lost))


class Decision(NamedTuple):
    """What is done: signed A_i b_i of the history's part of the estimate; the scale of
    fresh noise in grid units, and its weight; the law of the error, None where it is
    "rejected"."""

    outcome: str
    history_weights: Array
    scale_units: int
    fresh_share: float
    law: NoiseLaw | None


def decide(
    state: State, query: Array, L: float, delta: float, bound: float
) -> Decision:
    """Return the Decision on a query that is to have an interval of length at most L.

    >>> begun = empty_state(2, Policy())
    >>> made = decide(begun, np.ones(2), 40.0, 0.05, bound=1.0)  # a Decision
    >>> made.outcome, made.fresh_share, round(made.law.half_width(0.05), 6)
    ('fresh', 1.0, 20.0)
    """
    limit = check.non_negative("bound", bound)  # nothing may be left at all
    S, w0 = check.instance("state", state, State).known(query)
    bought = allocation(w0, S, L, delta, state.policy.spending)
    if bought.alpha == 0.0 and w0 is not None:
        return Decision("derived", check.frozen(w0), 0, 0.0, NoiseLaw(w0))
    units = scale_in_units(S, bought.alpha)
    scale, share = as_float(units), bought.fresh_share
    if state.spent_after(query, scale) > limit:
        return Decision("rejected", check.frozen(np.zeros(0)), 0, 0.0, None)
    weights = np.zeros(state.scales.size) if w0 is None else (1.0 - share) * w0
    law = NoiseLaw(np.append(weights, share * scale))
    return Decision("fresh", check.frozen(weights), units, share, law)


def shortest_affordable(
    state: State, query: Array, delta: float, bound: float
) -> float | None:
    """Return about the shortest length, to a thousandth, that the bound allows, if any
    does.
    """
    _, w0 = state.known(query)
    lengths = [] if w0 is None else [2.0 * NoiseLaw(w0).half_width(delta)]
    room = state.room(query, bound)
    if room >= 1.0 / LARGEST_SCALE:
        scale = max(1.0 / room, SMALLEST_SCALE)
        lengths.append(-2.0 * scale * math.log(delta))
        if w0 is not None and state.policy.spending == "smallest":
            lengths.append(2.0 * NoiseLaw(combine(w0, scale)[1]).half_width(delta))
    return 1.0005 * min(lengths) if lengths else None
