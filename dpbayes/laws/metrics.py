"""One word, one thing: a distance is its name or its function, wherever a distance is asked for."""

from __future__ import annotations

from dpbayes import _validate
from dpbayes.divergences import (
    Metric,
    affinity_exponent,
    hellinger,
    hellinger_published,
    metric_name,
)

Yardstick = Metric | str
"""A distance: "hellinger", "published", or a function of two arrays of Dirichlet parameters."""


def metric_function(metric: Yardstick) -> Metric:
    """Return the function a name stands for; a function is returned as it is.

    Raises ValueError for another name, TypeError for what is neither.

    >>> metric_function("published") is hellinger_published
    True
    """
    if callable(metric) and not isinstance(metric, type):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            "metric must be hellinger, published, or a function such as dpbayes.hellinger, got "
            f"{_validate.shown(metric)}"
        )
    return hellinger if metric_name(metric) == "hellinger" else hellinger_published


def power_of_affinity(metric: Yardstick, total: float) -> float | None:
    """Return kappa with metric = sqrt(1 - BC^kappa) for posteriors of this total, or None."""
    if metric_function(metric) not in (hellinger, hellinger_published):
        return None
    return affinity_exponent(metric_name(metric), total)
