"""One colour, one dash, one marker and one plain name for each mechanism, in every
figure.

What is not a mechanism gets one of the muted series colours, which no mechanism has;
the lines a figure is read against are grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

Dash = str | tuple[int, tuple[float, ...]]

SOLID = "-"
LONG = (0, (8.0, 2.0))
DASHED = (0, (4.0, 1.6))
SHORT = (0, (2.0, 1.2))
DOTTED = (0, (1.0, 1.2))
DASH_DOT = (0, (6.0, 1.5, 1.0, 1.5))
DASH_DOT_DOT = (0, (5.0, 1.2, 1.0, 1.2, 1.0, 1.2))
DASHES: tuple[Dash, ...] = (SOLID, DASHED, DASH_DOT, DOTTED, DASH_DOT_DOT, LONG, SHORT)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SERIES = ("#3E5368", "#9A5B4F", "#5F7F6B", "#7C6F93", "#8C7B4E", "#5A5A5A")
REFERENCE: Mapping[str, Any] = MappingProxyType(
    {"color": "#595959", "linestyle": (0, (1.0, 1.5)), "linewidth": 1.2, "marker": None}
)


@dataclass(frozen=True)
class Look:
    """How a mechanism is drawn, and what it is called in plain words."""

    color: str
    dash: Dash
    marker: str
    hatch: str
    plain: str

    def style(self) -> dict[str, Any]:
        """Return the keyword arguments of a line."""
        return {"color": self.color, "linestyle": self.dash, "marker": self.marker}


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "lapMech": Look(
            "#D55E00", DASHED, "s", "\\\\\\\\", "Laplace noise as the papers scale it"
        ),
        "ilapMech": Look(
            "#A67C00",
            DASH_DOT,
            "^",
            "////",
            "Laplace noise scaled to what a record changes",
        ),
        "draft-laplace": Look(
            "#B23A48", SHORT, "P", "*", "one-sided Laplace noise of the draft"
        ),
        "parameter-laplace": Look(
            "#7A4A1E", DOTTED, "X", "\\\\..", "Laplace noise on the parameters"
        ),
        "geometric": Look("#009E73", LONG, "v", ".", "geometric noise on one count"),
        "geometric, remapped": Look(
            "#009E73", SHORT, "d", "o", "geometric noise, then the best guess"
        ),
        "lattice": Look(
            "#00695C", LONG, "p", "oo", "whole-number noise that sums to zero"
        ),
        "lattice, remapped": Look(
            "#00695C", SHORT, "h", "O", "sum-zero noise, then the best guess"
        ),
        "discrete-gaussian": Look(
            "#6B8E23", DASH_DOT_DOT, "*", "..--", "discrete Gaussian noise"
        ),
        "independent": Look(
            "#4F6D3A", SHORT, ">", "/o", "geometric noise on every count, n secret"
        ),
        "expMech": Look(
            "#0072B2",
            SOLID,
            "o",
            "----",
            "exponential mechanism with the global sensitivity",
        ),
        "expMech-local": Look(
            "#2F95D3",
            DOTTED,
            "<",
            "||",
            "exponential mechanism with the local sensitivity",
        ),
        "expMech-smooth": Look(
            "#C4619B",
            DASHED,
            "D",
            "xx",
            "exponential mechanism with the smooth sensitivity",
        ),
        "expMech-smooth, calibrated": Look(
            "#8A2F6B",
            DASH_DOT_DOT,
            "P",
            "xxxx",
            "the same, calibrated by an exact audit",
        ),
        "expMech-delta": Look(
            "#6A51C4", DASH_DOT, "X", "++", "exponential mechanism with a δ"
        ),
        "expMech-repaired": Look(
            "#3F3A8C", SHORT, "H", "++..", "repaired exponential mechanism with a δ"
        ),
        "permute-and-flip": Look(
            "#D1495B", DASH_DOT_DOT, "h", "-\\\\", "candidates tried in random order"
        ),
        "optimal": Look("#000000", SOLID, "8", "", "the optimum, by a linear program"),
    }
)
ALIASES: Mapping[str, str] = MappingProxyType(
    {"calibrated": "expMech-smooth, calibrated"}
)


def mechanism_of(label: str) -> str | None:
    """Return the mechanism that a label names, also as ``name, what is said of it``;
    else None.

    >>> mechanism_of("ilapMech"), mechanism_of("ilapMech, face value"), mechanism_of("promise")
    ('ilapMech', 'ilapMech', None)
    """
    name = ALIASES.get(label, label)
    while name not in LOOKS:
        name, comma, _ = name.rpartition(", ")
        if not comma:
            return None
    return name


def styles(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, dash and marker for each label.

    A mechanism has its own. Of several labels that say something more about one
    mechanism, all have its colour, and each a dash and a marker of its own. Everything
    else is a numbered series.

    >>> styles(["share", "lapMech"])["lapMech"] == LOOKS["lapMech"].style()
    True
    """
    names = {label: mechanism_of(label) for label in labels}
    looks, others = {}, 0
    for label, name in names.items():
        if name is None:
            looks[label] = series_style(others)
            others += 1
        else:
            looks[label] = _variant(
                name, label, [one for one in names if names[one] == name]
            )
    return looks


def series_style(index: int) -> dict[str, Any]:
    """Return colour, dash and marker of a series that is not a mechanism."""
    return {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def _variant(name: str, label: str, kin: list[str]) -> dict[str, Any]:
    own = LOOKS[name].style()
    if ALIASES.get(label, label) == name or len(kin) == 1:
        return own
    rank = [one for one in kin if ALIASES.get(one, one) != name].index(label)
    dashes = [dash for dash in DASHES if dash != own["linestyle"]]
    markers = [marker for marker in MARKERS if marker != own["marker"]]
    return {
        **own,
        "linestyle": dashes[rank % len(dashes)],
        "marker": markers[rank % len(markers)],
    }
