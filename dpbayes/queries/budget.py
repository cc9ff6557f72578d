"""The smallest budget that buys an interval of a wanted length, with and without a history.

What E computes here is lost; both rules are derived from its definition of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri_exp

from dpbayes._validate import frozen, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.noise import NoiseLaw

_SMALLEST_SHARE = 1e-6
_FIRST_STEP = 1.05
_CLOSE = 1e-12  # in the share, and
_ROUNDING = 2e-15  # in the logarithm of the tail, nothing closer to the root is looked for
_PATIENT = 12
_MOST_TRIES = 200


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
    assumed: best linear weights make the variance smallest, not the quantile, and from about
    delta = 1/e on joining can make the interval longer. If it does, the fresh answer is used alone
    at the direct budget.

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

    def excess(share: float) -> float:
        return NoiseLaw(combine(weights, S / (share * alpha))[1]).log_tail(0.5 * L) - target

    # Where delta is small the direct budget suffices beside a history. Beyond 1/e it is asked
    # first; a little below a weak history can spoil it as well, and the search finds that out.
    if delta > 1.0 / math.e and excess(1.0) > 0.0:
        return _alone(S, alpha, weights.size)
    ratio = math.sqrt(float(weights @ weights)) * alpha / S
    guess = _guess(weights, S / alpha, target, missing)
    share = _smallest_share(excess, missing, ratio, guess)
    if share is None:
        return _alone(S, alpha, weights.size)
    scale = S / (share * alpha)
    kappa, joined = combine(weights, scale)
    return Allocation(share * alpha, scale, 1.0 - kappa, kappa, joined)


def _guess(weights: NDArray[np.float64], direct: float, target: float, missing: float) -> float:
    """Return the share at which the joined interval is short enough if both laws are normal."""
    wide = float(ndtri_exp(target) / ndtri_exp(target + missing))
    return direct * math.sqrt((wide * wide - 1.0) / float(weights @ weights)) if wide > 1.0 else 1.0


def _smallest_share(
    excess: Callable[[float], float], missing: float, ratio: float, guess: float
) -> float | None:
    """Return where an excess crosses zero, from its side of at most zero; None if that is above 1.

    It crosses zero once, as far as is known, but need not fall all the way: a small fresh answer
    moves the variance to second order and the tail of a nearly sufficient history upwards first,
    d/du tail = (1 - t) e^-t at u = 1/r^2 = 0 for one history of scale 1, a fresh scale r, t = L/2.
    The excess is almost linear in x = ln(1 + (share ratio)^2), the logarithm of how much smaller
    the joined variance is than the history's, and `missing` at x = 0. So secants in x find the
    root; where one leaves the bracket, or they take too long, halves of the bracket do.
    """
    low, high = 0.0, math.inf
    share = min(max(guess, _SMALLEST_SHARE), 1.0)
    last_x, last, nudge, step = 0.0, missing, _CLOSE, _FIRST_STEP
    for count in range(_MOST_TRIES):
        value, x = excess(share), math.log1p((share * ratio) * (share * ratio))
        root = _secant(x, value, last_x, last, ratio)
        if value > 0.0:
            if share == 1.0:
                return None
            low = share
            nudge = 4.0 * nudge if root <= share * (1.0 + 10.0 * nudge) else _CLOSE
        else:
            high, nudge = share, _CLOSE
            near = root >= share * (1.0 - 10.0 * _CLOSE) or -value <= _ROUNDING
            if near or share == _SMALLEST_SHARE or high <= low * (1.0 + _CLOSE):
                return share
        last_x, last = x, value
        wanted = min(max(root * (1.0 + nudge), _SMALLEST_SHARE), 1.0)
        if low < wanted < high and (count < _PATIENT or count % 2):
            share = wanted
        elif high < math.inf:
            share = (
                math.sqrt(max(low, _SMALLEST_SHARE) * high)
                if low < high / 4.0
                else (0.5 * (low + high))
            )
        else:
            share, step = min(1.0, share * step), step * step
    return high if high < math.inf else 1.0


def _secant(x: float, value: float, last_x: float, last: float, ratio: float) -> float:
    """Return the share where the line through two points is 0; NaN where there is none."""
    if value == last or not math.isfinite(x):
        return math.nan
    root = x - value * (x - last_x) / (value - last)
    return math.sqrt(math.expm1(root)) / ratio if 0.0 < root < 700.0 else math.nan


def _alone(S: float, alpha: float, answers: int) -> Allocation:
    weights = np.append(np.zeros(answers), S / alpha)
    return Allocation(alpha, S / alpha, 0.0, 1.0, frozen(weights))
