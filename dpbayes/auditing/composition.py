"""Many releases: pairs of laws for privacy accounting, the textbook bounds, and rho and
mu.

rho of zero-concentrated and mu of Gaussian differential privacy say what a pair of laws
loses in a currency that adds up over releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtri_exp

from dpbayes import _validate
from dpbayes._values import ByValue
from dpbayes.auditing.exact import Audit, PairAudit, hockey_stick, loss, pairs
from dpbayes.auditing.rows import checked, mechanism_rows
from dpbayes.mechanisms.protocol import Mechanism

MOST_POINTS = 1_000_000
"""A dominating pair has at most so many outcomes."""

_FLOOR = 1e-300
_ORDERS = np.geomspace(1e-4, 1e4, 60)
# up to this exponent sums are taken beside one, beyond it in logarithms
_EXPANDED = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class LossPair(ByValue):
    """Two distributions P and Q on one finite set, both without zeros, by logarithms
    (m,).

    Telling them apart is at least as easy as telling a mechanism's outputs for two
    neighbours.
    """

    log_p: NDArray[np.float64]
    log_q: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("log_p", "log_q"):
            object.__setattr__(
                self, name, _validate.real_vector(name, getattr(self, name))
            )
        if self.log_p.shape != self.log_q.shape:
            raise ValueError(
                f"log_p and log_q must have one shape (m,), got {self.log_p.shape} and "
                f"{self.log_q.shape}"
            )

    def delta(self, epsilon: float) -> float:
        """Return the sum of (p - e^epsilon q)_+ in [0, 1]; `epsilon` of either sign.

        The least delta with P(S) <= e^epsilon Q(S) + delta for every set S. Negative
        values are asked for where the two change places: delta of (Q, P) at epsilon
        follows from that of (P, Q) at -epsilon.
        """
        return hockey_stick(self.log_p, self.log_q, _validate.real("epsilon", epsilon))

    def largest_loss(self) -> float:
        """Return max |ln p - ln q|, epsilon at delta = 0; m releases lose at most m
        times it.
        """
        return float(np.max(np.abs(loss(self.log_p, self.log_q))))

    def mass_functions(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return ln q and ln p by outcome: log_pmf_lower and log_pmf_upper of
        `dp_accounting`'s
        `privacy_loss_distribution.from_two_probability_mass_functions`.
        """
        return dict(enumerate(self.log_q.tolist())), dict(
            enumerate(self.log_p.tolist())
        )


def worst_pair(result: Audit | PairAudit) -> LossPair:
    """Return the two laws between which the actual epsilon is attained, as a pair to
    export.

    It bounds the release on these two data sets; `dominating_pair` bounds all of them.
    Outputs that neither data set can give are left out. Raises ValueError for an
    infinite loss, TypeError for what is no audit.
    """
    pair = result.pair() if isinstance(result, Audit) else result
    _validate.instance("result", pair, PairAudit)
    if not np.isfinite(pair.epsilon):
        raise ValueError(
            "the loss of this pair is infinite: composition cannot bound it"
        )
    possible = np.isfinite(pair.log_p)  # what neither data set can give carries no loss
    return LossPair(pair.log_p[possible], pair.log_q[possible])


