"""Pictures of document E: mass vectors, a table with its cube, and the way of a
question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike

from dpbayes.figures._old_theme import HEIGHT, WIDTH, new_panels
from dpbayes.figures.language import SERIES

_COLUMN = 4.2  # inches
_WHITE, _ASK, _ANSWER, _STOP, _STORE = (
    "white",
    "#DCEBF5",
    "#D9F0E6",
    "#F9E1D0",
    "#F1E4EC",
)
_ESTIMABLE = "Is q estimable from\nthe history, with an\ninterval short enough?"
_BOXES = {
    "question": (0.44, 0.94, "question q, length L,\nconfidence 1 − δ", _WHITE),
    "history": (0.44, 0.745, _ESTIMABLE, _ASK),
    "derived": (0.86, 0.745, "derived\nanswer,\ncost 0", _ANSWER),
    "budget": (
        0.44,
        0.53,
        "smallest budget α\nthat makes the interval\nshort enough",
        _WHITE,
    ),
    "bound": (0.44, 0.32, "Would the overall cost\nexceed the bound?", _ASK),
    "rejected": (0.86, 0.32, "rejected,\nnothing\nchanges", _STOP),
    "fresh": (0.44, 0.09, "write the spend,\ndraw noise, answer", _ANSWER),
    "account": (0.1, 0.42, "account:\nqueries,\nscales,\nanswers", _STORE),
}
_ARROWS = (
    ("question", "history", ""),
    ("history", "derived", "yes"),
    ("history", "budget", "no"),
    ("budget", "bound", ""),
    ("bound", "rejected", "yes"),
    ("bound", "fresh", "no"),
    ("fresh", "account", "new row"),
    ("account", "history", "history"),
)


def mass_panels(
    exact: ArrayLike, approximations: Mapping[str, ArrayLike], xlabel: str, shown: int
) -> tuple[Figure, str]:
    """Draw each approximation as bars, one panel each, with the exact masses as a line.

    `exact` and each approximation have odd length with cell 0 in the middle; `shown` is
    the largest cell index drawn.
    """
    cells, truth = np.arange(-shown, shown + 1), _centred(exact, shown)
    rows, gaps = len(approximations), []
    figure, panels = new_panels(
        rows, 1, WIDTH, HEIGHT * (0.4 + 0.5 * rows), sharex=True
    )
    for (axes,), (title, masses) in zip(panels, approximations.items(), strict=True):
        bars = _centred(masses, shown)
        look: Any = {
            "color": SERIES[2],
            "alpha": 0.5,
            "linewidth": 0,
            "label": "approximation",
        }
        axes.bar(cells, bars, width=1.0, **look)
        axes.plot(cells, truth, color=SERIES[1], label="exact")
        axes.set(title=title, ylabel="probability")
        axes.legend(loc="upper right")
        gap = np.abs(bars - truth).max()
        gaps.append(f"The largest difference of {title} from it in a cell is {gap:.2g}")
    panels[-1][0].set_xlabel(xlabel)
    peak = f"The exact masses form a symmetric peak of {truth.max():.3g} at 0"
    return figure, f"{rows} panels of bars with a line. {peak}. {'. '.join(gaps)}."


def _centred(masses: ArrayLike, shown: int) -> np.ndarray:
    vector = np.asarray(masses, dtype=np.float64)
    padded = np.pad(vector, max(0, shown - vector.size // 2))
    middle = padded.size // 2
    return np.asarray(padded[middle - shown : middle + shown + 1])


def cube_diagram(
    records: Sequence[Sequence[str]],
    columns: Sequence[str],
    counts: ArrayLike,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
) -> tuple[Figure, str]:
    """Draw some records of a table beside the cube of counts that they belong to.

    `records` rows of text under `columns`; `counts` (rows, columns) with labels for
    both sides.
    """
    cells = np.asarray(counts)
    tall = max(HEIGHT, 0.27 * len(records) + 0.9)
    figure, ((left, right),) = new_panels(1, 2, 1.15 * WIDTH, tall)
    for axes, title in ((left, "records"), (right, "counts x")):
        axes.set_axis_off()
        axes.set_title(title)
    rows = [list(row) for row in records]
    table = left.table(
        cellText=rows, colLabels=list(columns), loc="center", cellLoc="center"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    table.scale(1.0, 1.35)
    _grid(right, cells, row_labels, column_labels)
    texts = [
        f"{row}: "
        + ", ".join(
            f"{int(c)} at {n}" for c, n in zip(line, column_labels, strict=True)
        )
        for row, line in zip(row_labels, cells, strict=True)
    ]
    return (
        figure,
        (
            f"On the left {len(records)} records with {' and '.join(columns)}; on the"
            f" right the cube of counts, {'; '.join(texts)}."
        ),
    )


def _grid(
    axes: Axes, cells: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> None:
    height, width = cells.shape
    axes.set(xlim=(-1.0, width), ylim=(height, -0.7))
    for (i, j), count in np.ndenumerate(cells):
        colour = to_rgba(SERIES[0], 0.25 * count / max(cells.max(), 1))
        axes.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="0.4"))
        axes.text(j + 0.5, i + 0.5, f"{int(count)}", ha="center", va="center")
    for i, label in enumerate(rows):
        axes.text(-0.08, i + 0.5, label, ha="right", va="center", fontsize=9)
    for j, label in enumerate(columns):
        axes.text(
            j + 0.5,
            -0.12,
            label.replace(" ", "\n"),
            ha="center",
            va="bottom",
            fontsize=9,
        )


def framework_diagram() -> tuple[Figure, str]:
    """Draw how the online system treats a question."""
    figure, ((axes,),) = new_panels(
        1, 1, _COLUMN, 1.5 * HEIGHT
    )  # narrow enough for a phone
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    drawn = {}
    for name, (x, y, text, colour) in _BOXES.items():
        look = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "0.35"}
        drawn[name] = axes.text(
            x, y, text, ha="center", va="center", fontsize=9.5, bbox=look
        )
    for start, end, label in _ARROWS:
        _arrow(axes, drawn[start], drawn[end], label)
    return (
        figure,
        (
            "Flow chart. A question goes to the history: when it is estimable there"
            " with a short enough interval, a derived answer leaves at no cost."
            " Otherwise the smallest budget is worked out. If the overall cost would"
            " exceed the bound, the question is rejected and nothing changes. If not,"
            " the spend is written to the account, noise is drawn and kept, and the"
            " answer leaves; the account is the history of the next question."
        ),
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
    look: Any = {"fontsize": 9, "color": "0.25", "va": "center"}
    if y0 == y1:  # on the line, between the frames of two boxes side by side
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(x0 + 0.63 * (x1 - x0), y0, label, ha="center", bbox=behind, **look)
    else:
        axes.text(min(x0, x1) + 0.015, (y0 + y1) / 2, label, ha="left", **look)
