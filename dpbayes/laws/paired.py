"""Comparisons of two laws: a difference with its error, and a tie where that does not decide."""

from __future__ import annotations

import numpy as np

from dpbayes.laws.estimate import DRAWS, SEED, Estimate, distances_of, mean_of
from dpbayes.laws.law import Law
from dpbayes.laws.metrics import Yardstick

DEVIATIONS = 4.0
"""Standard errors within which a drawn difference is a tie: 6e-5 of all ties are missed."""

_ROUNDING = 2.0**-50  # of two means that are equal but for the order of their sums


def mean_difference(a: Law, b: Law, metric: Yardstick = "hellinger") -> Estimate:
    """Return E[distance] under `a` less that under `b`, with its error.

    Sums carry the sum of their errors. Where both are drawn the draws share their random numbers
    (the same seed, one draw beside the other), and the error is that of the mean of their
    differences, if that is smaller than that of two separate means.

    >>> from dpbayes.mechanisms import mechanism
    >>> laws = [mechanism(name, 1.0).law([5, 5], [1, 1]) for name in ("geometric", "lapMech")]
    >>> difference = mean_difference(*laws)
    >>> round(difference, 4), difference.how
    (-0.1939, 'listed')
    """
    means = [_mean(law, metric) for law in (a, b)]
    value = float(means[0]) - float(means[1])
    drawn = [mean for mean in means if mean.how == "drawn"]
    if not drawn:
        rounding = _ROUNDING * (abs(means[0]) + abs(means[1]))
        how = means[0].how if means[0].how == means[1].how else "series"
        return Estimate(value, means[0].error + means[1].error + rounding, how)
    apart = Estimate(value, float(np.hypot(means[0].error, means[1].error)), "drawn")
    if len(drawn) < 2:
        return apart
    columns = [
        distances_of(law, law.sample(np.random.default_rng(SEED), DRAWS), metric)  # type: ignore[arg-type]
        for law in (a, b)
    ]
    together = mean_of(columns[0] - columns[1])
    return together if together.error < apart.error else apart


def order_of(difference: Estimate) -> int:
    """Return the sign of a difference, or 0 where its error does not tell it: a tie.

    >>> order_of(Estimate(-0.1, 0.01, "drawn")), order_of(Estimate(-0.1, 0.05, "drawn"))
    (-1, 0)
    """
    within = difference.error * (DEVIATIONS if difference.how == "drawn" else 1.0)
    return 0 if abs(difference) <= within else int(np.sign(difference))


def order(a: Law, b: Law, metric: Yardstick = "hellinger") -> int:
    """Return -1 where `a` has the smaller mean distance, 1 where `b` has, 0 for a tie."""
    return order_of(mean_difference(a, b, metric))


def _mean(law: Law, metric: Yardstick) -> Estimate:
    mean = law.mean_distance(metric)
    return mean if isinstance(mean, Estimate) else Estimate(mean, 0.0, "listed")
