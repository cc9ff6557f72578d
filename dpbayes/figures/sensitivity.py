"""Sensitivity along all data sets, and the change of score for every candidate output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import dark
from dpbayes.figures.language import LOOKS, SERIES, styles, tag
from dpbayes.figures.maps import runs
from dpbayes.figures.theme import HEIGHT, WIDTH, new_axes, new_panels

_TONES = 32  # of a map: the eye tells no more apart, and each is an area of its own

# The colours of the mechanisms that use the one and the other.
_GLOBAL, _LOCAL = LOOKS["expMech"].color, LOOKS["expMech-local"].color


@dataclass(frozen=True)
class Profile:
    """Local sensitivities at the counts (m,), and the global sensitivity above them all."""

    counts: ArrayLike
    local: ArrayLike
    overall: float
    title: str = ""

    def __post_init__(self) -> None:
        for name in ("counts", "local"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if np.ndim(self.counts) != 1 or np.shape(self.counts) != np.shape(self.local):
            raise ValueError(
                "counts and local must have one shape (m,), "
                f"got {np.shape(self.counts)} and {np.shape(self.local)}"
            )


def sensitivity_profile(profiles: Sequence[Profile], xlabel: str) -> tuple[Figure, str]:
    """Draw the local sensitivity along all data sets under the line of the global one.

    The shaded gap is what a mechanism could gain if it were allowed to use the local value.
    Returns the figure and its alternative text.
    """
    if not profiles:
        raise ValueError("profiles must hold at least one profile, got none")
    tall = HEIGHT * (0.5 + 0.45 * len(profiles))
    figure, rows = new_panels(len(profiles), 1, WIDTH, tall, sharex=True)
    sentences = [f"Sensitivity of the distance against {xlabel}."]
    for (axes,), one in zip(rows, profiles, strict=True):
        x, local = np.asarray(one.counts), np.asarray(one.local)
        axes.fill_between(x, local, one.overall, color="0.93", linewidth=0)
        axes.axhline(one.overall, color=_GLOBAL, linestyle="--")
        axes.plot(x, local, color=_LOCAL)
        axes.set(ylabel="sensitivity", title=one.title, ylim=(0.0, 1.22 * one.overall))
        axes.margins(x=0.01)
        middle = int(x.size // 2)
        text: dict[str, Any] = {"ha": "center", "va": "bottom"}
        at = (float(x[middle]), 1.02 * one.overall)
        axes.text(*at, "global sensitivity", color=dark(_GLOBAL), **text)
        at = (float(x[middle]), float(local[middle]) + 0.04 * one.overall)
        axes.text(*at, "local sensitivity", color=dark(_LOCAL), **text)
        sentences.append(_profile_sentence(one))
    rows[-1][0].set_xlabel(xlabel)
    return figure, " ".join(sentences)


def sensitivity_levels(
    counts: ArrayLike, levels: Mapping[str, tuple[str, ArrayLike]], xlabel: str
) -> tuple[Figure, str]:
    """Draw several sensitivities along all data sets, each in the colour of who scales by it.

    `counts` (m,) increase; `levels` maps a mechanism to the name of its sensitivity and the values
    (m,). Returns the figure and its alternative text.
    """
    x = np.asarray(counts, dtype=np.float64)
    if not levels or any(np.shape(values) != x.shape for _, values in levels.values()):
        raise ValueError(f"levels must hold sensitivities of shape {x.shape}, at least one")
    figure, axes = new_axes(xlabel, "sensitivity")
    looks = styles(levels)
    sentences = [f"Sensitivities against {xlabel}."]
    for mechanism, (name, values) in levels.items():
        y = np.asarray(values, dtype=np.float64)
        look = {**looks[mechanism], "marker": None}
        tag(axes.plot(x, y, **look)[0], mechanism)
        middle, quarter = float(y[x.size // 2]), float(y[x.size // 4])
        sentences.append(f"{name}: from {y.min():.3g} to {y.max():.3g}, {middle:.3g} midway.")
        # The lowest is named below its curve, a slope to the right of it, a level above it.
        lowest = all(middle <= np.asarray(other)[x.size // 2] for _, other in levels.values())
        sloping = not lowest and quarter > 1.1 * middle
        axes.annotate(
            f"{name}: {mechanism}",
            (float(x[x.size // (4 if sloping else 2)]), quarter if sloping else middle),
            (4 if sloping else 0, -4 if lowest else 3),
            textcoords="offset points",
            ha="left" if sloping else "center",
            va="top" if lowest else "bottom",
            color=dark(str(look["color"])),
        )
    axes.margins(x=0.01)
    axes.set_ylim(0.0, 1.12 * axes.dataLim.y1)
    return figure, " ".join(sentences)


def _profile_sentence(one: Profile) -> str:
    x, local = np.asarray(one.counts), np.asarray(one.local)
    low, high = int(np.argmin(local)), int(np.argmax(local))
    return (
        f"{one.title + ': ' if one.title else ''}the local sensitivity is {local[high]:.3g} at "
        f"{x[high]:.6g} and falls to {local[low]:.3g} at {x[low]:.6g}; the global one is "
        f"{one.overall:.3g} everywhere."
    )


def score_change_map(outputs: ArrayLike, changes: ArrayLike, at: ArrayLike) -> tuple[Figure, str]:
    """Draw, for each candidate of three counts, the largest change of its score.

    `outputs` (N, 3) are the candidates, `changes` (N,) the largest |H(BI(x), r) - H(BI(x'), r)|
    over the neighbours x' of the data, `at` (3,) the data themselves, marked with a cross. Returns
    the figure and its alternative text.
    """
    points: NDArray[np.int64] = np.asarray(outputs)
    values, here = np.asarray(changes, dtype=np.float64), np.asarray(at)
    if points.ndim != 2 or points.shape[1] != 3 or values.shape != (len(points),):
        raise ValueError(
            f"outputs must have shape (N, 3) and changes (N,), got {points.shape}, {values.shape}"
        )
    figure, axes = new_axes("first count of the candidate r", "second count", width=5.4)
    size = int(points.sum(axis=1).max())
    grid = np.full((size + 1, size + 1), np.nan)
    grid[points[:, 1], points[:, 0]] = values
    tones = shades()
    norm = Normalize(values.min(), values.max())
    _areas(axes, grid, norm, tones)
    halo = [withStroke(linewidth=5, foreground="white")]
    cross: dict[str, Any] = {
        "marker": "x",
        "color": "black",
        "markersize": 9,
        "markeredgewidth": 2.2,
    }
    axes.plot(here[0], here[1], path_effects=halo, **cross)
    axes.annotate(
        "the true posterior",
        xy=(float(here[0]), float(here[1])),
        xytext=(0.97, 0.85),
        textcoords="axes fraction",
        ha="right",
        arrowprops={"arrowstyle": "->", "color": "0.2", "shrinkB": 7},
    )
    scale = ScalarMappable(norm, tones)
    figure.colorbar(scale, ax=axes, label="largest change of the score")
    return figure, _map_sentence(points, values, here)


def shades() -> ListedColormap:
    """Return the tones of the map, from that of nearly nothing to the dark one of the most."""
    import seaborn  # its start-up time is paid only where a map is drawn

    return ListedColormap(seaborn.light_palette(SERIES[0], n_colors=_TONES))


def _areas(axes: Axes, grid: NDArray[np.float64], norm: Normalize, tones: ListedColormap) -> None:
    """Draw the cells of each tone as an area, whose colour turns with the page, as no picture's."""
    edges = np.arange(grid.shape[0] + 1) - 0.5
    tone = np.full(grid.shape, -1)
    seen = np.isfinite(grid)
    tone[seen] = np.minimum((norm(grid[seen]) * tones.N).astype(int), tones.N - 1)
    for one in np.unique(tone[seen]):
        area = Path.make_compound_path(*runs(tone == one, edges, edges))
        color = tones(int(one))
        axes.add_patch(PathPatch(area, facecolor=color, edgecolor=color, linewidth=0.3))
    axes.set(xlim=edges[[0, -1]], ylim=edges[[0, -1]], aspect="equal")
    axes.grid(False)


def _map_sentence(
    points: NDArray[np.int64], values: NDArray[np.float64], here: NDArray[np.int64]
) -> str:
    own = values[np.all(points == here, axis=1)]
    held = own.size > 0 and own[0] >= values.max() * (1.0 - 1e-12)
    place = "the true counts attain it" if held else "the true counts do not attain it"
    return (
        f"A triangle of {len(points)} candidates with three counts, coloured by the largest change "
        f"of their score when one record is replaced: the highest value is {values.max():.4f} and "
        f"{place}; the lowest is {values.min():.2g}."
    )
