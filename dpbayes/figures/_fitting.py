"""Words that fit: broken where they are too long for an axis, left out where they would touch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

_WORD = re.compile(r"(?:\$[^$]*\$|[^\s$]| (?==)|(?<==) )+")  # an equation is one word
_TOUCH = 1.5  # points that the boxes of two texts may overlap: a box is larger than its letters
_SAFE = 0.9  # of the room: some letters are wider than others
_AIR = 3.0  # points between two labels of an axis


def broken(words: str, most: int) -> str:
    """Return a text in lines of at most `most` characters, as far as its words allow.

    >>> broken("mean distance of $a + b$ records", 13)
    'mean distance\\nof $a + b$\\nrecords'
    """
    lines: list[str] = []
    for line in words.split("\n"):
        lines.append("")
        for word in _WORD.findall(line):
            if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def fit(panels: Sequence[Axes]) -> bool:
    """Break titles and names of axes, thin out labels that touch; say whether anything changed."""
    changed = False
    for axes in panels:
        here = axes.get_window_extent()
        for text, room in (
            (axes.title, here.width),
            (axes.xaxis.label, here.width),
            (axes.yaxis.label, here.height),
        ):
            box = text.get_window_extent()
            long = box.height if text is axes.yaxis.label else box.width
            if text.get_text() and long > room:
                most = int(len(text.get_text()) * _SAFE * room / long)
                text.set_text(broken(text.get_text(), most))
                changed = True
        changed |= _thinned(axes.xaxis)
    return changed


def _thinned(axis: Axis) -> bool:
    """Break names that touch on a horizontal axis, or turn them; of numbers leave some out."""
    shown = list(_tick_labels(axis))
    air = _AIR * _pixels(axis)
    boxes = [label.get_window_extent() for _, label in shown]
    if not _close([box.x0 for box in boxes], [box.x1 for box in boxes], air):
        return False
    texts = [label.get_text() for _, label in shown]
    places = [place for place, _ in shown]
    if not all(map(_number, texts)):
        lines = _in_lines(boxes, texts, air)
        if lines is None:
            axis.set_tick_params(rotation=90)
        else:
            axis.set_major_locator(FixedLocator(places))
            axis.set_major_formatter(FixedFormatter(lines))
        return True
    kept = next(
        some
        for some in _choices(places, axis.get_scale() == "log")
        if not _close([boxes[i].x0 for i in some], [boxes[i].x1 for i in some], air)
    )
    axis.set_major_locator(FixedLocator([places[i] for i in kept]))
    axis.set_major_formatter(FixedFormatter([texts[i] for i in kept]))
    axis.set_minor_formatter(NullFormatter())
    return True


def _in_lines(boxes: Sequence[Any], texts: Sequence[str], air: float) -> list[str] | None:
    """Return names broken to the room between them, or None where a word is longer than that."""
    middles = sorted((box.x0 + box.x1) / 2.0 for box in boxes)
    room = min(other - one for one, other in itertools.pairwise(middles)) - air
    letter = max(box.width / max(1, len(text)) for box, text in zip(boxes, texts, strict=True))
    most = int(room / letter)
    lines = [broken(text, most) for text in texts]
    long = max(len(line) for text in lines for line in text.split("\n"))
    return lines if long <= most else None


def _choices(places: Sequence[float], logarithmic: bool) -> Iterator[list[int]]:
    """Yield fewer and fewer labels: powers of ten, then every second, every third and so on."""
    if logarithmic:
        powers = [i for i, at in enumerate(places) if abs(math.log10(at) % 1.0) < 1e-9]
        if len(powers) > 1:
            yield powers
    for step in range(2, len(places) + 1):
        yield list(range(0, len(places), step))


def _close(low: Sequence[float], high: Sequence[float], air: float) -> bool:
    ends = sorted(zip(low, high, strict=True))
    return any(one[1] + air > other[0] for one, other in itertools.pairwise(ends))


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"[\d.,\s\u202f\u2212+-]*|\$\\mathdefault.*", text))


def _tick_labels(axis: Axis) -> Iterator[tuple[float, Text]]:
    """Yield place and text of every label of an axis that is seen."""
    ends: Any = axis.get_view_interval()
    low, high = float(min(ends)), float(max(ends))
    slack = 1e-9 * (high - low)
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
        at: Any = tick.get_loc()
        place = float(at)
        for label in (tick.label1, tick.label2):
            if label.get_visible() and label.get_text() and low - slack <= place <= high + slack:
                yield place, label


def readable(figure: Figure) -> bool:
    """Say whether all texts are inside the figure and none lies on another."""
    texts: list[Text] = [*figure.texts]
    for legend in figure.legends:
        texts += legend.get_texts()
    for axes in figure.axes:
        own = axes.get_legend()
        texts += [axes.title, *axes.texts]
        texts += own.get_texts() if own and own.get_visible() else []
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            texts += [axis.label, *(label for _, label in _tick_labels(axis))]
    shown = [text for text in texts if text.get_visible() and text.get_text()]
    boxes = np.array([text.get_window_extent().extents for text in shown]).reshape(-1, 4)
    touch = _TOUCH * figure.dpi / 72.0
    paper = np.asarray(figure.bbox.extents)
    if np.any(boxes[:, :2] < paper[:2] - touch) or np.any(boxes[:, 2:] > paper[2:] + touch):
        return False
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    on_another = np.all(high - low > touch, axis=2)
    np.fill_diagonal(on_another, False)
    return not on_another.any()


def _pixels(axis: Axis) -> float:
    figure = axis.get_figure(root=True)
    return float(figure.dpi) / 72.0 if figure is not None else 1.0
