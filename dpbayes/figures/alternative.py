"""The words for who cannot see a figure, read off its axes."""

from __future__ import annotations

from typing import Any


def alternative_text(figure: Any) -> str:
    """Return what a figure shows: for each panel its title, axes and curves.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.plot([1, 2], [3, 5], label="mean")
    >>> _ = axes.set(xlabel="records", ylabel="distance", title="It rises")
    >>> alternative_text(figure)
    'It rises: distance against records; mean from 3 to 5.'
    """
    panels = []
    for axes in figure.axes:
        title = axes.get_title("left") or axes.get_title()
        named = axes.get_xlabel(), axes.get_ylabel()
        plane = " against ".join(one for one in reversed(named) if one)
        curves = []
        for line in axes.get_lines():
            name, heights = str(line.get_label()), line.get_ydata()
            if len(heights) and not name.startswith("_"):
                curves.append(f"{name} from {heights[0]:.3g} to {heights[-1]:.3g}")
        parts = "; ".join([part for part in (plane, ", ".join(curves)) if part])
        panels.append(": ".join(part for part in (title, parts) if part))
    return " ".join(f"{panel.rstrip('.')}." for panel in panels if panel)
