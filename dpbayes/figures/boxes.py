"""Boxes of laws: five exact numbers, drawn beside boxes of drawn samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from seaborn.categorical import BoxPlotContainer

from dpbayes.figures.language import palette
from dpbayes.figures.theme import LETTER

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Ranks of the five numbers of a law's box: its ends, its quartiles and its median."""
READ = "read off the printed figure"


def exact_boxes(
    axes: Axes,
    groups: Sequence[str],
    fives: Mapping[str, ArrayLike],
    runs: int = 0,
    read: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
) -> None:
    """Draw boxes of five numbers by ``Axes.bxp``, those of a group side by side.

    `fives` maps a name to shape (groups, 5): ends, quartiles and median, increasing.
    With `runs` the boxes are notched as those of so many runs: the notch is the median
    ± 1.57 interquartile ranges / √runs. `read` maps a name to points of a printed box
    plot: (number of the group, value, standard error).
    """
    colors, room = palette(fives), 0.84 / len(fives)
    for place, (name, five) in enumerate(fives.items()):
        shift, color = (place - (len(fives) - 1) / 2) * room, colors[name]
        stats = [_stats(numbers, runs) for numbers in np.asarray(five)]
        edge: dict[str, Any] = {"color": color, "linewidth": 0.8}
        made = axes.bxp(
            stats,
            positions=np.arange(len(stats)) + shift,
            widths=0.9 * room,
            shownotches=runs > 0,
            showfliers=False,
            showcaps=False,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": f"{color}59", "edgecolor": color, "linewidth": 0.8},
            whiskerprops=edge,
            medianprops={"color": color, "linewidth": 1.6},
        )
        axes.add_container(BoxPlotContainer(made))
        (handle,) = axes.plot([], [], "s", color=color, alpha=0.6, label=name)
        handle.set_markersize(6.0)
        if points := (read or {}).get(name):
            x, y, error = np.array(points, dtype=np.float64).T
            axes.errorbar(x + shift, y, error, ls="none", color="0.25", lw=0.8)
            axes.plot(x + shift, y, **_circle(color), label=f"_{name}, {READ}")
    if read and any(read.values()):
        axes.add_line(Line2D([], [], **_circle("0.25"), label=READ))
    inches = axes.bbox.width / axes.figure.dpi
    crowded = LETTER * (sum(map(len, groups)) + len(groups)) > inches
    step = -(-int(len(groups) * 0.14) // max(int(inches), 1)) or 1 if crowded else 1
    places = range(0, len(groups), step)
    written = [groups[place] for place in places]
    axes.set_xticks(places, written, rotation=90 if crowded else 0)
    axes.set(xlim=(-0.6, len(groups) - 0.4), ylim=(0.0, None))
    axes.grid(visible=False, axis="x")


def drawn_boxes(axes: Axes, runs: Any, **columns: Any) -> None:
    """Draw the notched boxes of simulated runs by ``sns.boxplot``.

    `runs` is tidy, a row for each run; `columns` are seaborn's x, y and hue.
    """
    look: dict[str, Any] = {
        "notch": True,
        "fliersize": 0.0,
        "linewidth": 0.8,
        "saturation": 1.0,
    }
    look |= {
        "palette": palette(runs[columns["hue"]].unique()),
        "boxprops": {"alpha": 0.6},
    }
    with warnings.catch_warnings():  # seaborn 0.13 under matplotlib 3.11
        warnings.filterwarnings("ignore", "vert: bool was deprecated")
        sns.boxplot(runs, **columns, **look, ax=axes)
    axes.set_ylim(bottom=0.0)


def _circle(color: str) -> dict[str, Any]:
    look = {"markerfacecolor": "white", "markersize": 2.8, "markeredgewidth": 0.8}
    return {"marker": "o", "linestyle": "none", "color": color, "zorder": 4, **look}


def _stats(five: ArrayLike, runs: int) -> dict[str, float]:
    low, lower, middle, upper, high = map(float, np.asarray(five))
    reach = 1.57 * (upper - lower) / np.sqrt(max(runs, 1))
    return {
        "whislo": low,
        "q1": lower,
        "med": middle,
        "q3": upper,
        "whishi": high,
        "cilo": middle - reach,
        "cihi": middle + reach,
    }
