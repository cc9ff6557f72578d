"""Curves over a size or another number: exact lines, simulated means, published
readings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import label_ends
from dpbayes.figures._old_theme import (
    HEIGHT,
    HOLLOW,
    WIDTH,
    new_axes,
    new_panels,
    plain_decades,
    plain_tick,
    titled,
)
from dpbayes.figures.language import REFERENCE, styles

KINDS = ("line", "law", "cumulative", "reference", "dots", "simulated", "reading")
_LINES = KINDS[:5]  # what is explained by its label
_TREADS = {"law": "steps-mid", "cumulative": "steps-post"}
NOTES: Mapping[str, str] = {
    "simulated": "average of simulated runs, bars: ± 1 standard error",
    "reading": "read off the printed figure",
}


@dataclass(frozen=True)
class Curve:
    """One series: values `y` at `x`, both of shape (m,), under the label of its
    mechanism.

    kind "line" is a computed curve; "law" the probabilities of whole numbers, in level
    treads; "cumulative" a staircase that rises at each `x`; "reference" what curves are
    held against: a thin grey line; "dots" single points; "simulated" markers with bars
    of `error`, shape (m,), to both sides; "reading" small circles, with bars if there
    are errors.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    kind: str = "line"
    error: ArrayLike | None = None


@dataclass(frozen=True)
class Panel:
    """Curves that share one pair of axes, under a short title that says what they
    show."""

    curves: Sequence[Curve]
    title: str = ""


def lines(
    xlabel: str,
    ylabel: str,
    panels: Sequence[Panel],
    xscale: str = "linear",
    yscale: str = "linear",
    ylim: tuple[float | None, float | None] | None = None,
    height: float | None = None,
) -> tuple[Figure, str]:
    """Draw the panels below one another, every line labelled at its end.

    The colours follow the labels through all panels; `height` is the figure's, in
    inches.
    """
    tall = HEIGHT * (0.55 + 0.45 * len(panels)) if height is None else height
    figure, rows = new_panels(len(panels), 1, WIDTH, tall, sharex=True)
    looks = _styles(panels)
    for (axes,), panel in zip(rows, panels, strict=True):
        axes.set(ylabel=ylabel, xscale=xscale, yscale=yscale)
        titled(axes, panel.title)
        marked = _marked(panel)
        for curve in panel.curves:
            _draw(axes, curve, looks[curve.label], marked)
        _widen(axes, panels)
        axes.set_ylim(
            *(ylim if ylim is not None else (0.0 if yscale == "linear" else None, None))
        )
        if yscale == "log":
            plain_decades(axes)
        elif axes.get_ylim()[1] >= 1e5:
            axes.yaxis.set_major_formatter(FuncFormatter(plain_tick))
        _label(axes, panel, looks, 0.75 * tall / len(panels))
    rows[-1][0].set_xlabel(xlabel)
    if xscale == "log":
        plain_decades(rows[-1][0], "x")
    _explain(figure, panels)
    return figure, describe(xlabel, ylabel, panels)


def _widen(axes: Axes, panels: Sequence[Panel]) -> None:
    """Leave a margin beside the curves of all panels, also where all of them are one
    point.
    """
    curves = [curve for panel in panels for curve in panel.curves]
    places = np.concatenate([np.ravel(np.asarray(curve.x)) for curve in curves])
    low, high = float(places.min()), float(places.max())
    if low < high:
        axes.margins(x=0.02)
        return
    axes.set_autoscalex_on(
        False
    )  # else the limits are first sought around the one point
    if axes.get_xscale() == "log":
        axes.set_xlim(low / 2.0, high * 2.0)
    else:
        axes.set_xlim(low - 0.5, high + 0.5)


