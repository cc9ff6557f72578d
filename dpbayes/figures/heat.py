"""A table as a picture: every cell coloured by its value and labelled with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpbayes.figures.theme import WIDTH, new_axes


def heat(
    xlabel: str,
    ylabel: str,
    columns: Sequence[str],
    rows: Sequence[str],
    values: ArrayLike,
    meaning: str,
    digits: int = 2,
) -> tuple[Figure, str]:
    """Draw values of shape (rows, columns) as an annotated heat map; dark cells are large.

    `meaning` says in words what a value is. Returns the figure and its alternative text.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or table.size == 0:
        raise ValueError(f"values must have shape ({len(rows)}, {len(columns)}), got {table.shape}")
    if not np.all(np.isfinite(table)):
        raise ValueError("values must be finite")
    import seaborn  # its start-up time is paid only where a heat map is drawn

    figure, axes = new_axes(xlabel, ylabel, WIDTH, 1.6 + 0.42 * len(rows))
    seaborn.heatmap(
        table,
        ax=axes,
        annot=True,
        fmt=f".{digits}f",
        cmap=seaborn.color_palette("crest", as_cmap=True),
        linewidths=0.6,
        xticklabels=list(columns),
        yticklabels=list(rows),
        annot_kws={"fontsize": 9},
        cbar_kws={"label": meaning},
    )
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.tick_params(axis="x", rotation=35)
    axes.tick_params(axis="y", rotation=0)
    for tick in axes.get_xticklabels():
        tick.set_horizontalalignment("right")
    return figure, describe(ylabel, columns, rows, table, meaning, digits)


def describe(
    ylabel: str,
    columns: Sequence[str],
    rows: Sequence[str],
    table: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    meaning: str,
    digits: int,
) -> str:
    """Return in words the smallest entry of each column, and the range of all."""
    best = [
        f"{column}: {rows[int(np.argmin(table[:, j]))]} ({table[:, j].min():.{digits}f})"
        for j, column in enumerate(columns)
    ]
    return (
        f"Heat map of {meaning}, from {table.min():.{digits}f} to {table.max():.{digits}f}. "
        f"Smallest {ylabel} in each column: {'; '.join(best)}."
    )
