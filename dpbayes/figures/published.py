"""Figures beside which the points of a published picture are laid: circles, and what is left.

`read_off` turns readings into curves for `lines`; the other functions draw what is neither a curve
nor a box: single probabilities, clouds of candidates, runs one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import dark
from dpbayes.figures.language import SERIES, styles, tag
from dpbayes.figures.lines import NOTES, Curve
from dpbayes.figures.readings import HOLLOW, RESIDUALS, residuals
from dpbayes.figures.steps import Masses, StepPanel
from dpbayes.figures.theme import HEIGHT, WIDTH, new_panels

Reading = tuple[float, float, float, float]


def read_off(
    readings: Mapping[str, Sequence[Reading]],
) -> tuple[list[Curve], list[Curve]]:
    """Return the points of several curves as circles with error bars, and their residuals.

    `readings` are (x, y, error, z) by the label of the curve they belong to.

    >>> circles, left = read_off({"lapMech": [(100.0, 0.2, 0.01, -0.5)]})
    >>> circles[0].kind, float(left[0].y[0])
    ('reading', -0.5)
    """
    above, below = [], []
    for label, points in readings.items():
        if points:
            x, y, error, z = np.array(points, dtype=np.float64).T
            above.append(Curve(label, x, y, "reading", error))
            below.append(Curve(label, x, z, "residual"))
    return above, below


def dots(
    panels: Sequence[StepPanel],
    xlabel: str = "distance c from the true posterior",
    yscale: str = "linear",
    height: float | None = None,
) -> tuple[Figure, str]:
    """Draw the probability of each distance as a dot: between two distances there is nothing.

    Dots of several mechanisms at one distance stand side by side, each on a stem. Published
    points are circles beside their dots, with residuals below. Returns the figure and its
    alternative text.
    """
    if not panels or not all(panel.masses for panel in panels):
        raise ValueError("panels must hold at least one panel, each with at least one mechanism")
    extra = sum(bool(panel.residuals) for panel in panels)
    tall = HEIGHT * (0.6 + 0.5 * len(panels) + 0.25 * extra) if height is None else height
    ratios = [high for panel in panels for high in ((1.0, 0.6) if panel.residuals else (1.0,))]
    figure, rows = new_panels(len(ratios), 1, WIDTH, tall, height_ratios=ratios)
    labels = list(dict.fromkeys(one.label for panel in panels for one in panel.masses))
    places = iter(axes for (axes,) in rows)
    for panel in panels:
        axes = next(places)
        gap = _gap(panel)
        for one in panel.masses:
            _stems(axes, one, labels, gap, yscale)
        axes.set(ylabel="P(H = c)", title=panel.title, yscale=yscale)
        if yscale == "linear":
            axes.set_ylim(bottom=0.0)
        below = next(places) if panel.residuals else axes
        below.set_xlabel(xlabel)
        if panel.residuals:
            found = [(_shifted(one, labels, gap), one) for one in panel.residuals]
            scores = [[row[3] for row in one.readings] for _, one in found]
            looks = styles(labels)
            colors = [str(looks[one.label]["color"]) for _, one in found]
            residuals(below, zip([x for x, _ in found], scores, colors, strict=True))
            below.set(xlim=axes.get_xlim(), title=RESIDUALS)
    _names(figure, labels, extra > 0)
    return figure, _describe_dots(panels)


def _gap(panel: StepPanel) -> float:
    # The smallest step between two distances of the panel, but no less than can be seen.
    found = np.unique(np.concatenate([np.asarray(one.distances) for one in panel.masses]).round(9))
    if found.size < 2:
        return 1.0
    return float(max(np.diff(found).min(), (found[-1] - found[0]) / 16.0))


def _shift(label: str, labels: Sequence[str], gap: float) -> float:
    return (labels.index(label) - (len(labels) - 1) / 2) * 0.8 * gap / len(labels)


def _shifted(one: Masses, labels: Sequence[str], gap: float) -> NDArray[np.float64]:
    at = np.array([row[0] for row in one.readings])
    return at + _shift(one.label, labels, gap)


def _stems(axes: Axes, one: Masses, labels: Sequence[str], gap: float, yscale: str) -> None:
    look = styles(labels)[one.label]
    x, p = np.asarray(one.distances), np.asarray(one.probabilities)
    kept = p > 0 if yscale == "log" else np.ones(p.shape, dtype=bool)
    at = x[kept] + _shift(one.label, labels, gap)
    if yscale == "linear":
        axes.vlines(at, 0.0, p[kept], color=look["color"], linewidth=1.2, alpha=0.6)
    tag(axes.plot(at, p[kept], **{**look, "linestyle": "none", "markersize": 4.0})[0], one.label)
    if one.readings:
        values = np.array([row[1:3] if len(row) > 2 else (row[1], 0.0) for row in one.readings])
        circle = {**HOLLOW, "markersize": 6.0, "markerfacecolor": "none", "linestyle": "none"}
        where = _shifted(one, labels, gap)
        axes.errorbar(where, *values.T, color=look["color"], elinewidth=1.0, zorder=5, **circle)


def _names(figure: Figure, labels: Sequence[str], read: bool) -> None:
    looks = styles(labels)
    handles = [
        Line2D([], [], label=label, **{**look, "linestyle": "none"})
        for label, look in looks.items()
    ]
    if read:
        circle = {**HOLLOW, "color": "0.35", "linestyle": "none"}
        handles.append(Line2D([], [], label=NOTES["reading"], **circle))
    legend = figure.legend(
        handles=handles, loc="outside lower left", ncols=3, fontsize=10, frameon=False
    )
    for text, look in zip(legend.get_texts(), looks.values(), strict=False):
        text.set_color(dark(str(look["color"])))


def _describe_dots(panels: Sequence[StepPanel]) -> str:
    sentences = ["Probability of each distance between the released and the true posterior."]
    for panel in panels:
        sentences += [f"Panel: {panel.title}."] if panel.title else []
        for one in panel.masses:
            p = np.asarray(one.probabilities)
            sentences.append(f"{one.label}: {p[0]:.3g} at the nearest, {p[-1]:.2g} at the last.")
    return " ".join(sentences)


def change_cloud(
    distances: ArrayLike, changes: ArrayLike, read: Sequence[Reading], xlabel: str, ylabel: str
) -> tuple[Figure, str]:
    """Draw each candidate as a dot at its distance and value, with readings and residuals.

    `distances` and `changes`, shape (N,); `read` are (distance, value, error, z) of some of the
    candidates. Returns the figure and its alternative text.
    """
    x, y = np.asarray(distances, dtype=np.float64), np.asarray(changes, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size == 0:
        raise ValueError(
            f"distances and changes must have one shape (N,), got {x.shape}, {y.shape}"
        )
    rows = 2 if read else 1
    figure, panels = new_panels(rows, 1, WIDTH, HEIGHT * (0.55 + 0.45 * rows), sharex=True)
    axes = panels[0][0]
    axes.plot(x, y, color="0.55", marker=".", markersize=3.0, linestyle="none", label="computed")
    axes.set(ylabel=ylabel)
    place = abs(float(x[int(np.argmax(y))]))  # a distance: no minus zero
    sentence = f"Dots of {ylabel} against {xlabel}, one for each of {x.size} candidates: the "
    sentence += (
        f"highest, {y.max():.4f}, at {place:.3g}; the farthest has {y[int(np.argmax(x))]:.3g}."
    )
    if read:
        at, value, error, scores = np.array(read, dtype=np.float64).T
        circle = {**HOLLOW, "markerfacecolor": "none", "linestyle": "none", "markersize": 4.0}
        color, note = SERIES[0], NOTES["reading"]
        axes.errorbar(at, value, error, color=color, elinewidth=0.8, label=note, **circle)
        residuals(panels[1][0], [(at, scores, color)])
        panels[1][0].set_title(RESIDUALS)
        sentence += (
            f" Circles: {at.size} readings, the farthest {np.abs(scores).max():.1f} errors off."
        )
    panels[-1][0].set_xlabel(xlabel)
    figure.legend(loc="outside lower left", ncols=2, fontsize=10, frameon=False)
    return figure, sentence


@dataclass(frozen=True)
class Strip:
    """Single runs of one mechanism, (runs,), their exact mean, and a published mean.

    `read` is (value, error, z) of a mean read off a published figure, or None.
    """

    label: str
    sample: ArrayLike
    mean: float
    read: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.sample) != 1 or np.size(self.sample) == 0:
            raise ValueError(f"sample must have shape (runs,), got {np.shape(self.sample)}")


def strips(panels: Mapping[str, Sequence[Strip]], ylabel: str) -> tuple[Figure, str]:
    """Draw runs one by one, mechanism beside mechanism, a panel for each title of `panels`.

    A bar is the exact mean, a circle the published mean of as many runs, in the panel below what
    is left of it. Returns the figure and its alternative text.
    """
    if not panels or not all(panels.values()):
        raise ValueError("panels must hold at least one panel, each with at least one strip")
    figure, rows = new_panels(2 * len(panels), 1, WIDTH, HEIGHT * (0.5 + 0.75 * len(panels)))
    sentences = [f"Dots of {ylabel}, one for each run."]
    looks = styles(one.label for many in panels.values() for one in many)
    for number, (title, many) in enumerate(panels.items()):
        axes, below = rows[2 * number][0], rows[2 * number + 1][0]
        for place, one in enumerate(many):
            _strip(axes, one, place, str(looks[one.label]["color"]))
            read = f", published {one.read[0]:.3g}" if one.read is not None else ""
            sentences.append(f"{title}: {one.label} has the mean {one.mean:.3g}{read}.")
        axes.set(ylabel=ylabel, title=title, ylim=(0.0, 1.0), xlim=(-0.6, len(many) - 0.4))
        left = [(i, one.read[2]) for i, one in enumerate(many) if one.read is not None]
        residuals(below, [([i], [z], str(looks[many[i].label]["color"])) for i, z in left])
        below.set(title=RESIDUALS, xlim=axes.get_xlim())
        for one_axes in (axes, below):
            one_axes.set_xticks(range(len(many)), [one.label for one in many])
            one_axes.grid(False, axis="x")
    return figure, " ".join(sentences)


def _strip(axes: Axes, one: Strip, place: int, color: str) -> None:
    sample = np.asarray(one.sample, dtype=np.float64)
    beside = place + np.linspace(-0.3, 0.3, sample.size)
    axes.plot(beside, sample, color=color, marker=".", markersize=2.5, linestyle="none", alpha=0.6)
    axes.hlines(one.mean, place - 0.38, place + 0.38, "black", linewidth=1.6)
    if one.read is not None:
        value, error, _ = one.read
        axes.errorbar([place], [value], [error], color=color, elinewidth=1.0, zorder=5, **HOLLOW)
