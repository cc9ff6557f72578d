"""Grids of numbers: scores against yardsticks, and where a promise is kept and where it is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LogNorm, TwoSlopeNorm
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


def promise_grid(
    xlabel: str,
    columns: Sequence[float],
    rows: Sequence[str],
    ratios: ArrayLike,
    floor: float = 1e-4,
) -> tuple[Figure, str]:
    """Draw actual over promised failure probability, a cell for each row and column.

    `ratios` (rows, columns) are at least 0. Above 1 the promise is broken: those cells are warm and
    their numbers bold. Cells below `floor` are empty. Returns the figure and its alternative text.
    """
    table = np.asarray(ratios, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or table.size == 0:
        raise ValueError(f"ratios must have shape ({len(rows)}, {len(columns)}), got {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0.0):
        raise ValueError("ratios must be finite and at least 0")
    if not 0.0 < floor < 1.0:
        raise ValueError(f"floor must be between 0 and 1, got {floor!r}")
    import seaborn  # its start-up time is paid only where a grid is drawn

    figure, axes = new_axes(xlabel, "", WIDTH, 1.1 + 0.38 * len(rows))
    logs = np.log10(np.maximum(table, floor))
    high = max(float(logs.max()), 0.5)
    # Light tones at both ends: dark numbers can be read on all of them.
    look = {
        "cmap": seaborn.blend_palette([_KEPT, "white", _BROKEN], as_cmap=True),
        "norm": TwoSlopeNorm(0.0, float(np.log10(floor)), high),
        "linewidths": 0.6,
        "linecolor": "0.75",
    }
    shown = np.array([[_cell(value, floor) for value in row] for row in table])
    numbers = {"annot": shown, "fmt": "", "annot_kws": {"size": 9, "color": "0.1"}}
    labels = {"xticklabels": [f"{x:g}" for x in columns], "yticklabels": list(rows)}
    seaborn.heatmap(logs, ax=axes, cbar=False, **numbers, **labels, **look)
    axes.set(xlabel=xlabel, ylabel="")
    axes.grid(False)
    axes.tick_params(axis="y", rotation=0)
    for text, value in zip(axes.texts, table.ravel(), strict=True):
        text.set_fontweight("bold" if value > 1.0 else "normal")
    return figure, _kept_and_broken(xlabel, columns, rows, table)


_KEPT, _BROKEN = "#9ecae8", "#f3a56d"


def _cell(value: float, floor: float) -> str:
    """Return a ratio in at most five signs; nothing where it is below the floor.

    >>> _cell(1052.9, 1e-4), _cell(0.0213, 1e-4), _cell(1e-9, 1e-4)
    ('1053', '0.021', '')
    """
    if value < floor:
        return ""
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def _kept_and_broken(
    xlabel: str, columns: Sequence[float], rows: Sequence[str], table: NDArray[np.float64]
) -> str:
    sentences = [f"Grid of actual over promised failure probability, columns by {xlabel}."]
    for row, values in zip(rows, table, strict=True):
        broken = [f"{x:g}" for x, value in zip(columns, values, strict=True) if value > 1.0]
        top = int(np.argmax(values))
        where = f"above 1 at {', '.join(broken)}, " if broken else "nowhere above 1, "
        sentences.append(f"{row}: {where}largest {values[top]:.3g} at {columns[top]:g}.")
    return " ".join(sentences)
