"""Laws of a distance as intervals: where the middle half lies, where nine in ten, and the mean.

Every number is exact, nothing is simulated, and nothing is drawn between two groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import dark
from dpbayes.figures.language import styles, tag
from dpbayes.figures.theme import WIDTH, new_panels

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROOM = 0.8  # of a group's width is used
_COLUMNS = 3


@dataclass(frozen=True)
class Spread:
    """One mechanism: quantiles at `LEVELS`, shape (groups, 5), and means, shape (groups,)."""

    label: str
    quantiles: ArrayLike
    means: ArrayLike

    def __post_init__(self) -> None:
        levels = np.asarray(self.quantiles, dtype=np.float64)
        means = np.asarray(self.means, dtype=np.float64)
        if levels.ndim != 2 or levels.shape[1] != len(LEVELS) or means.shape != levels.shape[:1]:
            raise ValueError(
                f"quantiles must have shape (groups, {len(LEVELS)}) and means (groups,), "
                f"got {levels.shape} and {means.shape}"
            )
        if np.any(np.diff(levels, axis=1) < 0.0):
            raise ValueError(f"quantiles of {self.label} must not fall from level to level")
        object.__setattr__(self, "quantiles", levels)
        object.__setattr__(self, "means", means)


def spreads(
    xlabel: str, ylabel: str, groups: Sequence[str], panels: Mapping[str, Sequence[Spread]]
) -> tuple[Figure, str]:
    """Draw small multiples, a panel for each title, in each the mechanisms side by side by group.

    A thin bar reaches from the 5% to the 95% quantile, a thick one over the middle half, the gap
    in it is the median, the marker the mean. Returns the figure and its alternative text.
    """
    if not panels or any(
        len(np.asarray(one.means)) != len(groups) for many in panels.values() for one in many
    ):
        raise ValueError(f"each of the spreads must have {len(groups)} groups")
    across = min(_COLUMNS, len(panels))
    down = -(-len(panels) // across)
    sharing = {"sharex": True, "sharey": True}
    figure, rows = new_panels(down, across, WIDTH, 1.0 + 2.3 * down, **sharing)
    grid = [axes for row in rows for axes in row]
    looks = styles(one.label for many in panels.values() for one in many)
    for axes, (title, many) in zip(grid, panels.items(), strict=False):
        for place, one in enumerate(many):
            shift = (place - (len(many) - 1) / 2) * _ROOM / len(many)
            _draw(axes, one, looks[one.label], shift, _ROOM / len(many))
        axes.set(title=title, xlabel=xlabel, xlim=(-0.6, len(groups) - 0.4))
        axes.set_xticks(range(len(groups)), groups, rotation=90 if len(groups) > 6 else 0)
        axes.grid(False, axis="x")
    grid[0].set_ylim(bottom=0.0)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for row in rows:
        row[0].set_ylabel(ylabel)
    _legend(figure, looks)
    return figure, _describe(ylabel, groups, panels)


def _draw(axes: Axes, one: Spread, look: Mapping[str, Any], shift: float, room: float) -> None:
    at = np.arange(len(np.asarray(one.means))) + shift
    least, low, middle, high, most = np.asarray(one.quantiles).T
    color = str(look["color"])
    axes.vlines(at, least, most, color=color, linewidth=1.0)
    axes.vlines(at, low, high, color=color, linewidth=min(6.0, 24.0 * room), alpha=0.55)
    axes.hlines(middle, at - 0.35 * room, at + 0.35 * room, color="white", linewidth=1.4, zorder=3)
    means = {**look, "linestyle": "none", "markersize": 4.5, "zorder": 4}
    tag(axes.plot(at, one.means, **means)[0], one.label)


def _legend(figure: Figure, looks: Mapping[str, Mapping[str, Any]]) -> None:
    handles = [
        Line2D([], [], label=label, **{**look, "linestyle": "-", "linewidth": 3.0})
        for label, look in looks.items()
    ]
    for width, words in ((1.0, "5% to 95%"), (5.0, "middle half, gap: median")):
        handles.append(Line2D([], [], color="0.35", linewidth=width, label=words))
    handles.append(Line2D([], [], color="0.35", linestyle="none", marker="o", label="mean"))
    legend = figure.legend(
        handles=handles, loc="outside lower left", ncols=3, fontsize=10, frameon=False
    )
    for text, look in zip(legend.get_texts(), looks.values(), strict=False):
        text.set_color(dark(str(look["color"])))


def _describe(ylabel: str, groups: Sequence[str], panels: Mapping[str, Sequence[Spread]]) -> str:
    sentences = [f"Intervals of {ylabel}, one for each mechanism and group."]
    for title, many in panels.items():
        sentences.append(f"Panel {title}.")
        for one in many:
            means: NDArray[np.float64] = np.asarray(one.means)
            spread = np.asarray(one.quantiles) + 0.0  # no minus zero
            sentences.append(
                f"{one.label}: mean {means[0]:.3g} at {groups[0]} and {means[-1]:.3g} at "
                f"{groups[-1]}, where nine in ten lie between {spread[-1, 0]:.3g} and "
                f"{spread[-1, -1]:.3g}."
            )
    return " ".join(sentences)
