"""Credible intervals of several proportions, read in more than one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.language import styles


def intervals(
    axes: Axes,
    categories: Sequence[str],
    readings: Mapping[str, ArrayLike],
    truth: ArrayLike | None = None,
) -> None:
    """Draw the intervals of each category on one axis, the readings side by side.

    `readings` maps a label to intervals (low, high) of shape (k, 2), in the order of
    `categories`; `truth`, shape (k,), is marked by a bar across.
    """
    if not readings or not categories:
        raise ValueError("intervals need at least one category and one reading")
    looks, room = styles(readings), 0.7 / len(readings)
    for place, (label, values) in enumerate(readings.items()):
        low, high = _checked(label, values, len(categories)).T
        at = np.arange(low.size) + (place - (len(readings) - 1) / 2) * room
        middle = (low + high) / 2
        look = {"color": looks[label]["color"], "marker": looks[label]["marker"]}
        axes.errorbar(
            middle,
            at,
            xerr=(high - low) / 2,
            ls="none",
            ms=3.5,
            lw=1.8,
            label=label,
            **look,
        )
    if truth is not None:
        mark: dict[str, Any] = {
            "marker": "|",
            "ms": 18 if len(categories) < 8 else 9,
            "mew": 1.2,
        }
        rows = np.arange(len(categories))
        axes.plot(truth, rows, ls="none", color="black", label="true share", **mark)
    axes.set_yticks(range(len(categories)), categories)
    axes.set_ylim(len(categories) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _checked(label: str, values: ArrayLike, k: int) -> NDArray[np.float64]:
    ends = np.asarray(values, dtype=np.float64)
    if ends.shape != (k, 2) or not np.all(ends[:, 0] <= ends[:, 1]):
        raise ValueError(
            f"readings must hold low <= high in shape ({k}, 2), got {label!r}"
        )
    return ends
