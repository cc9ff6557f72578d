"""What a figure shows, in words, read off its axes: titles, labels, legend and data."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.typeset import typeset

Names = dict[Any, str]


def alternative_text(figure: Figure) -> str:
    """Return the alternative text of a figure: its title, then for each panel what its
    axes are, and where each curve starts, ends and is highest and lowest.

    Points, bars, boxes, and maps are told by their range, medians, and shares.
    """
    names, sentences = _names(figure), []
    for one in figure.legends:
        title = one.get_title().get_text()
        sentences += [title.replace("\n", " ")] if title else []
    for axes in figure.axes:
        told = list(dict.fromkeys(_told(axes, names)))
        title = axes.get_title(loc="left") or axes.get_title()
        panel = f"Panel {title}".replace("\n", " ")
        sentences += [panel] if title and told else []
        sentences += [_axes(axes)] if told else []
        sentences += told
        loose = [text.get_text() for text in axes.texts if text.get_text()]
        sentences += [f"Written in it: {', '.join(loose)}"] if loose else []
    return typeset(" ".join(f"{words.rstrip('.')}." for words in sentences))


def headline(figure: Figure) -> str:
    """Return the title of a figure: above its legend, or of its first panel."""
    over = [one.get_title().get_text() for one in figure.legends]
    panels = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    return next(filter(None, over + panels), "").replace("\n", " ")


def _axes(axes: Axes) -> str:
    words = []
    for label, scale in ((axes.get_ylabel(), axes.get_yscale()),
                         (axes.get_xlabel(), axes.get_xscale())):  # fmt: skip
        log = " (logarithmic scale)" if scale == "log" else ""
        words.append(label.replace("\n", " ") + log if label else "")
    if words[0] and words[1]:
        words = [f"{words[0]} against {words[1]}"]
    text = words[0] or words[-1] or "a picture"
    return text[0].upper() + text[1:]


def _names(figure: Figure) -> Names:
    """Return the words of the legends by the look of what they explain."""
    found: Names = {}
    legends = [*figure.legends, *filter(None, (a.get_legend() for a in figure.axes))]
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            for key in _looks(handle):
                found.setdefault(key, text.get_text())
    return found


def _looks(artist: Any) -> Iterator[Any]:
    """Yield by what an artist is told from others: colour with dash and marker, then
    colour.
    """
    if isinstance(artist, Line2D):
        color, dash = to_hex(artist.get_color()), _dash(artist)
        yield color, dash, artist.get_marker()
        yield color, dash
    else:
        inside = np.atleast_2d(artist.get_facecolor())
        color = to_hex((inside if inside.size else artist.get_edgecolor())[0])
    yield color


def _dash(line: Any) -> str:
    return str(line._unscaled_dash_pattern)


def _name(artist: Any, names: Names) -> str:
    label = str(artist.get_label())
    if label and not label.startswith("_"):
        return label
    return next((names[key] for key in _looks(artist) if key in names), "")


def _told(axes: Axes, names: Names) -> Iterator[str]:
    parts: set[int] = set()
    for container in axes.containers:
        if hasattr(container, "medians"):
            parts.update(id(one) for one in container.get_children())
            yield from _boxes(axes, container, names)
        elif isinstance(container, BarContainer) and len(container):
            heights = [bar.get_height() for bar in container]
            name = _name(container[0], names) or "bars"
            peak = container[int(np.argmax(heights))]
            middle = peak.get_x() + peak.get_width() / 2
            top = f"highest {max(heights):.3g} at {middle:.3g}"
            yield f"{name}: {len(heights)} bars, {top}"
        elif isinstance(container, ErrorbarContainer):
            data, caps, _ = container.lines
            parts.update(id(one) for one in (data, *caps) if one is not None)
            if data is not None and data.get_marker() not in ("", "None", None):
                name = str(container.get_label()).removeprefix("_")
                yield _reaches(axes, name, container) or _points(name, *data.get_data())
    for line in axes.get_lines():
        x, y = (np.asarray(one, dtype=np.float64) for one in line.get_data())
        if id(line) in parts or x.size == 0:
            continue
        if line.get_transform() != axes.transData:
            upright = x[0] == x[-1]
            if name := _name(line, names):
                at = f"at {x[0]:.4g}" if upright else f"at height {y[0]:.4g}"
                yield f"{name}: a straight line {at}"
        elif line.get_linestyle() == "None":
            own = str(line.get_label()).removeprefix("_")
            yield _points(_name(line, names) if own.startswith("child") else own, x, y)
        else:
            yield curve(_name(line, names), x, y)
    maps = [one for one in axes.collections if isinstance(one, QuadMesh)]
    for one in maps:
        yield from _map(one, names)
    clouds = [one for one in axes.collections if isinstance(one, PathCollection)]
    for shown in clouds if not maps else ():
        if np.size(shown.get_offsets()):
            yield from _scattered(shown, names)


def curve(name: str, x: ArrayLike, y: ArrayLike) -> str:
    """Return in words where a curve starts and ends and where it is highest and lowest.

    >>> curve("a", [1, 2, 3], [0.5, 0.25, 1])
    'a: from 0.5 at 1 to 1 at 3, lowest 0.25 at 2'
    """
    places = np.asarray(x, dtype=np.float64)
    heights: NDArray[np.float64] = (
        np.asarray(y, dtype=np.float64) + 0.0
    )  # no minus zero
    kept = np.isfinite(heights)
    places, heights = places[kept], heights[kept]
    before = f"{name}: " if name else ""
    if heights.size == 0:
        return f"{before}nothing to be seen"
    first, last = f"{heights[0]:.3g}", f"{heights[-1]:.3g}"
    if len({f"{value:.3g}" for value in heights}) == 1:
        start = _place(places[0])
        one = (
            f"at {start}"
            if places.size == 1
            else f"from {start} to {_place(places[-1])}"
        )
        return f"{before}{first} {one}"
    text = (
        f"{before}from {first} at {_place(places[0])} to {last} at {_place(places[-1])}"
    )
    for word, at in (("highest", heights.argmax()), ("lowest", heights.argmin())):
        if 0 < at < places.size - 1 and f"{heights[at]:.3g}" not in (first, last):
            text += f", {word} {heights[at]:.3g} at {_place(places[at])}"
    return text


def _place(x: float) -> str:
    """Return a whole number with its digits, any other with four of them."""
    return f"{x:.6g}" if float(x).is_integer() else f"{x:.4g}"


def _points(name: str, x: Any, y: Any) -> str:
    heights = np.asarray(y, dtype=np.float64) + 0.0
    count = f"{heights.size} point{'s' if heights.size > 1 else ''}"
    ends = sorted({f"{heights.min():.3g}", f"{heights.max():.3g}"}, key=float)
    before = f"{name}: " if name and not name.startswith("_") else ""
    return f"{before}{count} at height {' to '.join(ends)}"


def _reaches(axes: Axes, name: str, container: ErrorbarContainer) -> str:
    """Return the reach of bars beside the categories of a vertical axis."""
    fixed = isinstance(axes.yaxis.get_major_locator(), FixedLocator)
    if not container.has_xerr or not fixed:
        return ""
    labels = [text.get_text() for text in axes.get_yticklabels()]
    ends = [sorted(segment[:, 0]) for segment in container.lines[2][0].get_segments()]
    told = (
        f"{one} {a:.4g} to {b:.4g}" for one, (a, b) in zip(labels, ends, strict=False)
    )
    return f"{name}: {', '.join(told)}"


def _scattered(shown: Any, names: Names) -> Iterator[str]:
    """Yield a sentence for each colour of a scatter plot."""
    places = np.ma.getdata(shown.get_offsets())
    inside = np.atleast_2d(shown.get_facecolor())
    hollow = inside.shape[0] == 0 or to_hex(inside[0]) == "#ffffff"
    colors = [to_hex(c) for c in (shown.get_edgecolor() if hollow else inside)]
    colors *= len(places) if len(colors) == 1 else 1
    label = str(shown.get_label())
    for color in dict.fromkeys(colors):
        chosen = places[[one == color for one in colors]]
        name = label if label and not label.startswith("_") else names.get(color, "")
        yield _points(name, *chosen.T)


def _boxes(axes: Axes, container: Any, names: Names) -> Iterator[str]:
    y = container.medians[0].get_ydata()
    upright = y[0] == y[-1]
    axis = axes.xaxis if upright else axes.yaxis
    places = [float(place) for place in axis.get_major_locator()()]
    written = axis.get_major_formatter().format_ticks(places)
    groups = dict(zip(map(round, places), written, strict=True))
    found = []
    for line in container.medians:
        along, across = line.get_data() if upright else line.get_data()[::-1]
        group = groups.get(round(float(np.mean(along))), "")
        found.append(f"{np.mean(across) + 0.0:.3g}" + (f" at {group}" if group else ""))
    name = _name(container.boxes[0], names) or "boxes"
    middle = f" and {found[-1]}" if len(found) > 1 else ""
    yield f"{name}: median {found[0]}{middle}"


def _map(shown: Any, names: Names) -> Iterator[str]:
    shown.update_scalarmappable()
    colors = [to_hex(c) for c in np.atleast_2d(shown.get_facecolor())]
    known = [names[c] for c in colors if c in names]
    if len(known) == len(colors):
        shares = {one: known.count(one) / len(known) for one in dict.fromkeys(known)}
        yield ", ".join(
            f"{one} in {100 * s:.0f} % of the cells" for one, s in shares.items()
        )
    else:
        values = np.ma.compressed(shown.get_array())
        yield f"{values.size} cells from {values.min():.4g} to {values.max():.4g}"


def with_words(svg: bytes, title: str, spoken: str) -> bytes:
    """Return a drawing with its title and its description for who cannot see it."""
    marks = f'<svg role="img" aria-label="{html.escape(spoken)}" '
    words = [html.escape(" ".join(one.split()), quote=False) for one in (title, spoken)]
    drawn = svg.decode().replace("<svg ", marks, 1)
    end = drawn.index(">", drawn.index("<svg ")) + 1
    inside = f"\n <title>{words[0]}</title>\n <desc>{words[1]}</desc>"
    return f"{drawn[:end]}{inside}{drawn[end:]}".encode()


def as_image(svg: bytes, spoken: str) -> str:
    """Return the HTML of a drawing with its alternative text."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return f'<img alt="{html.escape(spoken)}" src="{source}">'
