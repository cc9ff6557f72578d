"""How probable each distance from the truth is: masses, and the share within a distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from dpbayes.figures._labels import dark
from dpbayes.figures.language import styles, tag
from dpbayes.figures.readings import HOLLOW, RESIDUALS, residuals
from dpbayes.figures.theme import HEIGHT, WIDTH, new_panels


@dataclass(frozen=True)
class Masses:
    """The distances a mechanism's output can have, (m,) increasing, and their probabilities (m,).

    `readings`, when given, are read off a published figure: (distance, probability), or
    (distance, probability, error, z) with z the difference from the computed value in errors.
    """

    label: str
    distances: ArrayLike
    probabilities: ArrayLike
    readings: Sequence[tuple[float, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("distances", "probabilities"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        shapes = np.shape(self.distances), np.shape(self.probabilities)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0] == (0,):
            raise ValueError(f"distances and probabilities must have one shape (m,), got {shapes}")
        if np.any(np.diff(self.distances) < 0):
            raise ValueError("distances must be increasing")


@dataclass(frozen=True)
class StepPanel:
    """Mechanisms that share one pair of axes; `cumulative` draws P(H <= c) as a staircase."""

    masses: Sequence[Masses]
    title: str = ""
    cumulative: bool = False

    @property
    def residuals(self) -> list[Masses]:
        """Mechanisms with readings whose residuals are known."""
        return [one for one in self.masses if one.readings and len(one.readings[0]) == 4]


def steps(
    panels: Sequence[StepPanel],
    xlabel: str = "distance c from the true posterior",
    xlim: tuple[float, float] | None = None,
    yscale: str = "linear",
    height: float | None = None,
) -> tuple[Figure, str]:
    """Draw P(H = c), or P(H <= c), of each mechanism, panels below one another.

    Residuals of readings, where given, have a panel of their own below theirs. Returns the figure
    and its alternative text.
    """
    if not panels or not all(panel.masses for panel in panels):
        raise ValueError("panels must hold at least one panel, each with at least one mechanism")
    extra = sum(bool(panel.residuals) for panel in panels)
    tall = HEIGHT * (0.65 + 0.5 * len(panels) + 0.25 * extra) if height is None else height
    figure, rows = new_panels(len(panels) + extra, 1, WIDTH, tall)
    looks, places = _looks(panels), iter(axes for (axes,) in rows)
    for panel in panels:
        axes = next(places)
        for masses in panel.masses:
            _draw(axes, masses, looks[masses.label], panel.cumulative)
        sign = "≤" if panel.cumulative else "="
        axes.set(ylabel=f"P(H {sign} c)", title=panel.title, xlabel=xlabel, yscale=yscale)
        right = max(float(np.max(masses.distances)) for masses in panel.masses)
        axes.set_xlim(*(xlim if xlim is not None else (0.0, 1.03 * right)))
        if yscale == "linear":
            axes.set_ylim(0.0, 1.02 if panel.cumulative else None)
        if panel.residuals:
            _residuals(next(places), panel, looks, axes.get_xlim())
    _legend(figure, panels, looks)
    return figure, _describe(panels)


def _looks(panels: Sequence[StepPanel]) -> Mapping[str, dict[str, Any]]:
    return styles(masses.label for panel in panels for masses in panel.masses)


def _draw(axes: Axes, masses: Masses, look: Mapping[str, Any], cumulative: bool) -> None:
    x, p = np.asarray(masses.distances), np.asarray(masses.probabilities)
    if cumulative:
        stairs = {**look, "marker": None, "drawstyle": "steps-post"}
        (line,) = axes.plot(x, np.cumsum(p), label=masses.label, **stairs)
    else:
        # Nothing lies between two distances of a discrete law: treads, no slopes.
        thin = {**look, "markersize": 4.0, "linewidth": 1.0, "drawstyle": "steps-mid"}
        (line,) = axes.plot(x, p, label=masses.label, **thin)
    tag(line, masses.label)
    if masses.readings:
        at, read, *more = np.array(masses.readings).T
        hollow = {**look, "linestyle": "none", **HOLLOW, "zorder": 4}
        axes.errorbar(at, read, more[0] if more else None, elinewidth=1.0, **hollow)


def _residuals(
    axes: Axes,
    panel: StepPanel,
    looks: Mapping[str, dict[str, Any]],
    xlim: tuple[float, float],
) -> None:
    points = []
    for one in panel.residuals:
        at, _, _, scores = np.array(one.readings).T
        points.append((at, scores, str(looks[one.label]["color"])))
    residuals(axes, points)
    axes.set(xlim=xlim, title=RESIDUALS)


def _legend(
    figure: Figure, panels: Sequence[StepPanel], looks: Mapping[str, dict[str, Any]]
) -> None:
    bare = {"marker": None} if all(panel.cumulative for panel in panels) else {}
    handles = [Line2D([], [], label=label, **{**look, **bare}) for label, look in looks.items()]
    legend = figure.legend(
        handles=handles, loc="outside lower left", ncols=3, fontsize=10, frameon=False
    )
    for text, look in zip(legend.get_texts(), looks.values(), strict=True):
        text.set_color(dark(str(look["color"])))


def _describe(panels: Sequence[StepPanel]) -> str:
    sentences = ["Probability of each distance between the released and the true posterior."]
    for panel in panels:
        sentences += [f"Panel: {panel.title}."] if panel.title else []
        sentences += [_sentence(masses) for masses in panel.masses]
    return " ".join(sentences)


def _sentence(masses: Masses) -> str:
    x, p = np.asarray(masses.distances), np.asarray(masses.probabilities)
    half = int(np.searchsorted(np.cumsum(p), 0.5 * p.sum()))
    exact = f"exact with probability {p[0]:.3g}" if x[0] < 1e-12 else f"nearest at {x[0]:.3g}"
    return f"{masses.label}: {exact}, the median output at {x[min(half, x.size - 1)]:.3g}."