def dominating_pair(result: Audit, points: int = 200) -> LossPair:
    """Return one pair (P, Q) that bounds every pair of neighbours of an audited
    mechanism.

    delta(epsilon) is convex in e^epsilon. Computed at `points` values between -epsilon
    and epsilon and joined by straight lines, it is the curve of a discrete pair: Q has
    mass s_(i+1) - s_i at loss epsilon_i, where s are the slopes, and P has
    e^(epsilon_i) times that. The lines lie above the curve, so the composition of (P,
    Q) bounds any number of adaptive releases on any data. Book: `thm-dominating`.
    """
    if not np.isfinite(_validate.instance("result", result, Audit).epsilon):
        raise ValueError(
            f"{result.name} has an infinite loss: composition cannot bound it"
        )
    half = max(
        _validate.integer("points", points, minimum=4, maximum=MOST_POINTS) // 2, 2
    )
    grid = np.linspace(0.0, result.epsilon, half + 1)
    deltas = result.curve(grid).deltas
    deltas[-1] = 0.0
    # Exchanging the two data sets keeps the curve: delta(-e) = 1 - e^-e + e^-e
    # delta(e). So Q has at loss -e the mass that P has at e. Slopes left of 0 would
    # have lost their digits.
    slopes = np.append(np.diff(deltas) / np.diff(np.exp(grid)), 0.0)
    log_q = np.log(np.maximum(np.diff(slopes), _FLOOR))
    log_p = log_q + grid[1:]
    middle = np.log(max(1.0 - np.exp(log_p).sum() - np.exp(log_q).sum(), _FLOOR))
    first = np.concatenate((log_q[::-1], [middle], log_p))
    first -= np.log(np.exp(first).sum())
    return LossPair(first, first[::-1])


def _releases(value: ArrayLike) -> NDArray[np.int64]:
    numbers = _validate.count_array("releases", value)
    if np.any(numbers < 1):
        raise ValueError(f"releases must be at least 1, got {int(numbers.min())}")
    return numbers


def composed_epsilon(
    pair: LossPair, releases: ArrayLike, delta: float, grid: float = 1e-4
) -> NDArray[np.float64]:
    """Return the epsilon at `delta` of each number of releases, shape (m,), by
    `dp_accounting`.

    Losses of both directions are rounded up to the `grid`, so the result errs on the
    safe side; it never exceeds the number of releases times the largest loss. Raises
    ImportError without the package dp-accounting.
    """
    _validate.instance("pair", pair, LossPair)
    failure = _validate.open_unit("delta", delta)
    step = _validate.positive("grid", grid)
    numbers = _releases(releases)
    try:
        pld: Any = import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as missing:
        raise ImportError(
            "composing releases needs the package dp-accounting"
        ) from missing
    distributions = [
        pld.from_two_probability_mass_functions(
            *one.mass_functions(),
            value_discretization_interval=step,
            pessimistic_estimate=True,
        )
        for one in (pair, LossPair(pair.log_q, pair.log_p))
    ]
    accounted = [
        max(_epsilon_of(one, m, failure) for one in distributions) for m in numbers
    ]
    return np.asarray(np.minimum(accounted, pair.largest_loss() * numbers))


def _epsilon_of(distribution: Any, releases: int, delta: float) -> float:
    composed = (
        distribution if releases == 1 else distribution.self_compose(int(releases))
    )
    with np.errstate(over="ignore"):  # a quotient of inf there is a loss of inf
        return float(composed.get_epsilon_for_delta(delta))


def basic_composition(epsilon: float, releases: ArrayLike) -> NDArray[np.float64]:
    """Return m epsilon for each number m of `releases`, shape (m,). Book:
    `thm-composition`.

    All m together are (m epsilon)-DP for the same neighbours, whatever was chosen
    between them.
    """
    return _validate.positive("epsilon", epsilon) * _releases(releases).astype(
        np.float64
    )


def advanced_composition(
    epsilon: float, releases: ArrayLike, delta: float
) -> NDArray[np.float64]:
    """Return the epsilon of m releases by the theorem of Dwork, Rothblum and Vadhan, at
    `delta`.

    epsilon sqrt(2 m ln(1/delta)) + m epsilon (e^epsilon - 1). Book:
    `thm-advanced-composition`.

    >>> advanced_composition(0.1, [100], 1e-6).round(3)
    array([6.308])
    """
    each = _validate.positive("epsilon", epsilon)
    failure = _validate.open_unit("delta", delta)
    m = _releases(releases).astype(np.float64)
    with np.errstate(over="ignore"):  # a bound of inf
        return np.asarray(
            each * np.sqrt(2.0 * m * -np.log(failure)) + m * each * np.expm1(each)
        )


