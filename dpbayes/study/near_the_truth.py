"""The share of releases within a distance of the truth, without listing all candidates.

Near the truth there are few candidates, however many there are in all. The exact probability of
each follows from the law's normaliser (exponential mechanisms) or is a product (Laplace).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import Metric
from dpbayes.laws.law import listed
from dpbayes.laws.metrics import Yardstick, metric_function
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism

_LARGEST_BOX = 2_000_000


def near_outputs(counts: ArrayLike, radius: int) -> NDArray[np.int64]:
    """Return the histograms of n records whose first k - 1 counts move by at most `radius`, (m, k).

    The last count takes the rest; histograms with a negative count are left out.

    >>> near_outputs([5, 5], 1).tolist()
    [[4, 6], [5, 5], [6, 4]]
    """
    x = _validate.counts("counts", counts)
    reach = _validate.integer("radius", radius, minimum=1)
    if (2 * reach + 1) ** (x.size - 1) > _LARGEST_BOX:
        raise ValueError(f"radius must leave at most {_LARGEST_BOX} candidates, got {radius}")
    moves = np.arange(-reach, reach + 1)
    axes = np.meshgrid(*[count + moves for count in x[:-1]], indexing="ij")
    first = np.column_stack([axis.ravel() for axis in axes])
    outputs = np.column_stack((first, x.sum() - first.sum(axis=1)))
    return np.asarray(outputs[(outputs >= 0).all(axis=1)])


def share_within(
    mechanism: Mechanism,
    counts: ArrayLike,
    prior: ArrayLike,
    distances: ArrayLike,
    radius: int | None = None,
    metric: Yardstick = "hellinger",
) -> NDArray[np.float64]:
    """Return P(distance <= c) for increasing distances c, shape (m,).

    Laws that are listed output by output are summed. For others only the candidates in the box of
    :func:`near_outputs` count; without `radius` it is made large enough. ValueError if a `radius`
    that is given is not: the largest distance must be below that of every candidate on the rim of
    the box; and for too many candidates to list. Source: D, Figure 3; book: `accuracy/index`.

    >>> from dpbayes.mechanisms import mechanism
    >>> share_within(mechanism("lapMech", 1.0), [300, 300], [1, 1], [0.0, 0.03]).round(6)
    array([0.196735, 0.512795])
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    wanted = np.asarray(distances, dtype=np.float64)
    distance, marginal = metric_function(metric), own(mechanism, "marginal")
    if marginal is None:
        law = mechanism.law(x, alpha)
        if hasattr(law, "outputs"):
            return _cumulative(*listed(law, "a distribution").distance_distribution(metric), wanted)
    far = float(wanted.max())
    reach = radius if radius is not None else _radius_for(x, alpha, far, distance)
    outputs = _box(x, alpha, far, reach, distance)
    masses = law.probability(outputs) if marginal is None else _product(marginal, x, outputs)
    return _cumulative(distance(alpha + x, alpha + outputs), masses, wanted)


def _radius_for(
    x: NDArray[np.int64], alpha: NDArray[np.float64], far: float, metric: Metric
) -> int:
    radius = 4
    while _rim(near_outputs(x, radius), x, alpha, radius, metric) <= far:
        radius += max(1, radius // 4)
    return radius


def _box(
    x: NDArray[np.int64], alpha: NDArray[np.float64], far: float, radius: int, metric: Metric
) -> NDArray[np.int64]:
    outputs = near_outputs(x, radius)
    if far >= _rim(outputs, x, alpha, radius, metric):
        raise ValueError(f"radius {radius} is too small for the distance {far:.4g}")
    return outputs


def _rim(
    outputs: NDArray[np.int64],
    x: NDArray[np.int64],
    alpha: NDArray[np.float64],
    radius: int,
    metric: Metric,
) -> float:
    # The least distance at which a first count has moved by the whole radius; infinite if none can.
    rim = outputs[np.abs(outputs - x)[:, :-1].max(axis=1) == radius]
    return float(metric(alpha + x, alpha + rim).min()) if rim.size else np.inf


def _product(
    marginal: Callable[[int, int, int], NDArray[np.float64]],
    x: NDArray[np.int64],
    outputs: NDArray[np.int64],
) -> NDArray[np.float64]:
    n, k = int(x.sum()), x.size
    logs = sum(marginal(int(x[i]), n, k)[outputs[:, i]] for i in range(k - 1))
    return np.asarray(np.exp(logs))


def _cumulative(
    distances: NDArray[np.float64], masses: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    order = np.argsort(distances, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(masses[order])))
    # A tiny tolerance keeps candidates of equal distance together.
    return total[np.searchsorted(distances[order], wanted + 1e-12, side="right")]
