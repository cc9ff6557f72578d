"""Who wins where: one coloured cell for each pair of settings, one panel for each
epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._old_theme import WIDTH, new_panels, plain_decades
from dpbayes.figures.language import LOOKS, mechanism_of, series_style

HATCHES = ("", "////", "....", "xx")  # of what is not a mechanism


@dataclass(frozen=True)
class MapPanel:
    """The winner's number in each cell, shape (rows, columns), under a title."""

    index: ArrayLike
    title: str = ""


def maps(
    xlabel: str,
    ylabel: str,
    columns: ArrayLike,
    rows: ArrayLike,
    labels: Sequence[str],
    panels: Sequence[MapPanel],
    xscale: str = "log",
    yscale: str = "linear",
) -> tuple[Figure, str]:
    """Draw one map a panel, two panels side by side; colour and hatching name the
    winner.

    `columns` (c,) and `rows` (r,) are the increasing settings of the cells, `labels`
    the names that the numbers in each panel's `index` (r, c) stand for.
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (columns, rows))
    down = (len(panels) + 1) // 2
    figure, axes = new_panels(down, min(2, len(panels)), WIDTH, 0.7 + 2.4 * down)
    grid = [one for row in axes for one in row]
    for one, panel in zip(grid, panels, strict=False):
        _draw(one, x, y, np.asarray(panel.index), labels, (xscale, yscale))
        one.set(title=panel.title, xlabel=xlabel, ylabel=ylabel)
    for empty in grid[len(panels) :]:
        empty.set_axis_off()
    used = np.unique(
        np.concatenate([np.ravel(panel.index) for panel in panels])
    ).tolist()
    handles = [Patch(**_fill(labels, number), label=labels[number]) for number in used]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False)
    return figure, _describe(xlabel, ylabel, x, y, labels, panels)


def _edges(values: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    at = np.log(values) if scale == "log" else values
    middle = 0.5 * (at[1:] + at[:-1])
    ends = np.concatenate(
        ([1.5 * at[0] - 0.5 * at[1]], middle, [1.5 * at[-1] - 0.5 * at[-2]])
    )
    return np.asarray(np.exp(ends) if scale == "log" else ends)


def _draw(
    axes: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    index: NDArray[np.int64],
    labels: Sequence[str],
    scales: tuple[str, str],
) -> None:
    xe, ye = _edges(x, scales[0]), _edges(y, scales[1])
    axes.set(xscale=scales[0], yscale=scales[1], xlim=xe[[0, -1]], ylim=ye[[0, -1]])
    for number in np.unique(index):
        region = Path.make_compound_path(*runs(index == number, xe, ye))
        axes.add_patch(PathPatch(region, **_fill(labels, int(number))))
    for which in "xy":
        plain_decades(axes, which)
    axes.grid(False)


def runs(
    won: NDArray[np.bool_], xe: NDArray[np.float64], ye: NDArray[np.float64]
) -> Iterator[Path]:
    """Yield one rectangle for each run of neighbouring cells in a row."""
    for i, row in enumerate(won):
        turns = np.flatnonzero(
            np.diff(np.concatenate(([False], row, [False])).astype(int))
        )
        for first, last in turns.reshape(-1, 2):
            corners = [(xe[first], ye[i]), (xe[last], ye[i])]
            corners += [
                (xe[last], ye[i + 1]),
                (xe[first], ye[i + 1]),
                (xe[first], ye[i]),
            ]
            yield Path(corners, closed=True)


def _fill(labels: Sequence[str], number: int) -> dict[str, Any]:
    """Return the look of a mechanism's region: a tint of its colour under its
    hatching."""
    name = mechanism_of(labels[number])
    color = LOOKS[name].color if name else str(series_style(number)["color"])
    hatch = LOOKS[name].hatch if name else HATCHES[number % len(HATCHES)]
    tint = tuple(0.55 + 0.45 * part for part in to_rgb(color))
    return {"facecolor": tint, "hatch": hatch, "edgecolor": color, "linewidth": 0.0}


def _describe(
    xlabel: str,
    ylabel: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    labels: Sequence[str],
    panels: Sequence[MapPanel],
) -> str:
    sentences = [
        f"Maps over {xlabel} from {x[0]:g} to {x[-1]:g} and {ylabel} from {y[0]:g} to"
        f" {y[-1]:g}: which mechanism has the smallest mean distance."
    ]
    for panel in panels:
        index = np.asarray(panel.index)
        shares = [
            f"{label} in {100 * np.mean(index == number):.0f} percent of the cells"
            for number, label in enumerate(labels)
            if np.any(index == number)
        ]
        title = f"{panel.title}: " if panel.title else ""
        sentences.append(title + ", ".join(shares) + ".")
    return " ".join(sentences)
