"""Density curves of one proportion: prior and posterior, and what two of them have in
common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._old_theme import HEIGHT, WIDTH, new_axes, new_panels
from dpbayes.figures.language import SERIES, styles

_EVEN = 401  # points from 0 to 1
# a curve that lives on less of the axis than this is drawn once more, by itself
_NARROW = 0.05


def proportions_for(concentrations: Iterable[ArrayLike]) -> NDArray[np.float64]:
    """Return points in [0, 1] that show every Beta(a, b) of `concentrations`,
    increasing.

    They are even, with more of them around the mean of each law that is too narrow for
    even points.

    >>> proportions_for([[8, 4]]).size, proportions_for([[8, 4], [1000001, 13]]).size
    (401, 530)
    """
    points = [np.linspace(0.0, 1.0, _EVEN)]
    for concentration in concentrations:
        a, b = np.asarray(concentration, dtype=np.float64)
        mean = a / (a + b)
        deviation = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
        if deviation * _EVEN < 4.0:
            points.append(
                np.clip(mean + deviation * np.linspace(-6.0, 6.0, 161), 0.0, 1.0)
            )
    return np.unique(np.concatenate(points))


def densities(
    proportions: ArrayLike, curves: Mapping[str, ArrayLike]
) -> tuple[Figure, str]:
    """Draw the densities of one proportion, and a narrow last one again on an axis of
    its own.

    ``proportions`` are the points (m,) in [0, 1]; ``curves`` maps a label to density
    values (m,).
    """
    points = np.asarray(proportions, dtype=np.float64)
    heights = {
        label: np.asarray(values, dtype=np.float64) for label, values in curves.items()
    }
    low, high = _home(points, list(heights.values())[-1])
    axes: Axes
    if high - low >= _NARROW:
        figure, axes = new_axes("proportion", "density")
        _draw(axes, points, heights, (0.0, 1.0))
        near = ""
    else:
        figure, ((axes,), (below,)) = new_panels(2, 1, WIDTH, 1.5 * HEIGHT)
        _draw(axes, points, heights, (0.0, 1.0))
        _draw(below, points, heights, (low, high))
        axes.set(ylabel="density")
        below.set(xlabel="proportion", ylabel="density")
        near = f" Below, the same between {low:.7g} and {high:.7g}."
    sentences = [_describe(label, points, values) for label, values in heights.items()]
    return (
        figure,
        f"Density curves over a proportion from 0 to 1. {' '.join(sentences)}{near}",
    )


def _home(
    points: NDArray[np.float64], heights: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the stretch on which a density is not negligible beside its peak."""
    finite = np.where(np.isfinite(heights), heights, 0.0)
    at = np.flatnonzero(finite > 1e-3 * finite.max())
    if at.size == 0:  # it is narrower than the points are apart
        return float(points[0]), float(points[-1])
    first, last = max(0, int(at[0]) - 1), min(points.size - 1, int(at[-1]) + 1)
    return float(points[first]), float(points[last])


def _draw(
    axes: Axes,
    points: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    shown: tuple[float, float],
) -> None:
    looks = styles(curves)
    for label, heights in curves.items():
        look: dict[str, Any] = {**looks[label], "marker": None}
        axes.plot(points, heights, label=label, **look)
    axes.set(xlim=shown, ylim=(0.0, None))
    axes.legend(loc="best", frameon=False)


def _describe(
    label: str, points: NDArray[np.float64], heights: NDArray[np.float64]
) -> str:
    finite = np.where(np.isfinite(heights), heights, -np.inf)
    if finite.max() == 0.0:
        return f"{label}: too narrow to be seen at the points drawn."
    if np.ptp(heights[np.isfinite(heights)]) < 1e-9:
        return f"{label}: flat at {heights[0]:.2f}."
    peak = int(np.argmax(finite))
    return (
        f"{label}: highest at {_short(points[peak])} with density {finite[peak]:.3g}."
    )


def _short(value: float) -> str:
    """Return a proportion with two digits, or with as many as tell it from 0 and 1."""
    return f"{value:.2f}" if 0.005 <= value <= 0.995 else f"{value:.7g}"


def overlap(
    proportions: ArrayLike,
    first: ArrayLike,
    others: Mapping[str, ArrayLike],
    distances: Sequence[float],
) -> tuple[Figure, str]:
    """Draw a density beside others, one panel each, over the area they share in
    geometric mean.

    The shaded area under the root of the product is the affinity, 1 - H^2.
    `proportions`, `first` and each of `others` have shape (m,); `distances` are the
    Hellinger distances, one a panel.
    """
    x, p = (
        np.asarray(proportions, dtype=np.float64),
        np.asarray(first, dtype=np.float64),
    )
    heights = np.array(
        [p, *(np.asarray(values, dtype=np.float64) for values in others.values())]
    )
    finite = np.isfinite(heights).all(axis=0)  # a density may be infinite at 0 and 1
    x, (p, *drawn) = x[finite], heights[:, finite]
    figure, rows = new_panels(1, len(others), WIDTH, 0.75 * HEIGHT, sharey=True)
    sentences = [
        "Two densities of one proportion in each panel, and the area below the root of"
    ]
    sentences.append("their product.")
    for axes, (name, q), distance in zip(
        rows[0], zip(others, drawn, strict=True), distances, strict=True
    ):
        area = 1.0 - distance**2
        axes.fill_between(x, np.sqrt(p * q), color=SERIES[2], alpha=0.45, linewidth=0)
        axes.plot(x, p, color=SERIES[1])
        axes.plot(x, q, color=SERIES[0], linestyle="--")
        axes.set(
            title=f"{name}\nH = {distance:.3f}", xlabel="proportion", xlim=(0.0, 1.0)
        )
        axes.annotate(
            f"area {area:.3f}",
            (0.5, 0.97),
            xycoords="axes fraction",
            ha="center",
            va="top",
        )
        sentences.append(
            f"{name}: the area is {area:.3f}, the distance {distance:.3f}."
        )
    highest = max(float(values.max()) for values in (p, *drawn))
    rows[0][0].set(ylabel="density", ylim=(0.0, 1.2 * highest))
    return figure, " ".join(sentences)
