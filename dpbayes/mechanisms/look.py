"""How a mechanism looks in every figure: colour, dash, marker, hatch and plain name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Dash = str | tuple[int, tuple[float, ...]]

SOLID = "-"
LONG = (0, (8.0, 2.0))
DASHED = (0, (4.0, 1.6))
SHORT = (0, (2.0, 1.2))
DOTTED = (0, (1.0, 1.2))
DASH_DOT = (0, (6.0, 1.5, 1.0, 1.5))
DASH_DOT_DOT = (0, (5.0, 1.2, 1.0, 1.2, 1.0, 1.2))


@dataclass(frozen=True)
class Look:
    """How a mechanism is drawn, and what it is called in plain words.

    `color` is a hex code, `dash` and `marker` are matplotlib's, so that lines differ in
    grey, too; `hatch` fills boxes, `plain` is the words of a legend.
    """

    color: str
    dash: Dash
    marker: str
    hatch: str
    plain: str

    def style(self) -> dict[str, Any]:
        """Return the keyword arguments of a line for matplotlib: colour, dash and
        marker.
        """
        return {"color": self.color, "linestyle": self.dash, "marker": self.marker}
