"""Who wins where: a heat map with one colour and one marker for each winner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from numpy.typing import ArrayLike

from dpbayes.figures.language import markers, palette
from dpbayes.figures.theme import LETTER, plain


def winners(
    axes: Axes,
    index: ArrayLike,
    rows: ArrayLike,
    columns: ArrayLike,
    names: Sequence[str],
) -> None:
    """Draw a map of winners: `index`, shape (rows, columns), are numbers of `names`.

    `rows` (from below) and `columns` are the increasing settings of the cells. Each
    winner has its tint, and its marker in the cells, so that grey shows it as well.
    """
    frame = pd.DataFrame(np.asarray(index), index=rows, columns=columns)
    colors, shapes = palette(names), markers(names)
    tints = [tuple(0.5 + 0.5 * part for part in to_rgb(c)) for c in colors.values()]
    scale = {"cmap": ListedColormap(tints), "vmin": -0.5, "vmax": len(names) - 0.5}
    sns.heatmap(frame, cbar=False, ax=axes, **scale)
    axes.invert_yaxis()
    for number, (name, tint) in enumerate(zip(names, tints, strict=True)):
        at, across = np.nonzero(frame.to_numpy() == number)
        if at.size:
            axes.plot([], [], "s", color=tint, ms=7, label=name)
            kept = (at + across) % 2 == 0 if frame.size > 100 else slice(None)
            axes.scatter(
                across[kept] + 0.5,
                at[kept] + 0.5,
                s=min(14.0, 900.0 / frame.size**0.75),
                marker=shapes[name],
                color=colors[name],
                linewidths=0,
                label="_",
            )
    _label(axes, frame)


def _label(axes: Axes, frame: pd.DataFrame) -> None:
    """Label as many columns and rows as there is room for, in plain numbers."""
    inches = axes.bbox.width / axes.figure.dpi
    columns, rows = (
        [plain(float(f"{value:.{digits}g}")) for value in values]
        for values, digits in ((frame.columns, 2), (frame.index, 3))
    )
    most = int(inches / (LETTER * (max(map(len, columns)) + 1)))
    for axis, words, room in ((axes.xaxis, columns, most), (axes.yaxis, rows, 7)):
        places = np.arange(0, len(words), -(-len(words) // max(room, 1)))
        axis.set_ticks(places + 0.5, [words[i] for i in places])
    axes.tick_params(rotation=0, left=True, bottom=True)
