"""Points read off a printed figure: how they are drawn, and what is left of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpbayes.figures.language import styles
from dpbayes.figures.theme import new_axes

HOLLOW: Mapping[str, Any] = {
    "marker": "o",
    "markerfacecolor": "white",
    "markersize": 4.5,
    "markeredgewidth": 1.1,
}


def residuals(scores: Mapping[str, ArrayLike]) -> tuple[Figure, str]:
    """Draw printed minus computed, in combined errors z, for the points of each curve in order.

    `scores` maps a curve to its z (m,); the grey band reaches from -2 to 2. Returns the figure and
    its alternative text.
    """
    if not scores or any(np.size(z) == 0 for z in scores.values()):
        raise ValueError("scores must hold at least one curve with at least one point")
    figure, axes = new_axes(
        "point, in the order of the figure", "z, in combined errors", height=3.0
    )
    axes.axhspan(-2.0, 2.0, color="0.92", zorder=0)
    looks, largest, sentences = styles(scores), 0.0, ["Residuals of the printed points."]
    for label, values in scores.items():
        z = np.asarray(values, dtype=np.float64)
        look = {**looks[label], "linestyle": "none", "markersize": 4.0}
        axes.plot(np.arange(1, z.size + 1), z, label=label, **look)
        largest = max(largest, float(np.abs(z).max()))
        sentences.append(f"{label}: {z.size} points, z from {z.min():.1f} to {z.max():.1f}.")
    axes.set_ylim(-max(3.0, 1.1 * largest), max(3.0, 1.1 * largest))
    figure.legend(loc="outside lower left", ncols=2, frameon=False)
    return figure, " ".join(sentences)
