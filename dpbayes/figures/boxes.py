"""Box plots of simulated distances with the exact quantiles of the same law marked on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import dark
from dpbayes.figures.language import styles, tag
from dpbayes.figures.readings import HOLLOW, RESIDUALS, residuals
from dpbayes.figures.theme import HEIGHT, WIDTH, new_panels


@dataclass(frozen=True)
class Boxes:
    """One mechanism's boxes: a sample (runs,) for each group.

    `quantiles`, shape (groups, 3), are the exact lower quartile, median and upper quartile of the
    law the samples come from. `readings` are quartiles, medians and whisker ends read off a
    published box plot: (group, value, error, z), z the difference from the law in errors.
    """

    label: str
    samples: Sequence[ArrayLike]
    quantiles: ArrayLike | None = None
    readings: Sequence[tuple[int, float, float, float]] = ()

    def __post_init__(self) -> None:
        if not self.samples or any(np.size(sample) < 2 for sample in self.samples):
            raise ValueError("samples must hold at least one group of at least 2 distances")
        if self.quantiles is not None and np.shape(self.quantiles) != (len(self.samples), 3):
            raise ValueError(
                f"quantiles must have shape ({len(self.samples)}, 3), "
                f"got {np.shape(self.quantiles)}"
            )


@dataclass(frozen=True)
class BoxPanel:
    """Mechanisms drawn side by side in every group."""

    boxes: Sequence[Boxes]
    title: str = ""

    @property
    def read(self) -> bool:
        """Whether some of the boxes have readings."""
        return any(one.readings for one in self.boxes)


def boxes(
    xlabel: str,
    ylabel: str,
    groups: Sequence[str],
    panels: Sequence[BoxPanel],
    whiskers: float = 1.5,
    notch: bool = True,
    ylim: tuple[float | None, float | None] = (0.0, None),
    height: float | None = None,
) -> tuple[Figure, str]:
    """Draw one group of boxes at each label of `groups`, panels below one another.

    A box reaches from quartile to quartile, its line is the median, the notch is the median's 95%
    band, the whiskers end at the last run within `whiskers` box lengths, dots lie beyond. Short
    black bars are the exact quartiles and medians, circles what was read off a published figure,
    with the residuals in a panel below. Returns the figure and its alternative text.
    """
    if not panels or any(len(b.samples) != len(groups) for panel in panels for b in panel.boxes):
        raise ValueError(f"each of the boxes must have {len(groups)} samples, one a group")
    extra = sum(panel.read for panel in panels)
    tall = HEIGHT * (0.55 + 0.5 * len(panels) + 0.25 * extra) if height is None else height
    figure, rows = new_panels(len(panels) + extra, 1, WIDTH, tall, sharex=True)
    looks = styles(one.label for panel in panels for one in panel.boxes)
    colors = {label: str(look["color"]) for label, look in looks.items()}
    places = iter(axes for (axes,) in rows)
    for panel in panels:
        axes = next(places)
        for place, one in enumerate(panel.boxes):
            shift = (place - (len(panel.boxes) - 1) / 2) * 0.8 / len(panel.boxes)
            _draw(axes, one, colors[one.label], shift, 0.8 / len(panel.boxes), whiskers, notch)
        ticks = np.arange(len(groups))
        axes.set_xticks(ticks, groups)
        axes.set(ylabel=ylabel, title=panel.title, ylim=ylim, xlim=(-0.6, len(groups) - 0.4))
        axes.grid(False, axis="x")
        if panel.read:
            _residuals(next(places), panel, colors)
    rows[-1][0].set_xlabel(xlabel)
    rows[-1][0].tick_params(axis="x", rotation=90 if len(groups) > 9 else 0)
    _legend(figure, panels, colors)
    return figure, _describe(xlabel, ylabel, groups, panels)


def _draw(
    axes: Axes,
    one: Boxes,
    color: str,
    shift: float,
    width: float,
    whiskers: float,
    notch: bool,
) -> None:
    at = np.arange(len(one.samples), dtype=np.float64) + shift
    stats = [_stats(sample, whiskers) for sample in one.samples]
    tag(_bodies(axes, at, stats, 0.41 * width, color, notch), one.label, dashed=False)
    _strokes(axes, at, stats, 0.41 * width, color, notch)
    if one.quantiles is not None:
        exact = np.asarray(one.quantiles, dtype=np.float64)
        middle = np.repeat(at, 3)
        reach = 0.45 * width
        axes.hlines(exact.ravel(), middle - reach, middle + reach, "black", linewidth=1.1)
    if one.readings:
        group, value, error, _ = np.array(one.readings).T
        at = group + shift + 0.3 * width
        look = {"color": color, "linestyle": "none", **HOLLOW, "markersize": 3.5, "zorder": 5}
        axes.errorbar(at, value, error, elinewidth=0.8, **look)


def _bodies(
    axes: Axes,
    at: NDArray[np.float64],
    stats: Sequence[Mapping[str, Any]],
    half: float,
    color: str,
    notch: bool,
) -> PathPatch:
    """Draw all boxes of a mechanism as one artist: a figure of many is drawn several times."""
    if notch:
        sides = np.array([-1.0, 1.0, 1.0, 0.5, 1.0, 1.0, -1.0, -1.0, -0.5, -1.0, -1.0])
        names = ["q1", "q1", "cilo", "med", "cihi", "q3", "q3", "cihi", "med", "cilo", "q1"]
    else:
        sides, names = np.array([-1.0, 1.0, 1.0, -1.0, -1.0]), ["q1", "q1", "q3", "q3", "q1"]
    outlines = [
        Path(np.column_stack((place + half * sides, [box[name] for name in names])), closed=True)
        for place, box in zip(at, stats, strict=True)
    ]
    look: Any = {"facecolor": (*_light(color), 1.0), "edgecolor": color, "linewidth": 0.9}
    body = PathPatch(Path.make_compound_path(*outlines), zorder=Line2D.zorder, **look)
    axes.add_artist(body)
    return body


def _strokes(
    axes: Axes,
    at: NDArray[np.float64],
    stats: Sequence[Mapping[str, Any]],
    half: float,
    color: str,
    notch: bool,
) -> None:
    """Draw whiskers, their ends, medians and what lies beyond, one artist each for all boxes."""
    lower, q1, median, q3, upper = (
        np.array([box[name] for box in stats]) for name in ("whislo", "q1", "med", "q3", "whishi")
    )
    reach = 0.5 * half  # of the whiskers' ends, and of a median between notches
    thin: Any = {"color": color, "linewidth": 0.9}
    _lines(axes, np.tile(at, 2), np.append(q1, q3), np.tile(at, 2), np.append(lower, upper), thin)
    ends = np.append(lower, upper)
    _lines(axes, np.tile(at - reach, 2), ends, np.tile(at + reach, 2), ends, thin)
    middle: Any = {"color": dark(color), "linewidth": 1.4, "solid_capstyle": "butt", "zorder": 2.1}
    side = reach if notch else half
    _lines(axes, at - side, median, at + side, median, middle)
    beyond = [box["fliers"] for box in stats]
    places = np.repeat(at, [len(some) for some in beyond])
    dots: Any = {"markersize": 2, "markeredgecolor": color, "markerfacecolor": "none"}
    axes.plot(places, np.concatenate(beyond), ".", **dots)


def _lines(
    axes: Axes,
    x0: NDArray[np.float64],
    y0: NDArray[np.float64],
    x1: NDArray[np.float64],
    y1: NDArray[np.float64],
    look: Any,
) -> None:
    """Draw lines from (x0, y0) to (x1, y1) as one artist: what is not a number breaks it."""
    nothing = np.full(x0.size, np.nan)
    axes.plot(*(np.column_stack((a, b, nothing)).ravel() for a, b in ((x0, x1), (y0, y1))), **look)


def _residuals(axes: Axes, panel: BoxPanel, colors: Mapping[str, str]) -> None:
    points = []
    for place, one in enumerate(panel.boxes):
        if one.readings:
            group, _, _, scores = np.array(one.readings).T
            shift = (place - (len(panel.boxes) - 1) / 2) * 0.8 / len(panel.boxes)
            points.append((group + shift, scores, colors[one.label]))
    residuals(axes, points)
    axes.set_title(RESIDUALS)


def _stats(sample: ArrayLike, whiskers: float) -> dict[str, Any]:
    # Distances are discrete: one dot for many equal runs looks the same and is drawn once.
    (stats,) = boxplot_stats(np.asarray(sample), whis=whiskers)
    return {**stats, "fliers": np.unique(stats["fliers"])}


def _light(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.65 + 0.35 * red, 0.65 + 0.35 * green, 0.65 + 0.35 * blue


def _legend(figure: Figure, panels: Sequence[BoxPanel], colors: Mapping[str, str]) -> None:
    handles = [
        Line2D([], [], color=color, linewidth=6, label=label) for label, color in colors.items()
    ]
    if any(one.quantiles is not None for panel in panels for one in panel.boxes):
        handles.append(Line2D([], [], color="black", linewidth=1.1, label="exact quartiles"))
    if any(panel.read for panel in panels):
        circle = {"color": "0.35", "linestyle": "none", **HOLLOW, "markersize": 3.5}
        handles.append(Line2D([], [], label="read off the published figure", **circle))
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=10, frameon=False)


def _describe(xlabel: str, ylabel: str, groups: Sequence[str], panels: Sequence[BoxPanel]) -> str:
    sentences = [f"Box plots of {ylabel} by {xlabel}."]
    for panel in panels:
        sentences += [f"Panel: {panel.title}."] if panel.title else []
        for one in panel.boxes:
            sentences.append(f"{one.label}: median {_course(one, groups)}.")
    return " ".join(sentences)


def _course(one: Boxes, groups: Sequence[str]) -> str:
    """Return the medians of the first and last group, and the extremes where they lie between."""
    shown = [f"{_median(one, group):.3g}" for group in range(len(groups))]
    values = [float(text) for text in shown]
    text = f"from {shown[0]} at {groups[0]} to {shown[-1]} at {groups[-1]}"
    for word, extreme in (("highest", max(values)), ("lowest", min(values))):
        if extreme not in (values[0], values[-1]):
            at = values.index(extreme)
            text += f", {word} {shown[at]} at {groups[at]}"
    return text


def _median(one: Boxes, group: int) -> float:
    if one.quantiles is not None:
        exact: NDArray[np.float64] = np.asarray(one.quantiles, dtype=np.float64)
        return float(exact[group, 1]) + 0.0  # no minus zero
    return float(np.median(np.asarray(one.samples[group]))) + 0.0
