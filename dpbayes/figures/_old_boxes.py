"""Laws of a distance as boxes of five exact numbers, beside points of a printed box
plot.
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
from dpbayes.figures._old_theme import HOLLOW, WIDTH, new_panels, titled
from dpbayes.figures.language import styles

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Ranks of the five numbers of a box: its ends, its quartiles and its median."""


@dataclass(frozen=True)
class Box:
    """One mechanism's boxes: `five`, shape (groups, 5), ends, quartiles and median,
    increasing.

    `read` holds points of a printed box plot as (number of the group, value, standard
    error).
    """

    label: str
    five: ArrayLike
    read: Sequence[tuple[float, float, float]] = ()


def boxes(
    xlabel: str,
    ylabel: str,
    groups: Sequence[str],
    panels: Mapping[str, Sequence[Box]],
    ends: str = "5% to 95%",
) -> tuple[Figure, str]:
    """Draw the mechanisms side by side in every group, a panel below the other for each
    title.

    A thin bar reaches from end to end (`ends` says what these are), a thick one over
    the middle half, the gap in it is the median; circles are points of a printed
    figure.
    """
    figure, rows = new_panels(
        len(panels),
        1,
        WIDTH,
        1.3 + (2.7 if len(panels) < 3 else 2.0) * len(panels),
        sharex=True,
    )
    looks = styles(one.label for many in panels.values() for one in many)
    for (axes,), (title, many) in zip(rows, panels.items(), strict=True):
        room = 0.8 / len(many)
        for place, one in enumerate(many):
            _draw(
                axes, one, looks[one.label], (place - (len(many) - 1) / 2) * room, room
            )
        titled(axes, title)
        axes.set(ylabel=ylabel, xlim=(-0.6, len(groups) - 0.4))
        axes.set_ylim(bottom=0.0)
        axes.set_xticks(
            range(len(groups)), groups, rotation=90 if len(groups) > 10 else 0
        )
        axes.grid(False, axis="x")
    rows[-1][0].set_xlabel(xlabel)
    _legend(
        figure, looks, ends, any(one.read for many in panels.values() for one in many)
    )
    return figure, _describe(ylabel, groups, panels)


def _draw(
    axes: Axes, one: Box, look: Mapping[str, Any], shift: float, room: float
) -> None:
    low, lower, middle, upper, high = np.asarray(one.five).T
    at = np.arange(low.size) + shift
    color = str(look["color"])
    wide = min(
        18.0, 220.0 * room / low.size
    )  # points: three quarters of the room there is
    axes.vlines(at, low, high, color=color, linewidth=1.0)
    axes.vlines(at, lower, upper, color=color, linewidth=wide, alpha=0.5)
    axes.hlines(
        middle, at - 0.4 * room, at + 0.4 * room, color=dark(color), linewidth=1.6
    )
    if one.read:
        group, value, error = np.array(one.read, dtype=np.float64).T
        circle = {
            "color": color,
            "linestyle": "none",
            **HOLLOW,
            "markersize": 3.5,
            "zorder": 5,
        }
        axes.errorbar(group + shift, value, error, elinewidth=0.8, **circle)


def _legend(
    figure: Figure, looks: Mapping[str, Mapping[str, Any]], ends: str, read: bool
) -> None:
    handles = [Line2D([], [], color=look["color"], linewidth=5.0, alpha=0.5, label=label)
               for label, look in looks.items()]  # fmt: skip
    handles.append(Line2D([], [], color="0.35", linewidth=1.0, label=f"thin: {ends}"))
    if read:
        circle = {"color": "0.35", "linestyle": "none", **HOLLOW, "markersize": 3.5}
        handles.append(Line2D([], [], label="read off the printed figure", **circle))
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False)


def _describe(
    ylabel: str, groups: Sequence[str], panels: Mapping[str, Sequence[Box]]
) -> str:
    sentences = [f"Boxes of {ylabel}, one for each mechanism and group."]
    for title, many in panels.items():
        sentences += [f"Panel: {title}."] if title else []
        for one in many:
            # no minus zero
            medians: NDArray[np.float64] = np.asarray(one.five)[:, 2] + 0.0
            ends = (
                f"{medians[0]:.3g} at {groups[0]} and {medians[-1]:.3g} at {groups[-1]}"
            )
            sentences.append(f"{one.label}: median {ends}.")
    return " ".join(sentences)
