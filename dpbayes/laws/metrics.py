"""Which distances the laws without enumeration can report."""

from __future__ import annotations

from dpbayes.divergences import Metric, affinity_exponent, hellinger, hellinger_published


def reported_exponent(metric: Metric, total: float) -> float:
    """Return kappa with metric = sqrt(1 - BC^kappa) for posteriors of this total.

    `metric` is `dpbayes.hellinger` or `dpbayes.hellinger_published`; another one raises
    ValueError, since only powers of the affinity factorise over categories.
    """
    if metric is hellinger:
        return 1.0
    if metric is hellinger_published:
        return affinity_exponent("published", total)
    raise ValueError(
        f"metric must be hellinger or hellinger_published for a law that is not enumerated, got "
        f"{metric!r}; sample the law and average the distance instead"
    )
