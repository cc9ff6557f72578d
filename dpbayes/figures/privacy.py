"""Scores against yardsticks: one cell for each pair, its number written into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.theme import WIDTH, new_axes

_COLORS = "cividis"


def score_grid(
    yardsticks: Sequence[str], scores: Sequence[str], ratios: ArrayLike
) -> tuple[Figure, str]:
    """Draw the error of each score under each yardstick, relative to the best score.

    `ratios` (scores, yardsticks) are positive; 1 marks the best score of a column and is
    written in bold. Returns the figure and its alternative text.
    """
    table = np.asarray(ratios, dtype=np.float64)
    if table.shape != (len(scores), len(yardsticks)) or table.size == 0:
        raise ValueError(
            f"ratios must have shape ({len(scores)}, {len(yardsticks)}), got {table.shape}"
        )
    if not np.all(np.isfinite(table)) or np.any(table <= 0.0):
        raise ValueError("ratios must be positive and finite")
    height = 1.9 + 0.38 * len(scores)
    figure, axes = new_axes("yardstick", "score", WIDTH, height)
    axes.grid(visible=False)
    axes.imshow(np.log(table), cmap=_COLORS, aspect="auto")
    axes.set_xticks(range(len(yardsticks)), yardsticks, rotation=40, ha="right")
    axes.set_yticks(range(len(scores)), scores)
    _write(axes, table)
    return figure, _describe(yardsticks, scores, table)


def _write(axes: Axes, table: NDArray[np.float64]) -> None:
    logs = np.log(table)
    middle = 0.5 * (logs.min() + logs.max())
    for (i, j), value in np.ndenumerate(table):
        color = "black" if logs[i, j] > middle else "white"
        weight = "bold" if value == 1.0 else "normal"
        axes.text(
            j, i, f"{value:.2f}", color=color, weight=weight, ha="center", va="center", fontsize=9
        )


def _describe(yardsticks: Sequence[str], scores: Sequence[str], table: NDArray[np.float64]) -> str:
    sentences = ["Grid of mean errors relative to the best score, one column for each yardstick."]
    for j, yardstick in enumerate(yardsticks):
        # A reference without a score may lie below 1, the best score is at 1.
        best = [score for score, value in zip(scores, table[:, j], strict=True) if value == 1.0]
        low, high = int(np.argmin(table[:, j])), int(np.argmax(table[:, j]))
        sentences.append(
            f"{yardstick}: best score {', '.join(best) or 'none'}, lowest {scores[low]} at "
            f"{table[low, j]:.2f}, highest {scores[high]} at {table[high, j]:.2f}."
        )
    return " ".join(sentences)
