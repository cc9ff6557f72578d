"""Density curves of one proportion: prior and posterior."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.theme import line_style, new_axes


def densities(proportions: ArrayLike, curves: Mapping[str, ArrayLike]) -> tuple[Figure, str]:
    """Draw the densities of one proportion, each labelled at its peak.

    ``proportions`` are the points (m,) in [0, 1]; ``curves`` maps a label to density values (m,).
    Returns the figure and its alternative text.
    """
    points = np.asarray(proportions, dtype=np.float64)
    figure, axes = new_axes("proportion", "density")
    sentences = []
    for index, (label, values) in enumerate(curves.items()):
        heights = np.asarray(values, dtype=np.float64)
        axes.plot(points, heights, label=label, **line_style(index))
        sentences.append(_describe(label, points, heights))
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, None))
    axes.legend(loc="best", frameon=False)
    return figure, "Density curves over a proportion from 0 to 1. " + " ".join(sentences)


def _describe(label: str, points: NDArray[np.float64], heights: NDArray[np.float64]) -> str:
    finite = np.where(np.isfinite(heights), heights, -np.inf)
    if np.ptp(heights[np.isfinite(heights)]) < 1e-9:
        return f"{label}: flat at {heights[0]:.2f}."
    peak = int(np.argmax(finite))
    return f"{label}: highest at {points[peak]:.2f} with density {finite[peak]:.2f}."