def _styles(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    curves = [curve for panel in panels for curve in panel.curves]
    grey = {
        curve.label: dict(REFERENCE) for curve in curves if curve.kind == "reference"
    }
    return styles(curve.label for curve in curves if curve.label not in grey) | grey


def _marked(panel: Panel) -> bool:
    """Return whether lines have marks: few points, and nothing that marks could
    hide."""
    curves = [curve for curve in panel.curves if curve.kind != "reference"]
    return all(curve.kind == "line" and np.size(curve.x) <= 15 for curve in curves)


def _draw(axes: Axes, curve: Curve, look: Mapping[str, Any], marked: bool) -> None:
    # Markers on a line would hide the readings and simulated means that lie on it.
    bars: dict[str, Any]
    if curve.kind == "dots":
        single = {
            "color": look["color"],
            "marker": ".",
            "markersize": 3.0,
            "linestyle": "none",
        }
        (line,) = axes.plot(curve.x, curve.y, **single)
    elif curve.kind in _LINES:
        treads = {"drawstyle": _TREADS[curve.kind]} if curve.kind in _TREADS else {}
        shown = {**look, "marker": look["marker"] if marked else None, **treads}
        (line,) = axes.plot(curve.x, curve.y, **shown)
    elif curve.kind == "reading":
        bars = {**look, "linestyle": "none", **HOLLOW, "zorder": 4}
        line = axes.errorbar(curve.x, curve.y, curve.error, elinewidth=1.0, **bars)[0]
    else:
        bars = {**look, "linestyle": "none", "markersize": 3.5, "zorder": 3}
        line = axes.errorbar(
            curve.x, curve.y, curve.error, capsize=2.5, elinewidth=1.0, **bars
        )[0]
    line.set_label(curve.label)


def _label(
    axes: Axes, panel: Panel, looks: Mapping[str, dict[str, Any]], height: float
) -> None:
    drawn: dict[str, Curve] = {}
    for curve in panel.curves:
        if curve.label not in drawn or drawn[curve.label].kind not in _LINES:
            drawn[curve.label] = curve
    ends = [_end(curve) for curve in drawn.values()]
    label_ends(
        axes, ends, list(drawn), [looks[label]["color"] for label in drawn], height
    )


def _end(curve: Curve) -> tuple[float, float]:
    x, y = np.asarray(curve.x), np.asarray(curve.y)
    last = int(np.argmax(x))
    return float(x[last]), float(y[last])


def _explain(figure: Figure, panels: Sequence[Panel]) -> None:
    used = {curve.kind for panel in panels for curve in panel.curves}
    looks: Mapping[str, Any] = {
        "simulated": {"marker": "o", "markersize": 3.5},
        "reading": HOLLOW,
    }
    grey: Any = {"color": "0.35", "linestyle": "none"}
    kinds = [kind for kind in NOTES if kind in used]
    handles = [
        Line2D([], [], label=NOTES[kind], **grey, **looks[kind]) for kind in kinds
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower left", frameon=False)


def describe(xlabel: str, ylabel: str, panels: Sequence[Panel]) -> str:
    """Return in words where each curve starts and ends and where it is highest and
    lowest.
    """
    sentences = [
        f"Curves of {ylabel} against {xlabel}."
        if ylabel
        else f"Curves against {xlabel}."
    ]
    for panel in panels:
        sentences += [f"Panel: {panel.title}."] if panel.title else []
        sentences += [_sentence(curve) for curve in panel.curves]
    return " ".join(sentences)


def _sentence(curve: Curve) -> str:
    x: NDArray[np.float64] = np.asarray(curve.x, dtype=np.float64)
    # no minus zero
    y: NDArray[np.float64] = np.asarray(curve.y, dtype=np.float64) + 0.0
    kind = f" ({NOTES[curve.kind]})" if curve.kind in NOTES else ""
    first, last = f"{y[0]:.3g}", f"{y[-1]:.3g}"
    if x.size == 1:
        return f"{curve.label}{kind}: {first} at {_place(x[0])}."
    if all(f"{value:.3g}" == first for value in y):
        return (
            f"{curve.label}{kind}: {first} all the way from {_place(x[0])} to"
            f" {_place(x[-1])}."
        )
    text = (
        f"{curve.label}{kind}: from {first} at {_place(x[0])} to {last} at"
        f" {_place(x[-1])}"
    )
    for word, at in (("highest", int(np.argmax(y))), ("lowest", int(np.argmin(y)))):
        if 0 < at < x.size - 1 and f"{y[at]:.3g}" not in (first, last):
            text += f", {word} {y[at]:.3g} at {_place(x[at])}"
    return text + "."


def _place(x: float) -> str:
    """Return a place on the axis: a whole number with its digits, any other with four
    of them.
    """
    return f"{x:.6g}" if float(x).is_integer() else f"{x:.4g}"


def residuals(scores: Mapping[str, ArrayLike], printed: str) -> dict[str, Any]:
    """Draw printed minus computed, in combined errors z, for the points of each curve
    in order.

    `scores` maps a curve to its z (m,); the grey band reaches from -2 to 2. `printed`
    names the figure. Returns what `record.figure` takes: figure, alt and caption.
    """
    figure, axes = new_axes(
        "point, in the order of the figure", "z, in combined errors", height=3.0
    )
    axes.axhspan(-2.0, 2.0, color="0.92", zorder=0)
    looks, largest, sentences = (
        styles(scores),
        0.0,
        ["Residuals of the printed points."],
    )
    for label, values in scores.items():
        z = np.asarray(values, dtype=np.float64)
        look = {**looks[label], "linestyle": "none", "markersize": 4.0}
        axes.plot(np.arange(1, z.size + 1), z, label=label, **look)
        largest = max(largest, float(np.abs(z).max()))
        sentences.append(
            f"{label}: {z.size} points, z from {z.min():.1f} to {z.max():.1f}."
        )
    axes.set_ylim(-max(3.0, 1.1 * largest), max(3.0, 1.1 * largest))
    figure.legend(loc="outside lower left", ncols=2, frameon=False)
    caption = (
        f"Deviation of the points of {printed} from the computed ones, in standard"
        " errors."
    )
    return {"figure": figure, "alt": " ".join(sentences), "caption": caption}
