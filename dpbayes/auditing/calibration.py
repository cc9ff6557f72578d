"""Exact calibration: the least noise whose audited privacy loss does not exceed the
target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats
from dpbayes._values import ByValue
from dpbayes.auditing.exact import audit, hockey_stick, loss, pairs
from dpbayes.auditing.rows import (
    Rows,
    checked,
    exponential_rows,
    mechanism_rows,
    score_rows,
)
from dpbayes.auditing.sizes import check_size
from dpbayes.mechanisms.capabilities import Rated, own
from dpbayes.mechanisms.protocol import Mechanism, quantified

Excess = Callable[[float], float]
RowsAt = Callable[[float], Rows]

_DOUBLINGS = 60
_TOLERANCE = 1e-10
_LEAST = 1e-100  # of epsilon, far from where floats end
_STEEP = 1e3  # an excess of more, or inf, is taken for this
_PAIRS = 20  # complete audits before plain bisection
_ROUNDINGS = 20  # a factor falls by up to 2^-32 for them


@dataclass(frozen=True, eq=False, repr=False)
class Calibrated(ByValue):
    """What `calibrate` found: a mechanism, and where its `epsilon` and `delta` hold.

    They hold for `n` records and this `prior` (k,), by the audit in floating point
    whose value is `audited`: the actual epsilon, or the actual delta at `epsilon` where
    a positive delta was asked for. What `mechanism.guarantee` promises is proved for
    every n and prior, and another number.

    >>> from dpbayes.mechanisms import mechanism
    >>> found: Calibrated = calibrate(mechanism("geometric", 1.0), 9, [1, 1], 0.5)
    >>> found.mechanism.name, found.n, found.epsilon, found.audited <= 0.5
    ('geometric', 9, 0.5, True)
    """

    mechanism: Any
    n: int
    prior: Floats
    epsilon: float
    delta: float
    audited: float

    @property
    def sentence(self) -> str:
        """What was found, as a quantified sentence that names its neighbours.

        >>> from dpbayes.mechanisms import mechanism
        >>> found = calibrate(mechanism("geometric", 1.0), 9, [1, 1], 0.5)
        >>> found.sentence[:66]
        "For all count vectors x, x' of 9 records that differ by replacing "
        """
        differ = f"count vectors x, x' of {self.n} records that differ by replacing one"
        bounds = Fraction(self.epsilon), Fraction(self.delta)
        return (
            f"{quantified(f'{differ} record', *bounds)}, with the prior"
            f" {self.prior.tolist()} and for no other n or prior. Why: an exact audit,"
            " in floating point."
        )


def calibrate(
    mechanism: Mechanism, n: int, prior: ArrayLike, epsilon: float, delta: float = 0.0
) -> Calibrated:
    """Return the mechanism with the least noise that is (epsilon, delta)-DP on n
    records, audited.

    `.mechanism` is the same with another nominal `epsilon`. Its audited value
    is at most the target; for delta = 0 it is within a relative 1e-9 of it wherever the
    audited value is continuous. gamma is an option of the mechanism and never adapts to
    the data. For expMech-delta and expMech-repaired, where gamma follows from the
    nominal epsilon, that one is kept and `divisor` is searched instead. Book:
    `def-calibrated`.

    For all count vectors x, x' of n records that differ by replacing one record, and
    every set S of outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] + delta for this n
    and prior, and for no other. A `release` with the mechanism does not promise that:
    its promise is what is proved in exact numbers for every n and prior, here of the
    larger nominal epsilon, while an audit is a computation in floating point for one n
    and prior. So `guarantee` states more than the target, and a mechanism of which
    nothing is proved, such as expMech-local, is refused after calibration, too. Sizes
    are those of `audit`. Raises ValueError when no nominal value near the target does.

    >>> from dpbayes.mechanisms import mechanism
    >>> found = calibrate(mechanism("expMech-smooth", 1.0), 100, [1, 1], 1.0)
    >>> round(found.mechanism.epsilon, 4), found.epsilon, found.audited
    (2.7411, 1.0, 1 ± 5e-14 (listed))
    """
    size, alpha = checked(mechanism, n, prior)
    check_size(size, alpha.size)
    target = _validate.positive("epsilon", epsilon)
    failure = _validate.non_negative("delta", delta)
    if not _LEAST <= target <= 1.0 / _LEAST:
        raise ValueError(
            f"epsilon must lie in [{_LEAST}, {1 / _LEAST}] here, got {epsilon!r}"
        )
    if failure >= 1.0:
        raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
    if not hasattr(mechanism, "__dataclass_fields__"):
        raise TypeError(
            f"mechanism must be a dataclass with an epsilon, got {mechanism!r}"
        )

    given: Any = mechanism
    scored = own(mechanism, Rated)
    if scored is not None:
        # All exponents scale together, so the distances are computed once.
        scores = score_rows(scored.metric, size, alpha).kept()
        rates = scored.rates(size, alpha)
        made, start = scored.scaled, target / given.epsilon

        def rows(c: float) -> Rows:
            return exponential_rows(scores, c * rates)

    else:
        made, start = partial(_renamed, given), target

        def rows(c: float) -> Rows:
            return mechanism_rows(made(c), size, alpha)

    worst = partial(_worst, rows, partial(_excess, target, failure))
    asked = size, alpha, target, failure
    return Calibrated(*_confirmed(made, _by_pairs(worst, start), *asked))


def _renamed(mechanism: Any, nominal: float) -> Any:
    return replace(mechanism, epsilon=nominal)


def _by_pairs(worst: Callable[[float], tuple[float, Excess]], start: float) -> float:
    """Return the largest c found with which no pair exceeds the target.

    `worst(c)` goes through all pairs and returns the largest excess and how that pair's
    excess depends on c. So the pair bounds c, and the next search, there, finds the
    next pair or none.
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


