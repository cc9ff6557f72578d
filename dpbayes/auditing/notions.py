"""The same exact loss in other currencies: zero-concentrated and Gaussian differential privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtri_exp

from dpbayes import _validate
from dpbayes.auditing.exact import PairAudit, audit_pair, loss
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions, neighbours

_ORDERS = np.geomspace(1e-4, 1e4, 60)
_EXPANDED = 30.0  # up to this exponent sums are taken beside one, beyond it in logarithms


def concentrated_rho(log_p: ArrayLike, log_q: ArrayLike) -> float:
    """Return the least rho with D_a(P | Q) <= rho a for all orders a > 1; inf if P leaves Q.

    D_a is the Renyi divergence of order a. The largest ratio is looked for on a grid of orders,
    then refined. Book: `def-zcdp`.

    >>> half = np.log([0.5, 0.5])
    >>> round(concentrated_rho(np.log([0.6, 0.4]), half), 6)
    0.020136
    """
    p, losses = _possible(log_p, log_q)
    if np.isinf(losses).any():
        return float("inf")
    first, highest = np.exp(p), float(losses.max(initial=0.0))
    # sum q - p = 0 written out, so that what is left of small losses keeps its digits.
    small = np.clip(losses, -1.0, 1.0)
    spare = np.where(losses == small, first * np.expm1(-small), np.exp(p - losses) - first)
    mean = float((first * losses + spare).sum())
    if highest == 0.0:
        return max(mean, 0.0)

    def ratio(log_order: float) -> float:
        over = float(np.exp(log_order))
        if over * highest < _EXPANDED:
            rise = float(np.log1p((first * np.expm1(over * losses) + over * spare).sum()))
        else:
            rise = float(logsumexp(p + over * losses))
        return rise / (over * (1.0 + over))

    # A rare outcome counts from the order on at which it outweighs the others.
    last = 10.0 * (1.0 - float(p.min())) / highest
    further = np.geomspace(_ORDERS[-1], max(last, _ORDERS[-1]), 40)[1:]
    orders = np.concatenate((_ORDERS, further))
    values = [ratio(float(x)) for x in np.log(orders)]
    at = int(np.argmax(values))
    around = np.log(orders[[max(at - 1, 0), min(at + 1, orders.size - 1)]])
    refined = minimize_scalar(lambda x: -ratio(x), bounds=tuple(around), method="bounded")
    return float(max(mean, max(values), -refined.fun))


def gaussian_mu(log_p: ArrayLike, log_q: ArrayLike) -> float:
    """Return the least mu such that P and Q are no easier to tell apart than N(0,1) and N(mu,1).

    The trade-off between the two errors of a test is a broken line whose corners (a, b) are the
    likelihood-ratio tests; a convex curve lies below it everywhere when it does at the corners. So
    mu = max over corners of F^-1(1 - a) - F^-1(b), F the normal distribution function; inf when a
    corner has exactly one error 0. Book: `def-gdp`.

    >>> from scipy.special import ndtr
    >>> flip = 1.0 / (1.0 + np.exp(1.0))
    >>> mu = gaussian_mu(np.log([flip, 1 - flip]), np.log([1 - flip, flip]))
    >>> bool(abs(ndtr(-mu / 2) - flip) < 1e-12)
    True
    """
    p, losses = _possible(log_p, log_q)
    if np.isinf(losses).any():
        return float("inf")
    order = np.argsort(-losses, kind="stable")
    first, second = p[order], (p - losses)[order]
    # Rejecting Q on the outcomes of largest loss: a = Q(rejected), b = P(kept), from both ends.
    separation = _upper_quantile(second) - _upper_quantile(first)
    return float(max(separation.max(initial=0.0), 0.0))


def _upper_quantile(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    # F^-1(1 - a) for the sums a of the first masses, none or all of them excepted, from whichever
    # end is the smaller. In logarithms: a mass far below 1e-308 tells two laws apart, too.
    below, beyond = np.logaddexp.accumulate(logs), np.logaddexp.accumulate(logs[::-1])[::-1]
    half = below[:-1] <= -np.log(2.0)
    return np.where(half, -1.0, 1.0) * ndtri_exp(np.where(half, below[:-1], beyond[1:]))


def _possible(
    log_p: ArrayLike, log_q: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1:
        raise ValueError(f"log_p and log_q must have one shape (m,), got {p.shape} and {q.shape}")
    either = np.isfinite(p) | np.isfinite(q)
    losses = loss(p[either], q[either])
    if np.isneginf(losses).any():
        return p[either], np.where(np.isneginf(losses), np.inf, losses)
    return p[either], losses


def in_other_notions(mechanism: Mechanism, n: int, prior: ArrayLike) -> tuple[float, float]:
    """Return (rho, mu): the least of each that holds for every pair of neighbours of n records.

    Every ordered pair of neighbouring histograms is enumerated, so this is for small n.

    >>> from dpbayes.mechanisms import mechanism
    >>> rho, mu = in_other_notions(mechanism("geometric", 1.0), 6, [1, 1])
    >>> round(rho, 4), round(mu, 4)
    (0.4621, 1.232)
    """
    alpha = _validate.prior("prior", prior)
    worst_rho, worst_mu = 0.0, 0.0
    for x in compositions(_validate.integer("n", n, minimum=1), alpha.size):
        for other in neighbours(x):
            pair: PairAudit = audit_pair(mechanism, x, other, alpha)
            worst_rho = max(worst_rho, concentrated_rho(pair.log_p, pair.log_q))
            worst_mu = max(worst_mu, gaussian_mu(pair.log_p, pair.log_q))
    return worst_rho, worst_mu
