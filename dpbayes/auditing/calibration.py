"""Exact calibration: the least noise whose audited privacy loss does not exceed the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.exact import audit, audit_rows, largest_loss
from dpbayes.auditing.rows import (
    Rows,
    check_size,
    checked,
    exponential_rows,
    mechanism_rows,
    score_rows,
)
from dpbayes.auditing.structure import by_classes, fits, loss_between
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

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
    prior, and for no other. Three categories take n about a hundred; an exponential mechanism with
    one prior parameter for all and delta = 0 goes on to 300 by permutation classes. Raises
    ValueError beyond that, and when no nominal value between 2^-60 and 2^60 times the target does.

    >>> from dpbayes.mechanisms import mechanism
    >>> smooth = calibrate(mechanism("expMech-smooth", 1.0), 100, [1, 1], 1.0)
    >>> round(smooth.epsilon, 4)
    2.7411
    """
    size, alpha = checked(mechanism, n, prior)
    classes = _classes_fit(mechanism, size, alpha, delta)
    if not classes:
        check_size(size, alpha.size)
    target = _validate.positive("epsilon", epsilon)
    failure = _validate.non_negative("delta", delta)
    if failure >= 1.0:
        raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
    if not hasattr(mechanism, "__dataclass_fields__"):
        raise TypeError(f"mechanism must be a dataclass with an epsilon, got {mechanism!r}")

    def excess(rows: Rows) -> float:
        if failure == 0.0:
            return float(np.log(largest_loss(rows) / target))
        return audit_rows("", size, alpha, rows).delta(target) - failure

    scored: Any = mechanism
    made: Callable[[float], Any] = partial(_renamed, mechanism)
    if classes:
        made = scored.scaled
        factor = _factor_by_classes(scored, size, alpha, target)
    elif own(mechanism, "rates") and own(mechanism, "scaled"):
        made, factor = scored.scaled, _scored_factor(scored, size, alpha, target, excess)
    else:

        def at(nominal: float) -> float:
            return excess(mechanism_rows(_renamed(mechanism, nominal), size, alpha))

        factor = _largest(at, target)
    return _confirmed(made, factor, size, alpha, target, failure)


def _classes_fit(mechanism: Mechanism, n: int, prior: NDArray[np.float64], delta: float) -> bool:
    if delta != 0.0 or prior.size < 3 or np.any(prior != prior[0]):
        return False
    stated = own(mechanism, "rates") is not None and own(mechanism, "scaled") is not None
    return stated and fits(n, prior.size)


def _factor_by_classes(mechanism: Any, n: int, prior: NDArray[np.float64], target: float) -> float:
    # A pair of data sets bounds the factor: the largest one with which its own loss, which takes
    # two rows, is within the target. A complete audit at that bound finds the next pair, or none.
    factor: float = target / mechanism.epsilon
    bound = np.inf
    for _ in range(_PAIRS):
        witness = by_classes(mechanism.scaled(factor), n, prior)
        if witness.loss <= target and factor == bound:
            return factor
        loss = loss_between(mechanism, prior, witness.counts, witness.neighbour)
        bound = min(_largest(partial(_log_ratio, loss, target), factor), bound)
        if factor == bound:
            bound *= 1.0 - _TOLERANCE
        factor = bound
    return _largest(
        lambda c: float(np.log(by_classes(mechanism.scaled(c), n, prior).loss / target)), factor
    )


def _log_ratio(loss: Callable[[float], float], target: float, c: float) -> float:
    return float(np.log(loss(c) / target))


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


def _scored_factor(
    mechanism: Any,
    n: int,
    prior: NDArray[np.float64],
    target: float,
    excess: Callable[[Rows], float],
) -> float:
    # All exponents scale together, so the distances are computed once.
    mechanism_rows(mechanism, n, prior)  # its certificate
    scores = score_rows(mechanism.metric, n, prior).kept()
    rates = mechanism.rates(n, prior)
    start = target / mechanism.epsilon
    return _largest(lambda c: excess(exponential_rows(scores, c * rates)), start)


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
