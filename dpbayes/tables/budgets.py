"""The smallest budget that buys an interval of a wanted length, with and without a history.

What E computes here is lost; both rules are derived from its definition of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpbayes._validate import frozen, open_unit, positive
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.workload import Array, vector

_SMALLEST_SHARE = 1e-6  # of the direct budget: what is cheaper still is charged as this


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
    noise_weights: Array


def budget(S: float, L: float, delta: float) -> float:
    """Return the budget 2 S ln(1/delta) / L at which one answer has an interval of length L.

    One Laplace variable of scale b exceeds b ln(1/delta) in absolute value with probability delta.

    Parameters: `S` > 0 sensitivity; `L` > 0 length; `delta` in (0, 1), one minus the confidence.

    Source: derived; E's text is lost. In the book: `thm-direct-budget`.

    >>> round(budget(1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    length, missing = positive("L", L), -math.log(open_unit("delta", delta))
    alpha = 2.0 * positive("S", S) * missing / length
    if not 0.0 < alpha < math.inf:
        raise ValueError(f"L must be a length whose budget is a number, got {L!r} for S = {S!r}")
    return alpha


def combine(w0: ArrayLike, scale: float) -> tuple[float, Array]:
    """Return kappa and the joined weights ((1 - kappa) w0, kappa scale) of history and answer.

    kappa = v0 / (v0 + 2 scale^2) with v0 = 2 sum w0^2 makes the variance smallest.

    >>> combine([1.0], 1.0)
    (0.5, array([0.5, 0.5]))
    """
    weights, s = vector("w0", w0), positive("scale", scale)
    ratio = float(np.linalg.norm(weights / s)) ** 2
    kappa = ratio / (ratio + 1.0) if ratio < math.inf else 1.0
    return kappa, frozen(np.append((1.0 - kappa) * np.abs(weights), kappa * s))


def allocation(
    w0: ArrayLike | None, S: float, L: float, delta: float, spending: str = "smallest"
) -> Allocation:
    """Return the budget whose answer, joined with the history, has an interval of length L.

    `w0` are the noise weights of the query's estimate from the history, None when it was not
    estimable: then the fresh answer stands alone. `spending` "smallest" looks for the smallest
    budget, not below a millionth of the direct one; "direct" takes the direct budget unless the
    history alone suffices. The joined interval is checked, not assumed: best linear weights make
    the variance smallest, not the quantile, and from about delta = 1/e on joining can make the
    interval longer. If it does, the fresh answer is used alone at the direct budget.

    Parameters: `w0` (m,) or None; `S`, `L` > 0; `delta` in (0, 1).

    Source: derived; E's text is lost. In the book: `thm-history-budget`.

    >>> allocation([1.0], 1.0, 40.0, 0.05).alpha
    0.0
    """
    direct = budget(S, L, delta)
    weights = np.zeros(0) if w0 is None else np.abs(vector("w0", w0))
    alone = Allocation(
        direct, S / direct, 0.0, 1.0, frozen(np.append(np.zeros(weights.size), S / direct))
    )
    if w0 is None:
        return alone
    target = math.log(0.5 * delta)
    missing = NoiseLaw(weights).log_tail(0.5 * L) - target if np.any(weights) else 0.0
    if missing <= 0.0:
        return Allocation(0.0, math.inf, 1.0, 0.0, frozen(np.append(weights, 0.0)))

    def excess(share: float) -> float:
        return NoiseLaw(combine(weights, S / (share * direct))[1]).log_tail(0.5 * L) - target

    if excess(1.0) > 0.0:
        return alone
    share = 1.0 if spending == "direct" else _smallest(excess, weights, S / direct)
    scale = S / (share * direct)
    kappa, joined = combine(weights, scale)
    return Allocation(share * direct, scale, 1.0 - kappa, kappa, joined)


def _smallest(excess: Callable[[float], float], weights: Array, scale: float) -> float:
    """Return the smallest share of the direct budget at which an excess is at most 0.

    The excess is almost linear in x = ln(1 + (share |w0| / scale)^2), the logarithm of how much
    smaller the joined variance is than the history's; there the root is looked for.
    """
    if excess(_SMALLEST_SHARE) <= 0.0:
        return _SMALLEST_SHARE
    ratio = float(np.linalg.norm(weights)) / scale

    def share_at(x: float) -> float:
        return min(math.sqrt(math.expm1(x)) / ratio, 1.0)

    low, high = (math.log1p((share * ratio) ** 2) for share in (_SMALLEST_SHARE, 1.0))
    root = brentq(lambda x: excess(share_at(x)), low, high, xtol=1e-300, rtol=1e-14)
    share = share_at(float(root))
    nudge = 1e-14
    while excess(share) > 0.0 and share < 1.0:  # never on the wrong side of the promise
        share, nudge = min(1.0, share * (1.0 + nudge)), 2.0 * nudge
    return share
