"""A figure drawn a second time for a narrow column, such as that of a phone.

Panels stand below one another, names at the ends of curves and legends become one legend below, and
long words are broken. The data, the colours, the dashes and the marks are those of the wide figure.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text

from dpbayes.figures._fitting import broken, fit, readable
from dpbayes.figures._labels import end_labels
from dpbayes.figures.theme import SETTINGS, hold

WIDTH = 3.5  # inches: 336 pixels, the column of a phone
SMALLER = 9.5 / 11.0  # letters, beside those of the wide figure
LEAST = 8.5  # points, 11.3 pixels
PANEL = 0.8  # height of a panel, beside that in the wide figure
_LETTER = 0.073  # inches, the width of a letter in the legend
_SAMPLE = 0.55  # inches, what stands before a name in the legend
Entry = tuple[Any, str, Any]  # a sample, its name, the colour of the name


def narrow(figure: Figure) -> Figure | None:
    """Return a copy of a figure for a column of `WIDTH` inches, or None where it has no room.

    That is so where two texts would touch each other or one would leave the figure, and where a
    name at the end of a curve cannot be found again among the curves. The figure stays as it is.
    """
    if figure.get_figwidth() <= WIDTH or figure.get_layout_engine() is None:
        return None
    with mpl.rc_context(SETTINGS):
        drawn = _copied(figure)
        entries = _taken(drawn)
        panels = _stacked(drawn)
        if entries is None or not panels:
            return None
        _shrink_letters(drawn)
        _explain(drawn, entries)
        drawn.draw_without_rendering()
        if fit(drawn.axes):
            drawn.draw_without_rendering()
        hold(drawn)
        return drawn if readable(drawn) else None


def _copied(figure: Figure) -> Figure:
    """Return a deep copy: through `pickle`, ten times as fast, where that takes all of it."""
    try:
        copied: Figure = pickle.loads(pickle.dumps(figure))
    except (pickle.PicklingError, AttributeError, TypeError):
        return copy.deepcopy(figure)
    return copied


def _taken(figure: Figure) -> list[Entry] | None:
    """Take names and legends away and return what they said, each once."""
    found: dict[str, Entry] = {}
    samples: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        samples |= dict(zip(names, handles, strict=True))
        lines = {str(line.get_label()): line for line in reversed(axes.lines)}
        for text in end_labels(axes):
            words = text.get_text()
            if words not in lines:
                return None
            name = " ".join(words.split())
            found.setdefault(name, (lines[words], name, text.get_color()))
            text.set_visible(False)  # a copied artist cannot leave the list of its original
            text.set_in_layout(False)
    own = figure.axes[0].get_legend() if len(figure.axes) == 1 else None
    for legend in [*([own] if own else []), *figure.legends]:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            name = text.get_text()
            found.setdefault(name, (samples.get(name, handle), name, text.get_color()))
        legend.set_visible(False)
    figure.legends.clear()
    return list(found.values())


def _stacked(figure: Figure) -> list[Axes]:
    """Set the panels below one another and return them; none where they are no plain grid."""
    for empty in [axes for axes in figure.axes if not axes.axison and not _filled(axes)]:
        empty.remove()
    specs = {axes: axes.get_subplotspec() for axes in figure.axes}
    placed = {axes: spec for axes, spec in specs.items() if spec is not None}
    grids = {spec.get_gridspec() for spec in placed.values()}
    if len(grids) != 1 or any(spec.num1 != spec.num2 for spec in placed.values()):
        return []
    (grid,) = grids
    panels = sorted(placed, key=lambda axes: placed[axes].num1)
    columns = grid.get_geometry()[1]
    heights: Any = grid.get_height_ratios()
    ratios = [float(one) for one in heights]
    kept = [ratios[placed[axes].num1 // columns] for axes in panels]
    if columns > 1:
        alone = GridSpec(len(panels), 1, figure=figure, height_ratios=kept)
        for place, axes in enumerate(panels):
            axes.set_subplotspec(alone[place])
            _labelled(axes, panels[0])
    tall = PANEL * figure.get_figheight() * sum(kept) / sum(ratios)
    figure.set_size_inches(WIDTH, tall)
    return panels


def _filled(axes: Axes) -> bool:
    """Say whether axes without an axis hold a diagram, rather than nothing."""
    return any((axes.texts, axes.patches, axes.lines, axes.tables))


def _labelled(axes: Axes, first: Axes) -> None:
    """Give a panel that shared its neighbours' labels its own."""
    axes.tick_params(labelleft=True, labelbottom=True)
    for own, other in ((axes.xaxis, first.xaxis), (axes.yaxis, first.yaxis)):
        if not own.get_label_text():
            own.set_label_text(other.get_label_text())


def _shrink_letters(figure: Figure) -> None:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = axis.get_ticklabels()
            if labels:
                axis.set_tick_params(labelsize=_smaller(labels[0]))
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_fontsize(_smaller(text))


def _smaller(text: Text) -> float:
    return max(LEAST, SMALLER * float(text.get_fontsize()))


def _explain(figure: Figure, entries: Sequence[Entry]) -> None:
    """Write all names into one legend below, and make the figure higher by its height."""
    if not entries:
        return
    room = {columns: int((WIDTH / columns - _SAMPLE) / _LETTER) for columns in (1, 2)}
    columns = 2 if all(len(name) <= room[2] for _, name, _ in entries) else 1
    names = [broken(name, room[columns]) for _, name, _ in entries]
    legend = figure.legend(
        handles=[handle for handle, _, _ in entries], labels=names, loc="outside lower left",
        ncols=columns, fontsize=LEAST, frameon=False, handlelength=2.4, columnspacing=1.0,
    )  # fmt: skip
    for text, (_, _, color) in zip(legend.get_texts(), entries, strict=True):
        text.set_color(color)
    deep = sum(name.count("\n") + 1.5 for name in names) / columns
    figure.set_figheight(figure.get_figheight() + LEAST * 1.2 / 72.0 * math.ceil(deep))
