"""Pictures of the first ideas: learning, overlap, a promise, laws side by side, lattice noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import RegularPolygon
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import dark
from dpbayes.figures.language import LOOKS, SERIES, styles, tag
from dpbayes.figures.theme import HEIGHT, WIDTH, new_axes, new_panels

_BEFORE, _AFTER = SERIES[1], SERIES[0]
_HEXAGON = 1.0 / np.sqrt(3.0)  # outer radius of cells whose centres are one apart


def learning(proportions: ArrayLike, curves: Mapping[str, ArrayLike]) -> tuple[Figure, str]:
    """Draw one density after the other, the later the darker, each named at its peak.

    `proportions` (m,) lie in [0, 1]; `curves` maps a name to densities (m,), in the order in which
    the data came. Returns the figure and its alternative text.
    """
    x = np.asarray(proportions, dtype=np.float64)
    if not curves or any(np.shape(values) != x.shape for values in curves.values()):
        raise ValueError(f"curves must hold densities of shape {x.shape}, at least one")
    figure, axes = new_axes("proportion", "density")
    x, drawn = _finite(x, curves.values())
    highest = max(float(values.max()) for values in drawn)
    sentences = ["Densities over a proportion, one drawn for each number of records."]
    for place, (name, y) in enumerate(zip(curves, drawn, strict=True)):
        shade = _shade(SERIES[0], 0.45 + 0.55 * (place + 1) / len(curves))
        axes.plot(x, y, color=shade, linewidth=1.2 + 1.2 * place / len(curves))
        axes.fill_between(x, y, color=shade, alpha=0.06, linewidth=0)
        peak = int(np.argmax(y))
        side = -1 if x[peak] > 0.5 else 1
        axes.annotate(
            name,
            (float(x[peak]), float(y[peak])),
            xytext=(6.0 * side, 3.0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            color=dark(SERIES[0]),
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
        even = float(np.ptp(y)) < 1e-9 * float(y[peak])
        shape = (
            f"flat at {y[peak]:.3g}"
            if even
            else f"highest at {x[peak]:.3g} with density {y[peak]:.3g}"
        )
        sentences.append(f"{name}: {shape}.")
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.12 * highest))
    return figure, " ".join(sentences)


def overlap(
    proportions: ArrayLike,
    first: ArrayLike,
    others: Mapping[str, ArrayLike],
    distances: Sequence[float],
) -> tuple[Figure, str]:
    """Draw a density beside others, one panel each, over the area they share in geometric mean.

    The shaded area under the root of the product is the affinity, 1 - H^2. `proportions`, `first`
    and each of `others` have shape (m,); `distances` are the Hellinger distances, one a panel.
    Returns the figure and its alternative text.
    """
    x, p = np.asarray(proportions, dtype=np.float64), np.asarray(first, dtype=np.float64)
    if not others or len(distances) != len(others):
        raise ValueError(f"distances must be one for each of others, got {len(distances)}")
    x, (p, *drawn) = _finite(x, [p, *others.values()])
    figure, rows = new_panels(1, len(others), WIDTH, 0.75 * HEIGHT, sharey=True)
    sentences = ["Two densities of one proportion in each panel, and the area below the root of"]
    sentences.append("their product.")
    for axes, (name, q), distance in zip(
        rows[0], zip(others, drawn, strict=True), distances, strict=True
    ):
        area = 1.0 - distance**2
        axes.fill_between(x, np.sqrt(p * q), color=_shade(SERIES[2], 0.45), linewidth=0)
        axes.plot(x, p, color=_BEFORE)
        axes.plot(x, q, color=_AFTER, linestyle="--")
        axes.set(title=f"{name}\nH = {distance:.3f}", xlabel="proportion", xlim=(0.0, 1.0))
        axes.annotate(
            f"area {area:.3f}", (0.5, 0.97), xycoords="axes fraction", ha="center", va="top"
        )
        sentences.append(f"{name}: the area is {area:.3f}, the distance {distance:.3f}.")
    highest = max(float(values.max()) for values in (p, *drawn))
    rows[0][0].set(ylabel="density", ylim=(0.0, 1.2 * highest))
    return figure, " ".join(sentences)


def two_laws(
    outputs: ArrayLike, here: ArrayLike, there: ArrayLike, epsilon: float, names: tuple[str, str]
) -> tuple[Figure, str]:
    """Draw the probabilities of each output for two neighbours, and the band that is promised.

    `outputs` (m,) are whole numbers, `here` and `there` (m,) their probabilities with either data
    set, named by `names`; the band reaches from `here` times e^-epsilon to `here` times e^epsilon.
    Returns the figure and its alternative text.
    """
    x = np.asarray(outputs, dtype=np.float64)
    p, q = (np.asarray(values, dtype=np.float64) for values in (here, there))
    if not x.shape == p.shape == q.shape or x.ndim != 1 or np.any(p <= 0.0) or np.any(q <= 0.0):
        raise ValueError(f"here and there must be positive of shape {x.shape}, got {p.shape}")
    figure, axes = new_axes("released count", "probability")
    low, high = p * np.exp(-epsilon), p * np.exp(epsilon)
    axes.bar(x, high - low, 0.9, bottom=low, color="0.91", linewidth=0)
    axes.plot(x, p, "o", color=_BEFORE, markersize=5.0)
    axes.plot(x, q, "D", color=_AFTER, markersize=4.0, markerfacecolor="white")
    ends = float(min(low.min(), q.min())), float(max(high.max(), q.max()))
    axes.set(yscale="log", ylim=(ends[0] / 1.5, ends[1] * 1.5))
    legend = figure.legend(
        handles=[*axes.get_lines(), axes.patches[0]],
        labels=[*names, f"what ε = {epsilon:g} allows around the first"],
        loc="outside lower left",
        frameon=False,
    )
    for text, color in zip(legend.get_texts(), (_BEFORE, _AFTER), strict=False):
        text.set_color(dark(color))
    worst = int(np.argmax(np.abs(np.log(q / p))))
    return figure, (
        f"Probabilities of each released count on a logarithmic scale for {names[0]} and for "
        f"{names[1]}, with a grey band around the first. The two differ most at {x[worst]:g}: "
        f"{p[worst]:.3g} and {q[worst]:.3g}, a log ratio of "
        f"{abs(float(np.log(q[worst] / p[worst]))):.3g}."
    )


def laws_side_by_side(
    outputs: ArrayLike, laws: Mapping[str, ArrayLike], truth: float, xlabel: str
) -> tuple[Figure, str]:
    """Draw the law of each mechanism in a panel of its own: a bar for each output, no slopes.

    `outputs` (m,) increase, `laws` maps a mechanism to probabilities (m,), `truth` is marked by a
    triangle below the axis. Returns the figure and its alternative text.
    """
    x = np.asarray(outputs, dtype=np.float64)
    if not laws or any(np.shape(values) != x.shape for values in laws.values()):
        raise ValueError(f"laws must hold probabilities of shape {x.shape}, at least one")
    down = (len(laws) + 2) // 3
    sharing = {"sharex": True, "sharey": True}
    figure, rows = new_panels(down, min(3, len(laws)), WIDTH, 0.5 + 1.55 * down, **sharing)
    panels, looks = [one for row in rows for one in row], styles(laws)
    sentences = [f"Probability of each {xlabel}, one panel for each mechanism; true is {truth:g}."]
    for axes, (name, values) in zip(panels, laws.items(), strict=False):
        p = np.asarray(values, dtype=np.float64)
        color = str(looks[name]["color"])
        tag(axes.bar(x, p, 0.9, color=color, linewidth=0)[0], name)
        axes.set_title(name, color=dark(color))
        axes.plot([truth], [0.0], "^", color="0.2", markersize=6.0, clip_on=False, zorder=5)
        sentences.append(f"{name}: highest at {_peaks(x, p)} with {p.max():.3g}.")
    panels[0].set_ylim(0.0, 1.05 * max(float(np.max(values)) for values in laws.values()))
    for axes in panels[len(laws) :]:
        axes.set_axis_off()
    for row in rows:
        row[0].set_ylabel("probability")
    for axes in rows[-1]:
        axes.set_xlabel(xlabel)
    return figure, " ".join(sentences)


def _peaks(x: NDArray[np.float64], p: NDArray[np.float64]) -> str:
    """Return where a law is highest: up to three outputs by name, more as how many there are."""
    most = [f"{one:g}" for one in x[p >= (1.0 - 1e-9) * p.max()]]
    if len(most) > 3:
        return f"{len(most)} outputs from {most[0]} to {most[-1]}"
    return " and ".join(most)


def hexagons(noise: ArrayLike, probabilities: ArrayLike) -> tuple[Figure, str]:
    """Draw noise of three counts that sums to zero: a cell for each, the likelier the darker.

    `noise` (m, 3) has rows that sum to zero, `probabilities` (m,). Cells of which each percent
    counts have it written in. Returns the figure and its alternative text.
    """
    rows: NDArray[np.int64] = np.asarray(noise)
    p = np.asarray(probabilities, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 3 or np.any(rows.sum(axis=1) != 0):
        raise ValueError(f"noise must have shape (m, 3) with rows that sum to 0, got {rows.shape}")
    if p.shape != (len(rows),) or np.any(p < 0.0):
        raise ValueError(f"probabilities must have shape ({len(rows)},), got {p.shape}")
    figure, axes = new_axes("", "", WIDTH, 5.2)
    axes.set_axis_off()
    axes.set_aspect("equal")
    x, y = rows[:, 0] + 0.5 * rows[:, 1], np.sqrt(0.75) * rows[:, 1]
    for at, value, row in zip(zip(x, y, strict=True), p, rows, strict=True):
        _cell(axes, at, float(np.sqrt(value / p.max())), 100.0 * float(value), row)
    reach = float(np.abs(x).max())
    axes.set(xlim=(-reach - 0.7, reach + 0.7), ylim=(-0.9 * reach - 0.5, 0.9 * reach + 0.5))
    rings = np.abs(rows).sum(axis=1) // 2
    shares = [f"{100 * p[rings == ring].sum():.1f} percent {ring} away" for ring in range(3)]
    return figure, (
        f"A honeycomb of {len(rows)} cells, one for each change of three counts that keeps their "
        f"sum, darkest in the middle. The middle cell, no change, has {100 * p.max():.1f} percent. "
        f"Records moved: {', '.join(shares)}."
    )


def _cell(
    axes: Axes, at: tuple[float, float], depth: float, percent: float, row: NDArray[np.int64]
) -> None:
    color = LOOKS["lattice"].color
    face = _shade(color, depth)
    axes.add_patch(
        RegularPolygon(at, 6, radius=_HEXAGON, facecolor=face, edgecolor="white", linewidth=0.8)
    )
    ink = "white" if depth > 0.62 else "0.1"
    if not row.any():
        axes.text(at[0], at[1], f"0\n{percent:.0f}%", ha="center", va="center", color=ink, size=9)
    elif percent >= 0.95:
        axes.text(at[0], at[1], f"{percent:.0f}%", ha="center", va="center", color=ink, size=9)


def _finite(
    x: NDArray[np.float64], curves: Iterable[ArrayLike]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the points at which all curves are finite: a density may be infinite at 0 and 1."""
    heights = np.array([np.asarray(values, dtype=np.float64) for values in curves])
    kept = np.isfinite(heights).all(axis=0)
    return x[kept], list(heights[:, kept])


def _shade(color: str, depth: float) -> tuple[float, float, float]:
    """Return the colour mixed with white: depth 0 is white, 1 the colour itself."""
    red, green, blue = (1.0 - depth * (1.0 - part) for part in to_rgb(color))
    return red, green, blue