def _worst(
    rows_at: RowsAt, excess: Callable[..., float], c: float
) -> tuple[float, Excess]:
    """Return the largest excess of all pairs at c, and that pair's excess as a function
    of c.
    """
    value, i, j = max((excess(p, q), i, j) for i, j, p, q in pairs(rows_at(c)))

    def of_pair(c: float) -> float:
        rows = rows_at(c)
        return excess(rows.row(i), rows.row(j))

    return value, of_pair


def _excess(
    target: float,
    failure: float,
    log_p: Floats,
    log_q: Floats,
) -> float:
    """Return by how much a pair of laws exceeds the target, positive if it does.

    ln(loss / target) for delta = 0, which is closer to a straight line in ln c than the
    loss is, else the actual delta less the one allowed.
    """
    if failure == 0.0:
        largest = float(np.abs(loss(log_p, log_q)).max())
        return math.log(largest / target) if largest > 0.0 else -math.inf
    both = (hockey_stick(log_p, log_q, target), hockey_stick(log_q, log_p, target))
    return max(both) - failure


def _confirmed(
    made: Callable[[float], Any],
    factor: float,
    n: int,
    prior: Floats,
    target: float,
    failure: float,
) -> tuple[Any, int, Floats, float, float, float]:
    # Once more from the mechanism that is handed out, its laws compared. Where
    # rounding puts it above the target, the factor falls until it is not.
    for step in range(_ROUNDINGS):
        found = made(factor)
        result = audit(found, n, prior)
        value: float = result.epsilon
        allowed = target
        if failure > 0.0:
            value, allowed = result.delta(target), failure
        if value <= allowed:
            return found, n, prior, target, failure, value
        if not value <= allowed * (1.0 + 1e-9):
            break
        factor *= 1.0 - 2.0 ** (step - 52)
    raise ArithmeticError(
        f"the calibrated {found.name} audits at {float(value)!r}, more than the"
        f" {allowed!r} asked for"
    )


def _largest(excess: Excess, start: float) -> float:
    """Return the largest c found with excess(c) <= 0, for an excess that grows with
    c."""
    from scipy.optimize import brentq

    low = _below(excess, start)

    def clipped(power: float) -> float:
        return float(np.clip(excess(low * 2.0**power), -_STEEP, _STEEP))

    c = low * 2.0 ** brentq(clipped, 0.0, 1.0, xtol=_TOLERANCE)
    for step in range(_ROUNDINGS):
        if excess(c) <= 0.0:
            return float(c)
        c *= 1.0 - min(4.0**step * 2.0**-52, _TOLERANCE)
    return low


def _below(excess: Excess, start: float) -> float:
    """Return c with excess(c) <= 0 < excess(2c), by doubling or halving from `start`.

    Raises ValueError where the excess stays on one side of 0.
    """
    c, within = start, excess(start) <= 0.0
    for _ in range(_DOUBLINGS):
        other = 2.0 * c if within else 0.5 * c
        if (excess(other) <= 0.0) != within:
            return min(c, other)
        c = other
    raise ValueError(
        "epsilon cannot be reached: the audited value lies on the same side of the"
        f" target for every nominal epsilon between {start!r} and {c!r}"
    )
