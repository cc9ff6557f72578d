"""Diagrams of the query system: a table with its cube, and the way of a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike

from dpbayes.figures.language import SERIES
from dpbayes.figures.theme import HEIGHT, WIDTH, new_panels

_BOXES = {
    "question": (0.5, 0.93, "question q, length L, confidence 1 − δ", "white"),
    "history": (
        0.5,
        0.735,
        "Is q estimable from the history,\nwith an interval short enough?",
        "ask",
    ),
    "derived": (0.86, 0.735, "derived answer\ncost 0", "answer"),
    "budget": (0.5, 0.51, "smallest budget α that makes\nthe interval short enough", "white"),
    "bound": (0.5, 0.305, "Would the overall cost\nexceed the bound?", "ask"),
    "rejected": (0.86, 0.305, "rejected\nnothing changes", "stop"),
    "fresh": (0.5, 0.08, "draw noise · write the spend · answer", "answer"),
    "ledger": (0.11, 0.4, "ledger:\nqueries,\nscales,\nanswers", "store"),
}
_ARROWS = (
    ("question", "history", ""),
    ("history", "derived", "yes"),
    ("history", "budget", "no"),
    ("budget", "bound", ""),
    ("bound", "rejected", "yes"),
    ("bound", "fresh", "no"),
    ("fresh", "ledger", "new row"),
    ("ledger", "history", "history"),
)
_COLOURS = {
    "white": "white",
    "ask": "#DCEBF5",
    "answer": "#D9F0E6",
    "stop": "#F9E1D0",
    "store": "#F1E4EC",
}


def cube_diagram(
    records: Sequence[Sequence[str]],
    columns: Sequence[str],
    counts: ArrayLike,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
) -> tuple[Figure, str]:
    """Draw some records of a table beside the cube of counts that they belong to.

    `records` rows of text under `columns`; `counts` (rows, columns) with labels for both sides.
    Returns the figure and its alternative text.
    """
    cells = np.asarray(counts)
    if cells.shape != (len(row_labels), len(column_labels)):
        raise ValueError(f"counts must have one cell a label pair, got shape {cells.shape}")
    tall = max(HEIGHT, 0.27 * len(records) + 0.9)
    figure, panels = new_panels(1, 2, 1.15 * WIDTH, tall)
    left, right = panels[0]
    for axes, title in ((left, "records"), (right, "counts x")):
        axes.set_axis_off()
        axes.set_title(title)
    _table(left, [list(row) for row in records], list(columns))
    _grid(right, cells, row_labels, column_labels)
    rows = [
        f"{row}: " + ", ".join(f"{int(c)} at {n}" for c, n in zip(line, column_labels, strict=True))
        for row, line in zip(row_labels, cells, strict=True)
    ]
    return figure, (
        f"On the left {len(records)} records with {' and '.join(columns)}; on the right the cube "
        f"of counts, {'; '.join(rows)}."
    )


def _table(axes: Axes, rows: list[list[str]], columns: list[str]) -> None:
    table = axes.table(cellText=rows, colLabels=columns, loc="center", cellLoc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    table.scale(1.0, 1.35)


def _grid(
    axes: Axes, cells: np.ndarray, row_labels: Sequence[str], column_labels: Sequence[str]
) -> None:
    height, width = cells.shape
    axes.set(xlim=(-1.0, width), ylim=(height, -0.7))
    for i in range(height):
        axes.text(-0.08, i + 0.5, row_labels[i], ha="right", va="center", fontsize=9)
        for j in range(width):
            shade = 0.25 * cells[i, j] / max(cells.max(), 1)
            colour = to_rgba(SERIES[0], shade)
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="0.4"))
            axes.text(j + 0.5, i + 0.5, f"{int(cells[i, j])}", ha="center", va="center")
    for j in range(width):
        axes.text(j + 0.5, -0.12, column_labels[j], ha="center", va="bottom", fontsize=9)


def framework_diagram() -> tuple[Figure, str]:
    """Draw how the online system treats a question; returns the figure and its alternative text."""
    figure, panels = new_panels(1, 1, 1.15 * WIDTH, 1.35 * HEIGHT)
    axes = panels[0][0]
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    drawn = {}
    for name, (x, y, text, kind) in _BOXES.items():
        look = {"boxstyle": "round,pad=0.5", "facecolor": _COLOURS[kind], "edgecolor": "0.35"}
        drawn[name] = axes.text(x, y, text, ha="center", va="center", fontsize=9.5, bbox=look)
    for start, end, label in _ARROWS:
        _arrow(axes, drawn[start], drawn[end], label)
    return figure, (
        "Flow chart. A question goes to the history: when it is estimable there with a short "
        "enough interval, a derived answer leaves at no cost. Otherwise the smallest budget is "
        "worked out. "
        "If the overall cost would exceed the bound, the question is rejected and nothing changes. "
        "If not, noise is drawn, the spend is written to the ledger, and the answer leaves; the "
        "ledger is the history of the next question."
    )


def _arrow(axes: Axes, start: Text, end: Text, label: str) -> None:
    x0, y0 = start.get_position()
    x1, y1 = end.get_position()
    axes.annotate(
        "",
        (x1, y1),
        (x0, y0),
        arrowprops={
            "arrowstyle": "-|>",
            "color": "0.3",
            "patchA": start.get_bbox_patch(),
            "patchB": end.get_bbox_patch(),
            "shrinkA": 2,
            "shrinkB": 2,
        },
    )
    if label:
        place = ((x0 + x1) / 2 + (0.015 if x0 == x1 else 0.0), (y0 + y1) / 2)
        side = "left" if x0 == x1 else "center"
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(*place, label, fontsize=9, color="0.25", ha=side, va="center", bbox=behind)
