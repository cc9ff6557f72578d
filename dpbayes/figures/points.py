"""Single points with their errors: printed, from simulated runs, residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dpbayes.figures.language import markers, palette
from dpbayes.figures.theme import legend, subplots


def printed_points(axes: Axes, readings: Mapping[str, ArrayLike]) -> None:
    """Draw points that were read off a printed figure as circles in the colour of their
    curve.

    `readings` has columns x, y, error and curve, of shape (m,) each.
    """
    frame = pd.DataFrame(readings)
    hollow: dict[str, Any] = {"marker": "o", "mfc": "white", "mew": 0.9, "ms": 3.2}
    hollow |= {"ls": "none", "zorder": 4}
    for name, color in palette(frame["curve"].unique()).items():
        one, said = frame[frame["curve"] == name], f"_printed points, {name}"
        look: dict[str, Any] = {"label": said, "color": color, "elinewidth": 0.8}
        axes.errorbar(one["x"], one["y"], one["error"], **look, **hollow)
    axes.plot([], [], color="0.25", label="printed points", **hollow)


def simulated_means(axes: Axes, runs: pd.DataFrame, **columns: Any) -> None:
    """Draw the means of simulated runs as marks with bars of ± 1 standard error.

    `runs` is tidy, a row for each run; `columns` are seaborn's x, y and hue.
    """
    names = runs[columns["hue"]].unique()
    sns.lineplot(
        runs,
        **columns,
        style=columns["hue"],
        palette=palette(names),
        markers=markers(names),
        dashes=False,
        errorbar="se",
        err_style="bars",
        linestyle="none",
        markersize=4,
        legend=False,
        ax=axes,
    )


def residuals(scores: Mapping[str, ArrayLike], printed: str) -> dict[str, Any]:
    """Draw printed minus computed, in combined errors z, point by point.

    `scores` maps a curve to its z (m,); the grey band reaches from -2 to 2. `printed`
    names the figure. Returns what `record.figure` takes: figure and caption.
    """
    frame = pd.DataFrame(
        {"point": i, "z": z, "curve": name}
        for name, many in scores.items()
        for i, z in enumerate(np.atleast_1d(many), 1)
    )
    figure, axes = subplots(height=2.2)
    axes.axhspan(-2.0, 2.0, color="0.92", zorder=0)
    look: dict[str, Any] = {"palette": palette(scores), "markers": markers(scores)}
    # Marks of a line, not of a scatter plot, which would write the outline of each into
    # the drawing.
    look |= {"linestyle": "", "dashes": False, "estimator": None}
    look |= {"markersize": 4.2, "markeredgewidth": 0.3}
    sns.lineplot(frame, x="point", y="z", hue="curve", style="curve", ax=axes, **look)
    most = max(3.0, 1.1 * float(frame["z"].abs().max()))
    axes.set(xlabel="point, in the order of the figure", ylim=(-most, most))
    axes.set(ylabel="z, in combined errors")
    legend(figure)
    caption = (
        f"Deviation of the points of {printed} from the computed ones, in standard"
        " errors. The grey band reaches from −2 to 2."
    )
    return {"figure": figure, "caption": caption}
