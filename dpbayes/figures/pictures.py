"""Two densities of one proportion and what they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.language import SERIES
from dpbayes.figures.theme import HEIGHT, WIDTH, new_panels

_BEFORE, _AFTER = SERIES[1], SERIES[0]


def overlap(
    proportions: ArrayLike,
    first: ArrayLike,
    others: Mapping[str, ArrayLike],
    distances: Sequence[float],
) -> tuple[Figure, str]:
    """Draw a density beside others, one panel each, over the area they share in geometric mean.

    The shaded area under the root of the product is the affinity, 1 - H^2. `proportions`, `first`
    and each of `others` have shape (m,); `distances` are the Hellinger distances, one a panel.
    Returns the figure and its alternative text.
    """
    x, p = np.asarray(proportions, dtype=np.float64), np.asarray(first, dtype=np.float64)
    if not others or len(distances) != len(others):
        raise ValueError(f"distances must be one for each of others, got {len(distances)}")
    x, (p, *drawn) = _finite(x, [p, *others.values()])
    figure, rows = new_panels(1, len(others), WIDTH, 0.75 * HEIGHT, sharey=True)
    sentences = ["Two densities of one proportion in each panel, and the area below the root of"]
    sentences.append("their product.")
    for axes, (name, q), distance in zip(
        rows[0], zip(others, drawn, strict=True), distances, strict=True
    ):
        area = 1.0 - distance**2
        axes.fill_between(x, np.sqrt(p * q), color=_shade(SERIES[2], 0.45), linewidth=0)
        axes.plot(x, p, color=_BEFORE)
        axes.plot(x, q, color=_AFTER, linestyle="--")
        axes.set(title=f"{name}\nH = {distance:.3f}", xlabel="proportion", xlim=(0.0, 1.0))
        axes.annotate(
            f"area {area:.3f}", (0.5, 0.97), xycoords="axes fraction", ha="center", va="top"
        )
        sentences.append(f"{name}: the area is {area:.3f}, the distance {distance:.3f}.")
    highest = max(float(values.max()) for values in (p, *drawn))
    rows[0][0].set(ylabel="density", ylim=(0.0, 1.2 * highest))
    return figure, " ".join(sentences)


def _finite(
    x: NDArray[np.float64], curves: Iterable[ArrayLike]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the points at which all curves are finite: a density may be infinite at 0 and 1."""
    heights = np.array([np.asarray(values, dtype=np.float64) for values in curves])
    kept = np.isfinite(heights).all(axis=0)
    return x[kept], list(heights[:, kept])


def _shade(color: str, depth: float) -> tuple[float, float, float]:
    """Return the colour mixed with white: depth 0 is white, 1 the colour itself."""
    red, green, blue = (1.0 - depth * (1.0 - part) for part in to_rgb(color))
    return red, green, blue
