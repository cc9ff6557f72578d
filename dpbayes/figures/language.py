"""One colour, one dash, one marker and one plain name for each mechanism, in every
figure.

What is not a mechanism gets one of the muted series colours, which no mechanism has;
the lines a figure is read against are grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dpbayes.mechanisms import DECLARED
from dpbayes.mechanisms.look import (
    DASH_DOT,
    DASH_DOT_DOT,
    DASHED,
    DOTTED,
    LONG,
    SHORT,
    SOLID,
    Dash,
    Look,
)

DASHES: tuple[Dash, ...] = (SOLID, DASHED, DASH_DOT, DOTTED, DASH_DOT_DOT, LONG, SHORT)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SERIES = ("#3E5368", "#9A5B4F", "#5F7F6B", "#7C6F93", "#8C7B4E", "#5A5A5A")
REFERENCE: Mapping[str, Any] = MappingProxyType(
    {"color": "#595959", "linestyle": (0, (1.0, 1.5)), "linewidth": 1.2, "marker": None}
)


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        f"{spec.name}{word and f', {word}'}": look
        for spec in DECLARED.values()
        for word, look in {"": spec.look, **spec.variants}.items()
    }
)
"""The looks that mechanisms declare, and of their variants, by name."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {"calibrated": "expMech-smooth, calibrated"}
)


def mechanism_of(label: str) -> str | None:
    """Return the mechanism that a label names, also as ``name, what is said of it``;
    else None.

    >>> mechanism_of("ilapMech, face value"), mechanism_of("promise")
    ('ilapMech', None)
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


def palette(labels: Iterable[str]) -> dict[str, str]:
    """Return the colour of each label, as seaborn's `palette`.

    >>> palette(["geometric"])
    {'geometric': '#029E73'}
    """
    return {label: look["color"] for label, look in styles(labels).items()}


def markers(labels: Iterable[str]) -> dict[str, str]:
    """Return the marker of each label, as seaborn's `markers`."""
    return {label: look["marker"] for label, look in styles(labels).items()}


def dashes(labels: Iterable[str]) -> dict[str, str | tuple[float, ...]]:
    """Return the dash of each label, as seaborn's `dashes`."""
    found = {label: look["linestyle"] for label, look in styles(labels).items()}
    return {label: "" if one == SOLID else one[1] for label, one in found.items()}


def look(labels: Iterable[str]) -> dict[str, Any]:
    """Return seaborn's `palette` and `dashes` for curves of these labels."""
    names = list(labels)
    return {"palette": palette(names), "dashes": dashes(names)}


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
