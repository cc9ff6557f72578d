"""What an epsilon means for one person, above what it costs in accuracy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures._labels import label_ends
from dpbayes.figures._old_theme import WIDTH, new_panels
from dpbayes.figures.language import REFERENCE, SERIES, styles

_HEIGHT = 5.8  # inches, for both panels


def meaning(
    epsilons: ArrayLike,
    chances: ArrayLike,
    distances: Mapping[str, ArrayLike],
    guess: float,
    marked: ArrayLike,
) -> tuple[Figure, str]:
    """Draw the guesser's best chance and the mean distance of releases, both against
    epsilon.

    `epsilons` (m,) increase; `chances` (m,) are probabilities; `distances` maps the
    name of a mechanism to mean distances (m,); `guess` is the chance before the
    release. The values of epsilon in `marked` get vertical lines.
    """
    x = np.asarray(epsilons, dtype=np.float64)
    ceiling = np.asarray(chances, dtype=np.float64)
    costs = {
        label: np.asarray(values, dtype=np.float64)
        for label, values in distances.items()
    }
    figure, ((top,), (bottom,)) = new_panels(2, 1, WIDTH, _HEIGHT, sharex=True)
    _draw_chances(top, x, ceiling, guess)
    _draw_distances(bottom, x, costs)
    for axes in (top, bottom):
        for epsilon in np.asarray(marked, dtype=np.float64):
            axes.axvline(epsilon, color="0.6", linewidth=0.8, linestyle=":")
    return figure, _describe(x, ceiling, costs, guess)


def _draw_chances(
    axes: Axes, x: NDArray[np.float64], ceiling: NDArray[np.float64], guess: float
) -> None:
    names = ("after the\nrelease", "before the\nrelease")
    axes.plot(x, ceiling, color=SERIES[0], label=names[0])
    axes.axhline(guess, label=names[1], **REFERENCE)
    axes.set(xscale="log", ylim=(0.0, 1.05), ylabel="best chance of the guesser")
    ends = [(float(x[-1]), float(ceiling[-1])), (float(x[-1]), guess)]
    label_ends(axes, ends, names, [SERIES[0], str(REFERENCE["color"])], 0.2 * _HEIGHT)


def _draw_distances(
    axes: Axes, x: NDArray[np.float64], costs: Mapping[str, NDArray[np.float64]]
) -> None:
    looks = styles(costs)
    for label, values in costs.items():
        axes.plot(x, values, label=label, **{**looks[label], "marker": None})
    axes.set(xscale="log", ylim=(0.0, None), xlim=(x[0], x[-1]))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(
        xlabel="privacy parameter ε (smaller is more private)", ylabel="mean distance"
    )
    ends = [(float(x[-1]), float(values[-1])) for values in costs.values()]
    colors = [str(looks[label]["color"]) for label in costs]
    label_ends(axes, ends, list(costs), colors, 0.4 * _HEIGHT)


def _describe(
    x: NDArray[np.float64],
    ceiling: NDArray[np.float64],
    costs: Mapping[str, NDArray[np.float64]],
    guess: float,
) -> str:
    sentences = [
        "Two panels against epsilon on a logarithmic scale. Above: the best chance of"
        f" a guesser who starts at {guess:.2f} rises from {ceiling[0]:.2f} at epsilon"
        f" {x[0]:.2g} to {ceiling[-1]:.2f} at {x[-1]:.2g}. Below: the mean Hellinger"
        " distance of releases."
    ]
    sentences += [
        f"{label}: from {v[0]:.3g} to {v[-1]:.3g}." for label, v in costs.items()
    ]
    return " ".join(sentences)
