"""Laws of the programs behind the printed pictures, where these are not the papers' mechanisms.

Nothing here is a mechanism to use. Each law follows a program that differs from its paper in a way
that the page on captions and drawings names; tests compare them with the printed curves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import (
    affinity_exponent,
    distance_from_log_affinity,
    hellinger,
    one_step_affinity,
)
from dpbayes.laws.estimate import log_affinity_of_outputs
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.posteriors import compositions

GLOBAL_AS_DRAWN = float(np.sqrt(1.0 - np.pi / 4.0))
"""The global sensitivity the program behind D's Figures 3 and 4 was given: that of one record."""


def neighbour_affinity(parameters: ArrayLike, one_sided: bool = False) -> NDArray[np.float64]:
    """Return ln BC of the farthest neighbour of each row of Dirichlet parameters, shape (N,).

    The programs move one unit between two *parameters* and ask that the smaller one stays above
    0, where the papers move a record between two *counts*. `one_sided` takes the unit from a
    later category only and gives it to an earlier one.

    >>> import dpbayes as dp
    >>> local = distance_from_log_affinity(neighbour_affinity([[6.0, 4.0]]))
    >>> bool(abs(local[0] - dp.local_sensitivity([5, 3], [1, 1]).value) < 1e-12)
    True
    """
    a = np.atleast_2d(_validate.positive_array("parameters", parameters))
    losing = np.full(a.shape, np.inf)
    losing[a > 1.0] = one_step_affinity(a[a > 1.0] - 1.0)
    gaining = one_step_affinity(a)
    best = np.full(len(a), np.inf)
    for target in range(a.shape[1]):
        for source in range(a.shape[1]):
            if source > target or (source < target and not one_sided):
                best = np.minimum(best, gaining[:, target] + losing[:, source])
    return best


def program_smooth_sensitivity(
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    outputs: NDArray[np.int64],
    rate: float,
    metric: str = "hellinger",
    unit: float = 1.0,
    one_sided: bool = False,
) -> float:
    """Return max of LS(r) exp(-rate unit |x - r|_1) over the outputs r and x itself.

    `unit` 1 is the l1 distance of counts, 1/2 the number of replaced records.
    """
    exponent = affinity_exponent(metric, float(prior.sum() + outputs[0].sum()))
    own = distance_from_log_affinity(neighbour_affinity(prior + counts, one_sided), exponent)
    local = distance_from_log_affinity(neighbour_affinity(prior + outputs, one_sided), exponent)
    away = unit * np.abs(outputs - counts).sum(axis=1)
    return float(max(own[0], (local * np.exp(-rate * away)).max()))


def program_gamma(n: int, epsilon: float, delta: float) -> float:
    """Return the programs' smoothing rate ln(1 - epsilon / (2 ln(delta / 2n))).

    >>> round(program_gamma(100, 0.8, 1e-8), 6)
    0.016723
    """
    return float(np.log1p(-epsilon / (2.0 * np.log(delta / (2.0 * n)))))


def scored_law(
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    outputs: NDArray[np.int64],
    rate: float,
    metric: str = "hellinger",
) -> FiniteLaw:
    """Return the law with weights exp(-rate H) over the listed outputs, shape (N, k)."""
    exponent = affinity_exponent(metric, float(prior.sum() + outputs[0].sum()))
    log_bc = log_affinity_of_outputs(prior, counts, outputs)
    distances = distance_from_log_affinity(log_bc)
    scores = distances if exponent == 1.0 else distance_from_log_affinity(log_bc, exponent)
    return FiniteLaw(prior, counts, outputs, normalised(-rate * scores), 0.0, distances)


@dataclass(frozen=True)
class WeightedBy:
    """Weights exp(-rate H) over all histograms of `records` records, of as many as x by default.

    `rate(counts, prior, outputs)` is the program's own, such as epsilon over a sensitivity given
    as a number.
    """

    name: str
    epsilon: float
    rate: Callable[[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]], float]
    metric: str = "hellinger"
    records: int | None = None

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law over all candidates."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        outputs = compositions(self.records or int(x.sum()), x.size)
        rate = self.rate(x, alpha, outputs)
        return scored_law(x, alpha, outputs, rate, self.metric)


def drafted_delta(epsilon: float, delta: float, records: int | None = None) -> WeightedBy:
    """Return the program of A's Figure 3 and of B: expMech-delta with d = l1, gamma with 2n.

    `records` is the number of records of the candidates: 90 in B's Figure 5, whose data have 30.
    """

    def rate(x: NDArray[np.int64], alpha: NDArray[np.float64], outputs: NDArray[np.int64]) -> float:
        gamma = program_gamma(int(outputs[0].sum()), epsilon, delta)
        return epsilon / (2.0 * program_smooth_sensitivity(x, alpha, outputs, gamma))

    return WeightedBy("expMech-delta", epsilon, rate, records=records)


def given_global(epsilon: float, value: float = GLOBAL_AS_DRAWN) -> WeightedBy:
    """Return expMech with a sensitivity given as a number, scores in the published distance."""
    return WeightedBy("expMech", epsilon, lambda x, a, r: epsilon / (2.0 * value), "published")


def given_beta(epsilon: float, beta: float = 0.01) -> WeightedBy:
    """Return weights exp(-epsilon H / 4S), S = max LS e^(-beta d), d the replaced records.

    The circles of D's Figures 3 and 4: scores and S in the published distance, beta a number.
    """

    def rate(x: NDArray[np.int64], alpha: NDArray[np.float64], outputs: NDArray[np.int64]) -> float:
        s = program_smooth_sensitivity(x, alpha, outputs, beta, "published", 0.5)
        return epsilon / (4.0 * s)

    return WeightedBy("smooth, beta given", epsilon, rate, "published")


def notes_program(kind: str, epsilon: float, delta: float) -> WeightedBy:
    """Return C's program: weights exp(-epsilon H / S) without the 2, and one-sided neighbours.

    `kind` "global": S = H(prior, prior + e_1 - e_2); "local": LS(x); "smooth": as B, d = l1.
    """
    _validate.choice("kind", kind, ("global", "local", "smooth"))

    def rate(x: NDArray[np.int64], alpha: NDArray[np.float64], outputs: NDArray[np.int64]) -> float:
        if kind == "global":
            moved = alpha + np.array([1.0, -1.0])
            return float(epsilon / hellinger(alpha, moved))
        here = outputs if kind == "smooth" else x[None, :]
        gamma = program_gamma(int(x.sum()), epsilon, delta)
        return epsilon / program_smooth_sensitivity(x, alpha, here, gamma, one_sided=True)

    return WeightedBy(kind, epsilon, rate)
