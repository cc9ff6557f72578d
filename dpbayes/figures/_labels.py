"""Labels beside the ends of curves: readable colours, and never one on top of
another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

EARLY = 0.9  # a curve that ends left of this share of the axes is labelled inside them
LABEL_GAP = 0.2  # inches between two labels: one line of text and a little air
LETTER = 0.11  # inches that a letter of a label takes at most, on average
# below this share of the axes a label inside stands above the end of its curve
_LOW = 0.2


def spread(
    positions: ArrayLike, gap: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Return positions moved as little as possible so that any two are at least `gap`
    apart.

    The order is kept. What leaves [low, high] is pushed back while there is room.

    >>> spread([0.5, 0.5], 0.1)
    [0.45, 0.55]
    """
    wanted = np.asarray(positions, dtype=np.float64)
    if wanted.size == 0:
        return []
    order = np.argsort(wanted, kind="stable")
    groups: list[list[float]] = []
    for rank, position in enumerate(wanted[order]):
        groups.append([position - rank * gap])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    level = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    top = high - gap * (wanted.size - 1)
    placed = np.clip(level, low, max(low, top)) + gap * np.arange(wanted.size)
    result = np.empty_like(wanted)
    result[order] = placed
    return [float(value) for value in result.round(12)]


def dark(color: str) -> tuple[float, float, float]:
    """Return the colour dark enough for text on white."""
    red, green, blue = to_rgb(color)
    return 0.62 * red, 0.62 * green, 0.62 * blue


def label_ends(
    axes: Axes,
    ends: Sequence[tuple[float, float]],
    labels: Sequence[str],
    colors: Sequence[str],
    height: float,
) -> None:
    """Write each label beside the end (x, y) of its curve.

    Labels of curves that reach the right stand outside the axes, with a thin grey tie;
    a curve that ends earlier has its label at its end. Call it after limits and scales
    are set; `height` is roughly that of the axes, in inches.
    """
    gap = LABEL_GAP / height
    early = [_across(axes, x) < EARLY for x, _ in ends]
    places = [_fraction(axes, y) for _, y in ends]
    outside = iter(
        spread(
            [at for at, inside in zip(places, early, strict=True) if not inside], gap
        )
    )
    written: list[tuple[float, float, float]] = []  # inside: left end, height, length
    for (x, _), at, inside, label, color in zip(
        ends, places, early, labels, colors, strict=True
    ):
        if inside:
            inches = axes.bbox.width / axes.figure.dpi  # as it is before a layout
            left, length = _across(axes, x), LETTER * len(label) / inches
            lines = _lines_away((left, at, length), written, gap)
            written.append((left, at + lines * gap, length))
            _write_inside(axes, (left, at), label, color, 72.0 * LABEL_GAP * lines)
        else:
            _write_outside(axes, at, next(outside), label, color)


def _lines_away(
    label: tuple[float, float, float],
    written: Sequence[tuple[float, float, float]],
    gap: float,
) -> int:
    """Return by how many lines a label is moved into the axes so that it lies on no
    other.
    """
    left, at, length = label
    step, lines = (-1 if at > _LOW else 1), 0
    while any(
        abs(at + lines * gap - height) < gap - 1e-9 and -length < left - start < reach
        for start, height, reach in written
    ):
        lines += step
    return lines


def _write_inside(
    axes: Axes, at: tuple[float, float], label: str, color: str, moved: float
) -> None:
    axes.annotate(
        label,
        xy=at,
        xycoords="axes fraction",
        xytext=(5, moved + (-6 if at[1] > _LOW else 6)),
        textcoords="offset points",
        color=dark(color),
        va="top" if at[1] > _LOW else "bottom",
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )


def _write_outside(
    axes: Axes, end: float, place: float, label: str, color: str
) -> None:
    tie = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.7, "relpos": (0.0, 0.5)}
    axes.annotate(
        label,
        xy=(1.0, end),
        xycoords="axes fraction",
        xytext=(1.04, place),
        textcoords="axes fraction",
        color=dark(color),
        va="center",
        annotation_clip=False,
        arrowprops={**tie, "shrinkA": 1, "shrinkB": 1},
    )


def _across(axes: Axes, x: float) -> float:
    """Return how far across the axes a place lies, from 0 at the left to 1 at the
    right.
    """
    low, high = axes.transLimits.transform(
        axes.transScale.transform(
            [(x, axes.get_ylim()[1]), (axes.get_xlim()[1], axes.get_ylim()[1])]
        )
    )[:, 0]
    return float(low / high)


def _fraction(axes: Axes, y: float) -> float:
    ends: NDArray[np.float64] = np.asarray([*axes.get_ylim(), y], dtype=np.float64)
    if axes.get_yscale() == "log":
        ends = np.log(np.maximum(ends, np.finfo(float).tiny))
    low, high, at = ends
    return float(np.clip((at - low) / (high - low), 0.0, 1.0))
