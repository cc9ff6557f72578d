"""Credible intervals of several proportions, one above the other, for each way to read
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._old_theme import HEIGHT, WIDTH, new_panels
from dpbayes.figures.language import styles


def intervals(
    categories: Sequence[str], readings: Mapping[str, ArrayLike], xlabel: str
) -> tuple[Figure, str]:
    """Draw one row of panels per category with the interval of each reading.

    `readings` maps a label to intervals (low, high) of shape (k, 2), in the order of
    `categories`. Each category has its own scale.
    """
    ends = {
        label: _checked(label, values, len(categories))
        for label, values in readings.items()
    }
    if not ends or not categories:
        raise ValueError("intervals need at least one category and one reading")
    looks = list(styles(readings).values())
    figure, panels = new_panels(
        len(categories), 1, WIDTH, 0.5 * HEIGHT * len(categories) ** 0.7
    )
    for row, (category, (axes,)) in enumerate(zip(categories, panels, strict=True)):
        for index, values in enumerate(ends.values()):
            low, high = values[row]
            color, marker = looks[index]["color"], looks[index]["marker"]
            axes.plot([low, high], [-index, -index], color=color, linewidth=3.0)
            axes.plot((low + high) / 2, -index, color=color, marker=marker)
        axes.set(yticks=[-i for i in range(len(ends))], ylim=(0.6 - len(ends), 0.6))
        axes.set_yticklabels(list(ends))
        axes.set_title(category, loc="left")
        axes.margins(x=0.08)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    panels[-1][0].set_xlabel(xlabel)
    return figure, _describe(categories, ends)


def _checked(label: str, values: ArrayLike, k: int) -> NDArray[np.float64]:
    ends = np.asarray(values, dtype=np.float64)
    if ends.shape != (k, 2) or not np.all(ends[:, 0] <= ends[:, 1]):
        raise ValueError(
            f"readings must hold low <= high in shape ({k}, 2), got {label!r}"
        )
    return ends


def _describe(
    categories: Sequence[str], ends: Mapping[str, NDArray[np.float64]]
) -> str:
    sentences = [
        f"{category}: "
        + "; ".join(
            f"{label} {v[row, 0]:.4f} to {v[row, 1]:.4f}" for label, v in ends.items()
        )
        + "."
        for row, category in enumerate(categories)
    ]
    return "Intervals drawn as horizontal bars, one panel a category. " + " ".join(
        sentences
    )