def concentrated_rho(log_p: ArrayLike, log_q: ArrayLike) -> float:
    """Return the least rho with D_a(P | Q) <= rho a for all orders a > 1; inf if P
    leaves Q.

    D_a is the Renyi divergence of order a; the orders of a grid are tried, then
    refined. Book: `def-zcdp`.

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
    spare = np.where(
        losses == small, first * np.expm1(-small), np.exp(p - losses) - first
    )
    mean = float((first * losses + spare).sum())
    if highest == 0.0:
        return max(mean, 0.0)

    def ratio(log_order: float) -> float:
        over = float(np.exp(log_order))
        if over * highest < _EXPANDED:
            rise = float(
                np.log1p((first * np.expm1(over * losses) + over * spare).sum())
            )
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
    refined = minimize_scalar(
        lambda x: -ratio(x), bounds=tuple(around), method="bounded"
    )
    return float(max(mean, max(values), -refined.fun))


def gaussian_mu(log_p: ArrayLike, log_q: ArrayLike) -> float:
    """Return the least mu such that P and Q are no easier to tell apart than N(0,1) and
    N(mu,1).

    The trade-off between the two errors of a test is a broken line whose corners (a, b)
    are the likelihood-ratio tests: mu = max over corners of F^-1(1 - a) - F^-1(b), F
    the normal distribution function; inf when a corner has exactly one error 0. Book:
    `def-gdp`.

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
    # Rejecting Q on the outcomes of largest loss: a = Q(rejected), b = P(kept), from
    # both ends.
    separation = _upper_quantile(second) - _upper_quantile(first)
    return float(max(separation.max(initial=0.0), 0.0))


def _upper_quantile(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    # F^-1(1 - a) for the sums a of the first masses, none or all of them excepted, from
    # whichever end is the smaller. In logarithms: a mass far below 1e-308 tells two
    # laws apart, too.
    below, beyond = (
        np.logaddexp.accumulate(logs),
        np.logaddexp.accumulate(logs[::-1])[::-1],
    )
    half = below[:-1] <= -np.log(2.0)
    return np.where(half, -1.0, 1.0) * ndtri_exp(np.where(half, below[:-1], beyond[1:]))


def _possible(
    log_p: ArrayLike, log_q: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln p and the losses (m,) where either law has mass, both checked to sum to
    1.

    A loss of -inf, of what only Q can give, is returned as inf: it shows that Q leaves
    P.
    """
    p, q = np.asarray(log_p), np.asarray(log_q)
    for name, logs in (("log_p", p), ("log_q", q)):
        if logs.dtype.kind not in "iuf" or not abs(np.exp(logs).sum() - 1.0) <= 1e-6:
            got = _validate.shown(logs)
            raise ValueError(
                f"{name} must be logarithms of numbers that sum to 1, got {got}"
            )
    if p.shape != q.shape or p.ndim != 1:
        raise ValueError(
            f"log_p and log_q must have one shape (m,), got {p.shape} and {q.shape}"
        )
    either = np.isfinite(p) | np.isfinite(q)
    losses = loss(p[either], q[either])
    return p[either], np.where(np.isneginf(losses), np.inf, losses)


def in_other_notions(
    mechanism: Mechanism, n: int, prior: ArrayLike
) -> tuple[float, float]:
    """Return (rho, mu): the least of each that holds for every pair of neighbours of n
    records.

    Sizes are those of `dpbayes.audit`, which takes less time.

    >>> from dpbayes.mechanisms import mechanism
    >>> rho, mu = in_other_notions(mechanism("geometric", 1.0), 6, [1, 1])
    >>> round(rho, 4), round(mu, 4)
    (0.4621, 1.232)
    """
    size, alpha = checked(mechanism, n, prior)
    both = [
        laws
        for *_, p, q in pairs(mechanism_rows(mechanism, size, alpha))
        for laws in ((p, q), (q, p))
    ]
    return max(concentrated_rho(*one) for one in both), max(
        gaussian_mu(*one) for one in both
    )
