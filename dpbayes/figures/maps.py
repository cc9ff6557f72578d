"""Who wins where: one coloured cell for each pair of settings, one panel for each epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.theme import PALETTE, WIDTH, new_panels

HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "++", "oo")


@dataclass(frozen=True)
class MapPanel:
    """The winner's number in each cell, shape (rows, columns), under a title."""

    index: ArrayLike
    title: str = ""

    def __post_init__(self) -> None:
        whole = np.asarray(self.index)
        if whole.ndim != 2 or whole.size == 0 or not np.issubdtype(whole.dtype, np.integer):
            raise ValueError(f"index must be a table of whole numbers, got shape {whole.shape}")
        object.__setattr__(self, "index", whole)


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
    """Draw one map a panel, two panels side by side; colour and hatching name the winner.

    `columns` (c,) and `rows` (r,) are the increasing settings of the cells, `labels` the names that
    the numbers in each panel's `index` (r, c) stand for. Returns the figure and its alternative
    text.
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (columns, rows))
    _check(x, y, labels, panels)
    down = (len(panels) + 1) // 2
    figure, axes = new_panels(down, min(2, len(panels)), WIDTH, 0.7 + 2.4 * down)
    grid = [one for row in axes for one in row]
    for one, panel in zip(grid, panels, strict=False):
        _draw(one, x, y, np.asarray(panel.index), (xscale, yscale))
        one.set(title=panel.title, xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    for empty in grid[len(panels) :]:
        empty.set_axis_off()
    figure.legend(
        handles=_handles(labels, panels),
        loc="outside lower left",
        ncols=4,
        fontsize=10,
        frameon=False,
    )
    return figure, _describe(xlabel, ylabel, x, y, labels, panels)


def _check(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    labels: Sequence[str],
    panels: Sequence[MapPanel],
) -> None:
    if not panels:
        raise ValueError("panels must hold at least one panel")
    for name, values in (("columns", x), ("rows", y)):
        if values.ndim != 1 or values.size < 2 or np.any(np.diff(values) <= 0):
            raise ValueError(f"{name} must be at least 2 increasing numbers, got {values.tolist()}")
    for panel in panels:
        index = np.asarray(panel.index)
        if index.shape != (y.size, x.size):
            raise ValueError(f"index must have shape {(y.size, x.size)}, got {index.shape}")
        if index.min() < 0 or index.max() >= len(labels):
            raise ValueError(f"index must number the {len(labels)} labels, got {index.max()}")


def _edges(values: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    at = np.log(values) if scale == "log" else values
    middle = 0.5 * (at[1:] + at[:-1])
    ends = np.concatenate(([1.5 * at[0] - 0.5 * at[1]], middle, [1.5 * at[-1] - 0.5 * at[-2]]))
    return np.asarray(np.exp(ends) if scale == "log" else ends)


def _draw(
    axes: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    index: NDArray[np.int64],
    scales: tuple[str, str],
) -> None:
    xe, ye = _edges(x, scales[0]), _edges(y, scales[1])
    colours = ListedColormap(list(PALETTE))
    axes.pcolormesh(xe, ye, index, cmap=colours, vmin=-0.5, vmax=len(PALETTE) - 0.5, alpha=0.55)
    for i, j in np.ndindex(index.shape):
        left, bottom = float(xe[j]), float(ye[i])
        cell = Rectangle((left, bottom), float(xe[j + 1]) - left, float(ye[i + 1]) - bottom)
        cell.set(fill=False, hatch=HATCHES[index[i, j]], edgecolor="0.2", linewidth=0.0)
        axes.add_patch(cell)
    axes.grid(False)


def _handles(labels: Sequence[str], panels: Sequence[MapPanel]) -> list[Patch]:
    used = sorted(
        {int(number) for panel in panels for number in np.unique(np.asarray(panel.index))}
    )
    return [
        Patch(facecolor=PALETTE[i], alpha=0.55, hatch=HATCHES[i], edgecolor="0.2", label=labels[i])
        for i in used
    ]


def _describe(
    xlabel: str,
    ylabel: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    labels: Sequence[str],
    panels: Sequence[MapPanel],
) -> str:
    sentences = [
        f"Maps over {xlabel} from {x[0]:g} to {x[-1]:g} and {ylabel} from {y[0]:g} to {y[-1]:g}: "
        "which mechanism has the smallest mean distance."
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
