"""The smallest budget that buys an interval of a wanted length, with and without a history.

What E computes here is lost; both rules are derived from its definition of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri_exp

from dpbayes._validate import frozen, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.noise import NoiseLaw

_SMALLEST_SHARE = 1e-6
_FIRST_STEP = 1.05


@dataclass(frozen=True)
class Allocation:
    """A budget and what it buys.

    `alpha` the budget of the fresh answer, 0 when the history suffices; `scale` the scale of its
    noise (infinite at alpha = 0); `history_share` 1 - kappa, the factor on the history's weights;
    `fresh_share` kappa, the weight of the fresh answer; `noise_weights` the weights of the combined
    error, the fresh answer last.

    >>> bought = allocation([4.0], 1.0, 20.0, 0.05)
    >>> round(bought.alpha, 6), round(bought.fresh_share, 6)
    (0.150645, 0.26638)
    >>> bought.noise_weights.round(4)
    array([2.9345, 1.7683])
    """

    alpha: float
    scale: float
    history_share: float
    fresh_share: float
    noise_weights: NDArray[np.float64]


def budget(S: float, L: float, delta: float) -> float:
    """Return the budget 2 S ln(1/delta) / L at which one answer has an interval of length L.

    One Laplace variable of scale b exceeds b ln(1/delta) in absolute value with probability delta.

    Parameters: `S` > 0 sensitivity; `L` > 0 length; `delta` in (0, 1), one minus the confidence.

    Source: derived; E's text is lost. In the book: `thm-direct-budget`.

    >>> round(budget(1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    length = positive("L", L)
    return 2.0 * positive("S", S) * -math.log(open_unit("delta", delta)) / length


def combine(w0: ArrayLike, scale: float) -> tuple[float, NDArray[np.float64]]:
    """Return kappa and the joined weights ((1 - kappa) w0, kappa scale) of history and answer.

    kappa = v0 / (v0 + 2 scale^2) with v0 = 2 sum w0^2 makes the variance smallest.

    >>> combine([1.0], 1.0)
    (0.5, array([0.5, 0.5]))
    """
    weights = _arrays.vector("w0", w0)
    s = positive("scale", scale)
    v0 = 2.0 * float(weights @ weights)
    kappa = v0 / (v0 + 2.0 * s * s)
    return kappa, frozen(np.append((1.0 - kappa) * np.abs(weights), kappa * s))


def budget_with_history(w0: ArrayLike | None, S: float, L: float, delta: float) -> float:
    """Return the budget that `allocation` finds.

    >>> round(budget_with_history(None, 1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    return allocation(w0, S, L, delta).alpha


def allocation(w0: ArrayLike | None, S: float, L: float, delta: float) -> Allocation:
    """Return the smallest budget whose answer, joined with the history, has length L.

    `w0` are the noise weights of the query's estimate from the history, None when it was not
    estimable: then the fresh answer stands alone. Where the history alone does not suffice, no
    budget below a millionth of the direct one is looked for. The joined interval is checked, not
    assumed: best linear weights make the variance smallest, not the quantile, and for
    delta > 1/e joining can make the interval longer. If it does, the fresh answer is used alone at
    the direct budget.

    Parameters: `w0` (m,) or None; `S`, `L` > 0; `delta` in (0, 1).

    Source: derived; E's text is lost. In the book: `thm-history-budget`.

    >>> allocation([1.0], 1.0, 40.0, 0.05).alpha
    0.0
    """
    alpha = budget(S, L, delta)
    if w0 is None:
        return _alone(S, alpha, 0)
    weights = _arrays.vector("w0", w0)
    target = math.log(0.5 * delta)
    missing = NoiseLaw(weights).log_tail(0.5 * L) - target if np.any(weights) else 0.0
    if missing <= 0.0:
        return Allocation(0.0, math.inf, 1.0, 0.0, frozen(np.append(np.abs(weights), 0.0)))

    @cache
    def excess(share: float) -> float:
        return NoiseLaw(combine(weights, S / (share * alpha))[1]).log_tail(0.5 * L) - target

    if excess(1.0) > 0.0:
        return _alone(S, alpha, weights.size)
    share = _smallest_share(excess, _guess(weights, S / alpha, target, missing))
    scale = S / (share * alpha)
    kappa, joined = combine(weights, scale)
    return Allocation(share * alpha, scale, 1.0 - kappa, kappa, joined)


def _guess(weights: NDArray[np.float64], direct: float, target: float, missing: float) -> float:
    """Return the share at which the joined interval is short enough if both laws are normal."""
    wide = float(ndtri_exp(target) / ndtri_exp(target + missing))
    return direct * math.sqrt((wide * wide - 1.0) / float(weights @ weights)) if wide > 1.0 else 1.0


def _smallest_share(excess: Callable[[float], float], guess: float) -> float:
    """Return where an excess crosses zero, which it does once, from its side of at most zero.

    It need not fall all the way: a small fresh answer moves the variance to second order and the
    tail of a nearly sufficient history upwards first, d/du tail = (1 - t) e^-t at u = 1/r^2 = 0 for
    one history of scale 1, a fresh scale r and t = L/2. No second crossing is known. The crossing
    is looked for near the guess first, in growing steps, and lies between the end found last and
    the one before.
    """
    low = high = min(max(guess, _SMALLEST_SHARE), 1.0)
    step = _FIRST_STEP
    while excess(high) > 0.0:
        low, high, step = high, min(1.0, high * step), step * step
    while excess(low) <= 0.0:
        if low == _SMALLEST_SHARE:
            return low
        low, high, step = max(_SMALLEST_SHARE, low / step), low, step * step
    from scipy.optimize import brentq  # slow to import, and only this rule needs it

    share = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-12))
    nudge = 1e-12
    while share < 1.0 and excess(share) > 0.0:
        share = min(1.0, share * (1.0 + nudge))
        nudge *= 4.0
    return share


def _alone(S: float, alpha: float, answers: int) -> Allocation:
    weights = np.append(np.zeros(answers), S / alpha)
    return Allocation(alpha, S / alpha, 0.0, 1.0, frozen(weights))
