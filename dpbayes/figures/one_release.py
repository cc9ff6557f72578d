"""One release from all sides, in four panels: the static picture of the explorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpbayes.figures.language import REFERENCE, styles, tag
from dpbayes.figures.theme import WIDTH, new_panels

_HEIGHT = 5.6
_INK = "#222222"
_KINDS = ("true", "face value", "noise-aware")


def one_release(
    name: str,
    probabilities: ArrayLike,
    means: ArrayLike,
    losses: ArrayLike,
    densities: Mapping[str, ArrayLike],
    marks: tuple[int, int, float],
) -> tuple[Figure, str]:
    """Draw the law of a release, the posteriors, the mean error and the privacy loss.

    `probabilities` and `means` (n + 1,) belong to the counts 0 … n, `losses` (n,) to the pairs
    (x, x + 1). `densities` maps "share" to points (m,), and "true", "face value" and "noise-aware"
    to densities (m,). `marks` are the true count, the released count and the nominal epsilon.
    Returns the figure and its alternative text.
    """
    law, errors, loss = (np.asarray(v, dtype=np.float64) for v in (probabilities, means, losses))
    if law.shape != errors.shape or loss.shape != (law.size - 1,):
        raise ValueError(
            f"probabilities, means and losses must be (n + 1,), (n + 1,) and (n,), got "
            f"{law.shape}, {errors.shape} and {loss.shape}"
        )
    look = styles([name])[name]
    figure, ((first, second), (third, fourth)) = new_panels(2, 2, WIDTH, _HEIGHT)
    truth, released, epsilon = marks
    counts = np.arange(law.size)
    _law(first, law, look, truth, released)
    _posteriors(second, densities, look)
    tag(third.plot(counts, errors, color=look["color"], linestyle=look["linestyle"])[0], name)
    third.plot(truth, errors[truth], "o", color=_INK)
    third.set(title="mean error", xlabel="ones in the data", ylim=(0.0, None))
    tag(fourth.plot(counts[:-1], loss, color=look["color"], linestyle=look["linestyle"])[0], name)
    fourth.axhline(epsilon, **REFERENCE)
    fourth.set(title="privacy loss", xlabel="pairs x, x + 1", ylim=(0.0, None))
    return figure, _describe(name, law, errors, loss, marks)


def _law(
    axes: Axes, law: NDArray[np.float64], look: Mapping[str, Any], truth: int, released: int
) -> None:
    counts = np.arange(law.size)
    axes.bar(counts, law, color=look["color"], width=1.0)
    axes.axvline(truth, color=_INK)
    axes.axvline(released, color=_INK, linestyle="--")
    shown = np.flatnonzero(law > 2e-3 * law.max())
    ends = [*shown[[0, -1]].tolist(), truth, released]
    axes.set(title="probability", xlabel="released count", xlim=(min(ends) - 1, max(ends) + 1))


def _posteriors(axes: Axes, densities: Mapping[str, ArrayLike], look: Mapping[str, Any]) -> None:
    share = np.asarray(densities["share"], dtype=np.float64)
    colors = (_INK, look["color"], look["color"])
    for kind, color, dash in zip(_KINDS, colors, ("-", "--", "-"), strict=True):
        width = 2.4 if kind == "noise-aware" else 1.4
        height = np.asarray(densities[kind], dtype=np.float64)
        axes.plot(share, height, color=color, linestyle=dash, linewidth=width, label=kind)
    axes.set(title="posterior density", xlabel="share of ones", ylim=(0.0, None))
    axes.legend(fontsize=9)


def _describe(
    name: str,
    law: NDArray[np.float64],
    errors: NDArray[np.float64],
    loss: NDArray[np.float64],
    marks: tuple[int, int, float],
) -> str:
    truth, released, epsilon = marks
    worst = int(loss.argmax())
    return (
        f"Four panels for {name} with {law.size - 1} records. The law of the released count has "
        f"its mode at {int(law.argmax())}; the true count is {truth}, the release {released}. "
        "Three posterior densities: the true one, the release at face value, the noise-aware one. "
        f"The mean error is {errors[truth]:.3f} at these data and runs from {errors.min():.3f} to "
        f"{errors.max():.3f} over all data. The privacy loss of neighbours is largest, "
        f"{loss[worst]:.3f}, between {worst} and {worst + 1} ones, beside a parameter of "
        f"{epsilon:.3g}."
    )
