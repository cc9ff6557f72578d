"""How every figure looks: axes, scales, type, and the bytes a figure becomes.

Figures are made without pyplot: nothing is shown twice, and no global state is left
behind.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

WIDTH, HEIGHT = 4.8, 3.3  # inches: letters of 11 points stay 11 pixels high on a phone
PNG_DPI = 150

HOLLOW: Any = {
    "marker": "o",
    "markerfacecolor": "white",
    "markersize": 4.5,
    "markeredgewidth": 1.1,
}
SETTINGS: Any = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.9",
    "font.size": 11.0,
    "axes.titlesize": 11.0,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "path",
}


def new_axes(
    xlabel: str, ylabel: str, width: float = WIDTH, height: float = HEIGHT
) -> tuple[Figure, Axes]:
    """Return a figure with one labelled panel."""
    figure, panels = new_panels(1, 1, width, height)
    axes = panels[0][0]
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure, axes


def new_panels(
    rows: int,
    columns: int,
    width: float = WIDTH,
    height: float = HEIGHT,
    **sharing: Any,
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its panels as rows of axes; ``sharing`` goes to
    matplotlib."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, **sharing)
    return figure, [list(row) for row in panels]


def titled(axes: Axes, words: str) -> None:
    """Write a title from the left edge of a panel, in lines that a phone has room
    for."""
    axes.set_title(textwrap.fill(words, 46), loc="left")


def plain_decades(axes: Axes, which: str = "y") -> None:
    """Label a logarithmic axis of less than three decades at 1, 2 and 5, in plain
    decimals.

    Where such labels would touch each other on the horizontal axis, only the decades
    have one.
    """
    axis, limits = (
        (axes.xaxis, axes.get_xlim()) if which == "x" else (axes.yaxis, axes.get_ylim())
    )
    low, high = limits
    if 0.0 < low < high < 1000.0 * low and low > 1e-4 and high < 1e6:
        subs = (1.0,) if which == "x" and _crowded(low, high) else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(plain_tick))
        axis.set_minor_formatter(NullFormatter())


def _crowded(low: float, high: float) -> bool:
    """Say whether labels at 1, 2 and 5 touch, on an axis of 3.9 inches with letters of
    0.09.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [one * 10.0**power for power in decades for one in (1.0, 2.0, 5.0)]
    seen = [tick for tick in ticks if low <= tick <= high]
    places = [3.9 * math.log(tick / low) / math.log(high / low) for tick in seen]
    halves = [0.045 * (len(plain(tick)) + 1) for tick in seen]
    pairs = itertools.pairwise(zip(places, halves, strict=True))
    return any(a + half > b - other for (a, half), (b, other) in pairs)


def plain(value: float) -> str:
    """Return a number without exponent, thousands set apart.

    >>> plain(20000.0), plain(0.05)
    ('20\u202f000', '0.05')
    """
    return f"{value:,.0f}".replace(",", "\u202f") if value >= 1e4 else f"{value:g}"


def plain_tick(value: float, place: int) -> str:
    """Return the label of a tick, as matplotlib asks for it; a named function, for a
    copy.
    """
    return plain(value)


def svg_bytes(figure: Figure, salt: str) -> bytes:
    """Return the figure as SVG: the same figure and salt give the same bytes."""
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": salt}):
        return _saved(figure, format="svg", metadata={"Date": None, "Creator": None})


def png_bytes(figure: Figure, description: str = "") -> bytes:
    """Return the figure as PNG with its description in words: the same figure and words
    give the same bytes.
    """
    known = {"Software": None, "Description": description or None}
    with mpl.rc_context(SETTINGS):
        return _saved(figure, format="png", dpi=PNG_DPI, metadata=known)


def hold(figure: Figure) -> None:
    """Leave the parts of a figure where they are, with no layout engine to draw it
    twice.
    """
    with mpl.rc_context(
        {"figure.autolayout": False, "figure.constrained_layout.use": False}
    ):
        figure.set_layout_engine(None)


def _saved(figure: Figure, **options: Any) -> bytes:
    """Return the figure in a format; its parts are placed once, so that it stays where
    it is.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        hold(figure)
    stream = io.BytesIO()
    figure.savefig(stream, facecolor="white", **options)
    return stream.getvalue()
