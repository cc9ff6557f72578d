"""Many releases: a pair of mass functions for privacy accounting, and the textbook bounds."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.exact import Audit, PairAudit, hockey_stick, loss

MOST_POINTS = 1_000_000
"""A dominating pair has at most so many outcomes."""

_FLOOR = 1e-300


@dataclass(frozen=True)
class LossPair:
    """Two distributions P and Q on one finite set, given by logarithms, shapes (m,).

    Telling P from Q is at least as easy as telling the output of a mechanism on one data set from
    that on a neighbour. Neither may give mass to an outcome the other excludes.
    """

    log_p: NDArray[np.float64]
    log_q: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("log_p", "log_q"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))
        if self.log_p.shape != self.log_q.shape or self.log_p.ndim != 1:
            raise ValueError(
                f"log_p and log_q must have one shape (m,), got {self.log_p.shape} and "
                f"{self.log_q.shape}"
            )

    def delta(self, epsilon: float) -> float:
        """Return the sum of (p - e^epsilon q)_+; `epsilon` of either sign."""
        return hockey_stick(self.log_p, self.log_q, _validate.real("epsilon", epsilon))

    def largest_loss(self) -> float:
        """Return max |ln p - ln q|, the epsilon at delta = 0; m releases lose at most m times it.

        >>> round(LossPair(np.log([0.5, 0.5]), np.log([0.25, 0.75])).largest_loss(), 12)
        0.69314718056
        """
        return float(np.max(np.abs(loss(self.log_p, self.log_q))))

    def mass_functions(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return ln q and ln p by outcome, in the order and form `dp_accounting` reads them.

        They are the arguments log_pmf_lower and log_pmf_upper of
        `privacy_loss_distribution.from_two_probability_mass_functions`.
        """
        lower = {i: float(value) for i, value in enumerate(self.log_q)}
        upper = {i: float(value) for i, value in enumerate(self.log_p)}
        return lower, upper


def worst_pair(result: Audit | PairAudit) -> LossPair:
    """Return the two laws between which the actual epsilon is attained, as a pair to export."""
    pair = result.pair() if isinstance(result, Audit) else result
    if not np.isfinite(pair.epsilon):
        raise ValueError("the loss of this pair is infinite: composition cannot bound it")
    # Outcomes that neither data set can give carry no loss.
    possible = np.isfinite(pair.log_p)
    first, second = pair.log_p[possible], pair.log_q[possible]
    return LossPair(first, second)


def dominating_pair(result: Audit, points: int = 200) -> LossPair:
    """Return one pair (P, Q) that bounds every pair of neighbours of an audited mechanism.

    delta(epsilon) of the mechanism is convex in e^epsilon. Computed at `points` values between
    -epsilon and epsilon and joined by straight lines, it is the curve of a discrete pair: Q has
    mass s_(i+1) - s_i at loss epsilon_i, where s are the slopes, and P has e^(epsilon_i) times
    that. The lines lie above the curve, so any number of adaptive releases on any data is bounded
    by the composition of (P, Q). Book: `thm-dominating`. Raises ValueError when the actual epsilon
    is inf and for more than `MOST_POINTS` points.
    """
    if not np.isfinite(result.epsilon):
        raise ValueError(f"{result.name} has an infinite loss: composition cannot bound it")
    half = max(_validate.integer("points", points, minimum=4, maximum=MOST_POINTS) // 2, 2)
    grid = np.linspace(0.0, result.epsilon, half + 1)
    deltas = result.curve(grid).deltas
    deltas[-1] = 0.0
    # Exchanging the two data sets keeps the curve: delta(-e) = 1 - e^-e + e^-e delta(e).
    # So Q has at loss -e the mass that P has at e. Slopes left of 0 would have lost their digits.
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
    """Return the epsilon at `delta` of each number of releases, shape (m,), by `dp_accounting`.

    Both directions are composed and the larger epsilon taken; losses are rounded up to the `grid`,
    so the result errs on the safe side. What a coarse grid adds ends at the sum of the parts: no
    result exceeds the number of releases times the largest loss of the pair. Needs the package
    dp-accounting; raises ImportError, saying so, when it is not installed.
    """
    failure = _validate.open_unit("delta", delta)
    step = _validate.positive("grid", grid)
    numbers = _releases(releases).tolist()
    directions = [pair, LossPair(pair.log_q, pair.log_p)]
    distributions = [_distribution(one, step) for one in directions]
    accounted = [max(_epsilon_of(one, m, failure) for one in distributions) for m in numbers]
    return np.minimum(accounted, pair.largest_loss() * np.asarray(numbers, dtype=np.float64))


def _distribution(pair: LossPair, grid: float) -> Any:
    try:
        pld: Any = import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as missing:
        raise ImportError("composing releases needs the package dp-accounting") from missing
    lower, upper = pair.mass_functions()
    return pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=grid, pessimistic_estimate=True
    )


def _epsilon_of(distribution: Any, releases: int, delta: float) -> float:
    composed = distribution if releases == 1 else distribution.self_compose(releases)
    with np.errstate(over="ignore"):  # a quotient of inf there is a loss of inf
        return float(composed.get_epsilon_for_delta(delta))


def basic_composition(epsilon: float, releases: ArrayLike) -> NDArray[np.float64]:
    """Return releases times epsilon. Book: `thm-composition`."""
    return _validate.positive("epsilon", epsilon) * _releases(releases).astype(np.float64)


def advanced_composition(epsilon: float, releases: ArrayLike, delta: float) -> NDArray[np.float64]:
    """Return the epsilon of m releases by the theorem of Dwork, Rothblum and Vadhan, at `delta`.

    epsilon sqrt(2 m ln(1/delta)) + m epsilon (e^epsilon - 1). Book: `thm-advanced-composition`.

    >>> advanced_composition(0.1, [100], 1e-6).round(3)
    array([6.308])
    """
    each = _validate.positive("epsilon", epsilon)
    failure = _validate.open_unit("delta", delta)
    m = _releases(releases).astype(np.float64)
    return np.asarray(each * np.sqrt(2.0 * m * -np.log(failure)) + m * each * np.expm1(each))
