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
    "question": (0.44, 0.94, "question q, length L,\nconfidence 1 − δ", "white"),
    "history": (
        0.44,
        0.745,
        "Is q estimable from\nthe history, with an\ninterval short enough?",
        "ask",
    ),
    "derived": (0.86, 0.745, "derived\nanswer,\ncost 0", "answer"),
    "budget": (0.44, 0.53, "smallest budget α\nthat makes the interval\nshort enough", "white"),
    "bound": (0.44, 0.32, "Would the overall cost\nexceed the bound?", "ask"),
    "rejected": (0.86, 0.32, "rejected,\nnothing\nchanges", "stop"),
    "fresh": (0.44, 0.09, "draw noise, write\nthe spend, answer", "answer"),
    "ledger": (0.1, 0.42, "ledger:\nqueries,\nscales,\nanswers", "store"),
}
_COLUMN = 4.2  # inches
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
    figure, panels = new_panels(1, 1, _COLUMN, 1.5 * HEIGHT)  # narrow enough for a phone
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
    around = "angle,angleA=90,angleB=0" if x0 < x1 else "angle,angleA=0,angleB=90"
    axes.annotate(
        "",
        (x1, y1),
        (x0, y0),
        arrowprops={
            "arrowstyle": "-|>",
            "color": "0.3",
            "connectionstyle": "arc3" if x0 == x1 or y0 == y1 else around,
            "patchA": start.get_bbox_patch(),
            "patchB": end.get_bbox_patch(),
            "shrinkA": 2,
            "shrinkB": 2,
        },
    )
    if label:
        way = 0.63 if y0 == y1 else 0.5  # between the frames of two boxes side by side
        beside = 0.0 if y0 == y1 else 0.015
        place = ((x0 + way * (x1 - x0) if y0 == y1 else min(x0, x1)) + beside, (y0 + y1) / 2)
        side = "center" if y0 == y1 else "left"
        on_the_line = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        behind = on_the_line if y0 == y1 else None
        axes.text(*place, label, fontsize=9, color="0.25", ha=side, va="center", bbox=behind)
