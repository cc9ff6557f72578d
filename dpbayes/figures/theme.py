"""How every figure looks, and the bytes it becomes: seaborn's style over matplotlib's
own defaults.

No file of the user's (a ``matplotlibrc``) changes a figure of the book.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from dpbayes.figures.typeset import typeset

WIDTH, HEIGHT = 3.5, 2.2  # inches: the whole of a phone, where 8 points are 11 pixels
PNG_DPI = 200
SESSION = (  # parameters of the program that shows figures, which are left alone
    "backend", "date.epoch", "docstring", "figure.max_open_warning",
    "figure.raise_window", "interactive", "keymap", "macosx", "savefig.directory",
    "timezone", "tk", "toolbar", "webagg",
)  # fmt: skip
LINE = 44  # letters of a title that fit into the width
LETTER = 0.075  # inches that a letter of a label takes, on average


@cache
def settings() -> dict[str, Any]:
    """Return all of matplotlib's parameters: its defaults, seaborn's style and context,
    and what makes a drawing the same everywhere.
    """
    import seaborn as sns

    own = {
        "axes.edgecolor": "0.6",
        "axes.labelcolor": "black",
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "figure.constrained_layout.use": True,
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
        "grid.color": "0.9",
        "legend.frameon": False,
        "legend.title_fontsize": 9.6,
        "svg.fonttype": "path",
        "text.color": "black",
        "xtick.color": "black",
        "ytick.color": "black",
    }
    defaults: dict[str, Any] = {
        name: value
        for name, value in mpl.rcParamsDefault.items()
        if not name.startswith(SESSION)
    }
    style, sizes = sns.axes_style("whitegrid"), sns.plotting_context("paper")
    return {**defaults, **style, **sizes, **own}


@contextmanager
def restored() -> Iterator[None]:
    """Leave the style of drawing afterwards as it was: for a library within somebody
    else's program.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        # The letters stand in the picture as letters: it is the reader's fonts that
        # count.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def subplots(
    rows: int = 1,
    columns: int = 1,
    height: float = HEIGHT,
    width: float = WIDTH,
    **sharing: Any,
) -> tuple[Figure, Any]:
    """Return a figure of `height` inches without legend, and its axes, as
    ``plt.subplots`` does.

    From here on this process draws in the book's theme, as after ``sns.set_theme``. The
    figure does not belong to pyplot: a notebook shows it once, where it is recorded.
    """
    chosen: Any = settings()
    mpl.rcParams.update(chosen)
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, **sharing)


def legend(figure: Figure, title: str = "", **entries: Any) -> None:
    """Put one legend for all axes above them, in as many columns as there is room for;
    the figure becomes higher by it.

    `title` is what the figure says, in bold. `entries` are further handles by their
    words.
    """
    found: dict[str, Any] = {}
    for axes in figure.axes:
        handles: list[Any]
        handles, labels = axes.get_legend_handles_labels()
        if old := axes.get_legend():
            handles = [*old.legend_handles, *handles]
            labels = [*(text.get_text() for text in old.get_texts()), *labels]
            old.remove()
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, handle)
    found |= entries
    look: dict[str, Any] = {
        "loc": "outside upper left",
        "alignment": "left",
        "borderaxespad": 0.2,
        "borderpad": 0.2,
        "columnspacing": 1.2,
        "handlelength": 2.4,
        "handletextpad": 0.5,
    }
    if title:
        look |= {"title": textwrap.fill(title, LINE)}
        look |= {"title_fontproperties": {"weight": "bold", "size": 9.6}}
    room = figure.bbox.width
    for columns in (3, 2, 1) if found else (1,):
        made = figure.legend(found.values(), found, ncols=columns, **look)
        taken = made.get_window_extent()
        if columns == 1 or taken.width <= room:
            break
        made.remove()
    figure.set_figheight(figure.get_figheight() + taken.height / figure.dpi)


def plain(value: float) -> str:
    """Return a number without exponent, thousands set apart; powers of ten where it is
    tiny.

    >>> plain(20000.0), plain(0.05), plain(1e-6)
    ('20\u202f000', '0.05', '10⁻⁶')
    """
    if abs(value) >= 1e4:
        return f"{value:,.0f}".replace(",", "\u202f")
    text = typeset(f"{value:.6g}")
    return text.removeprefix("1 × ") if 0 < abs(value) < 1e-4 else text


