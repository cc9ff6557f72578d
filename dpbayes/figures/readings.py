"""Points read off a published figure: small circles, and what is left of them below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

HOLLOW: Mapping[str, Any] = {
    "marker": "o",
    "markerfacecolor": "white",
    "markersize": 4.5,
    "markeredgewidth": 1.1,
}
RESIDUALS = "published minus computed, in combined errors; grey: within 2"


def residuals(axes: Axes, points: Iterable[tuple[ArrayLike, ArrayLike, str]]) -> None:
    """Draw scores, as triples (x, z, colour), on a grey band of two units around zero."""
    largest = 0.0
    axes.axhspan(-2.0, 2.0, color="0.92", zorder=0)
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
    for x, z, color in points:
        axes.plot(x, z, color=color, linestyle="none", **HOLLOW)
        largest = max(largest, float(np.max(np.abs(np.asarray(z, dtype=np.float64)), initial=0.0)))
    reach = max(3.0, 1.1 * largest)
    axes.set(ylabel="z", ylim=(-reach, reach))
    axes.margins(x=0.02)
