"""Scores against yardsticks: one cell for each pair, its number written into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.language import SERIES
from dpbayes.figures.theme import WIDTH, new_axes


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
    import seaborn  # its start-up time is paid only where a grid is drawn

    figure, axes = new_axes("yardstick", "score", WIDTH, 1.9 + 0.38 * len(scores))
    colours = seaborn.light_palette(SERIES[0], as_cmap=True)
    # The scale ends above the largest ratio: every cell stays light enough for dark numbers.
    look = {"cmap": colours, "norm": LogNorm(vmax=4.0 * table.max()), "linewidths": 0.6}
    numbers = {"annot": True, "fmt": ".2f", "annot_kws": {"size": 9, "color": "0.1"}}
    labels = {"xticklabels": list(yardsticks), "yticklabels": list(scores)}
    seaborn.heatmap(table, ax=axes, cbar=False, **numbers, **labels, **look)
    axes.set(xlabel="yardstick", ylabel="score")
    axes.set_xticks(axes.get_xticks(), yardsticks, rotation=40, ha="right")
    for text, value in zip(axes.texts, table.ravel(), strict=True):
        text.set_fontweight("bold" if value == 1.0 else "normal")
    return figure, _describe(yardsticks, scores, table)


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