def log_ticks(low: float, high: float, room: float, upright: bool) -> list[float]:
    """Return the ticks of a logarithmic axis from `low` to `high`, `room` inches long:
    1, 2, 5 of each decade, or the decades, or every second of them, ... as many as do
    not touch.

    >>> log_ticks(20, 900, 2.5, upright=False)
    [20.0, 50.0, 100.0, 200.0, 500.0]
    >>> log_ticks(1e-6, 1.0, 1.0, upright=True)
    [1e-06, 0.0001, 0.01, 1.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0) if high < 6 * low else (1.0, 2.0, 5.0)
    for step in (0, *range(1, 20)):
        leading = fine if step == 0 else (1.0,)
        powers = range(first, last + 1)
        ticks = [
            float(f"{one}e{power}")
            for power in powers
            if power % max(step, 1) == 0
            for one in leading
        ]
        seen = [t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]
        scale = room / math.log(high / low)
        ends = [
            (scale * math.log(t), 0.085 if upright else 0.042 * (len(plain(t)) + 1.2))
            for t in seen
        ]
        if all(b[0] - a[0] >= a[1] + b[1] for a, b in itertools.pairwise(ends)):
            break
    return seen


def finish(figure: Figure) -> None:
    """Write ticks as plain numbers that do not touch, and labels in lines that fit.

    Of panels that share an axis only the outer ones name it. Axes that have ticks of
    their own keep them.
    """
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            _plain_ticks(axis)
            room = _length(axis) + (0.4 if axis is axes.xaxis else 0.1)
            words = textwrap.fill(axis.get_label_text(), max(10, int(room / LETTER)))
            axis.set_label_text(words)
        place = axes.get_subplotspec()
        if place and not place.is_last_row() and _shared(axes, "x"):
            axes.set_xlabel("")
        if place and not place.is_first_col() and _shared(axes, "y"):
            axes.set_ylabel("")


def _shared(axes: Any, which: str) -> bool:
    return len(axes._shared_axes[which].get_siblings(axes)) > 1


def _length(axis: Any) -> float:
    """Return how many inches an axis is long."""
    box = axis.axes.bbox
    inches = box.width if axis.axis_name == "x" else box.height
    return float(inches / axis.figure.dpi)


def _plain_ticks(axis: Any) -> None:
    low, high = sorted(axis.get_view_interval())
    upright = axis.axis_name == "y"
    if isinstance(axis.get_major_locator(), FixedLocator):
        return
    if axis.get_scale() == "log":
        ticks = log_ticks(low, high, _length(axis), upright)
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(_plain_tick))
    elif axis.get_scale() == "linear" and axis.get_converter() is None:
        if high >= 1e4:
            axis.set_major_formatter(FuncFormatter(_plain_tick))
        if not upright:
            for most in (9, 6, 4, 3):
                axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
                written = axis.get_major_formatter().format_ticks(
                    axis.get_majorticklocs()
                )
                if LETTER * (sum(map(len, written)) + len(written)) < _length(axis):
                    break


def _plain_tick(value: float, place: int) -> str:
    """Return the label of a tick, as matplotlib asks for it; named, for a copy."""
    return plain(value)


def svg_bytes(figure: Figure, salt: str) -> bytes:
    """Return the figure as SVG: the same figure and salt give the same bytes."""
    return _saved(figure, {"svg.hashsalt": salt}, "svg", Date=None, Creator=None)


def png_bytes(figure: Figure, description: str = "") -> bytes:
    """Return the figure as PNG with its description in words: the same figure and words
    give the same bytes.
    """
    known = {"Software": None, "Description": description or None}
    return _saved(figure, {}, "png", **known)


def _saved(figure: Figure, more: dict[str, Any], kind: str, **known: Any) -> bytes:
    """Return the figure in a format; its parts are placed once, and stay there."""
    stream = io.BytesIO()
    chosen: Any = {**settings(), "figure.constrained_layout.use": False, **more}
    with mpl.rc_context(chosen):
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            finish(figure)
            engine.execute(figure)
            figure.set_layout_engine("none")
        figure.savefig(
            stream, format=kind, dpi=PNG_DPI, facecolor="white", metadata=known
        )
    return stream.getvalue()
