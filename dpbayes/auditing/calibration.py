"""Exact calibration: the least noise whose audited privacy loss does not exceed the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.exact import audit, hockey_stick, loss, pairs
from dpbayes.auditing.rows import (
    Rows,
    check_size,
    checked,
    exponential_rows,
    mechanism_rows,
    score_rows,
)
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

Excess = Callable[[float], float]
RowsAt = Callable[[float], Rows]

_DOUBLINGS = 60
_STEPS = 80
_TOLERANCE = 1e-10
_PAIRS = 20  # complete audits before plain bisection
_ROUNDINGS = 20  # a factor falls by up to 2^-32 for them


def calibrate(
    mechanism: Mechanism, n: int, prior: ArrayLike, epsilon: float, delta: float = 0.0
) -> Any:
    """Return the mechanism with the least noise that is (epsilon, delta)-DP on n records, audited.

    The result is the same mechanism with another nominal `epsilon`, found by bisection with secant
    steps between a nominal value whose audit stays within the target and one whose audit exceeds
    it, within a relative 1e-9 of each other. Its audited value is at most the target; for delta = 0
    it is within a relative 1e-9 of it wherever the audited value is continuous. gamma is an
    option of the mechanism and never adapts to the data. For expMech-delta and
    expMech-repaired, where gamma follows from the nominal epsilon, that one (hence gamma) is kept
    and `divisor` is searched instead. Book: `def-calibrated`.

    For all count vectors x, x' of n records that differ by replacing one record, and every set S of
    outputs, the result satisfies P[M(x) in S] <= e^epsilon P[M(x') in S] + delta for this n and
    prior, and for no other. Sizes are those of `audit`. Raises ValueError beyond them, and when no
    nominal value between 2^-60 and 2^60 times the target does.

    >>> from dpbayes.mechanisms import mechanism
    >>> smooth = calibrate(mechanism("expMech-smooth", 1.0), 100, [1, 1], 1.0)
    >>> round(smooth.epsilon, 4)
    2.7411
    """
    size, alpha = checked(mechanism, n, prior)
    check_size(size, alpha.size)
    target = _validate.positive("epsilon", epsilon)
    failure = _validate.non_negative("delta", delta)
    if failure >= 1.0:
        raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
    if not hasattr(mechanism, "__dataclass_fields__"):
        raise TypeError(f"mechanism must be a dataclass with an epsilon, got {mechanism!r}")

    scaled = own(mechanism, "rates") is not None and own(mechanism, "scaled") is not None
    scored: Any = mechanism
    made: Callable[[float], Any] = scored.scaled if scaled else partial(_renamed, mechanism)
    rows = _rows_of_scores(scored, size, alpha) if scaled else _rows_of(made, size, alpha)
    worst = partial(_worst, rows, partial(_excess, target, failure))
    factor = _by_pairs(worst, target / scored.epsilon if scaled else target)
    return _confirmed(made, factor, size, alpha, target, failure)


def _by_pairs(worst: Callable[[float], tuple[float, Excess]], start: float) -> float:
    """Return the largest c found with which no pair exceeds the target.

    `worst(c)` goes through all pairs and returns the largest excess and how that pair's own excess
    depends on c, which takes two rows. So the pair bounds c, and the next complete search, at that
    bound, finds the next pair or none.
    """
    c, bound = start, np.inf
    for _ in range(_PAIRS):
        excess, of_pair = worst(c)
        if excess <= 0.0 and c == bound:
            return c
        try:
            found = _largest(of_pair, c)
        except ValueError:  # this pair stays on one side of the target
            break
        bound = c = found if found < bound else bound * (1.0 - _TOLERANCE)
    return _largest(lambda one: worst(one)[0], c)


def _worst(rows_at: RowsAt, excess: Callable[..., float], c: float) -> tuple[float, Excess]:
    value, i, j = max((excess(p, q), i, j) for i, j, p, q in pairs(rows_at(c)))

    def of_pair(c: float) -> float:
        rows = rows_at(c)
        return excess(rows.row(i), rows.row(j))

    return value, of_pair


def _excess(
    target: float, failure: float, log_p: NDArray[np.float64], log_q: NDArray[np.float64]
) -> float:
    if failure == 0.0:
        losses = loss(log_p, log_q)
        return float(np.log(max(losses.max(), -losses.min()) / target))
    both = (hockey_stick(log_p, log_q, target), hockey_stick(log_q, log_p, target))
    return max(both) - failure


def _confirmed(
    made: Callable[[float], Any],
    factor: float,
    n: int,
    prior: NDArray[np.float64],
    target: float,
    failure: float,
) -> Any:
    # Once more from the mechanism that is handed out, its laws certified. Where rounding puts it
    # above the target, the factor falls until it is not.
    for step in range(_ROUNDINGS):
        found = made(factor)
        result = audit(found, n, prior)
        value, allowed = result.epsilon, target
        if failure > 0.0:
            value, allowed = result.delta(target), failure
        if value <= allowed:
            return found
        if not value <= allowed * (1.0 + 1e-9):
            break
        factor *= 1.0 - 2.0 ** (step - 52)
    raise ArithmeticError(
        f"the calibrated {found.name} audits at {value!r}, more than the {allowed!r} asked for"
    )


def _renamed(mechanism: Any, nominal: float) -> Any:
    return replace(mechanism, epsilon=nominal)


def _rows_of(made: Callable[[float], Any], n: int, prior: NDArray[np.float64]) -> RowsAt:
    return lambda c: mechanism_rows(made(c), n, prior)


def _rows_of_scores(mechanism: Any, n: int, prior: NDArray[np.float64]) -> RowsAt:
    # All exponents scale together, so the distances are computed once. What is found is certified.
    scores = score_rows(mechanism.metric, n, prior).kept()
    rates = mechanism.rates(n, prior)
    return lambda c: exponential_rows(scores, c * rates)


def _largest(excess: Callable[[float], float], start: float) -> float:
    """Return the largest c found with excess(c) <= 0, for an excess that grows with c."""
    low, high, at_low, at_high = _bracket(excess, start)
    for step in range(_STEPS):
        if high / low - 1.0 <= _TOLERANCE:
            break
        # Secant in ln c, kept off the ends; every third step halves, so it cannot stall.
        share = at_low / (at_low - at_high) if np.isfinite(at_high) and step % 3 < 2 else 0.5
        share = min(max(share, 1e-9 + 0.5 * _TOLERANCE), 1.0 - 1e-9)
        middle = low * (high / low) ** share
        if not low < middle < high:
            break
        value = excess(middle)
        if value <= 0.0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low


def _bracket(excess: Callable[[float], float], start: float) -> tuple[float, float, float, float]:
    c, value = start, excess(start)
    grow = 2.0 if value <= 0.0 else 0.5
    for _ in range(_DOUBLINGS):
        other = c * grow
        at_other = excess(other)
        if (at_other <= 0.0) != (value <= 0.0):
            ends = sorted(((c, value), (other, at_other)))
            return ends[0][0], ends[1][0], ends[0][1], ends[1][1]
        c, value = other, at_other
    raise ValueError(
        "epsilon cannot be reached: the audited value lies on the same side of the target for "
        f"every nominal epsilon between {start!r} and {c!r}"
    )
