"""The points read off the printed pictures, and means of raw runs the authors once published.

The data card is `data/published-curves.md`. Points meet finished computations only: they are drawn
as circles and compared, never put into one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate

METHODS = ("raster", "eye")


@dataclass(frozen=True)
class Point:
    """One reading: a statistic `y` of a curve at `x`, with one standard reading error.

    `x` is what stands below the axis: a number of records, a data set such as "5/5/5|prior 3",
    or a distance. `statistic` is "mean", a quartile, a whisker, or "value" where nothing was
    sampled. `source` names the authors' file, and its contents by the start of its git hash.
    """

    document: str
    figure: str
    panel: str
    curve: str
    statistic: str
    x: str
    y: float
    x_error: float
    y_error: float
    source: str
    method: str


PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "M_H gamma (star)": "expMech-smooth",
        "M_H smooth (circle)": "expMech-smooth, β given",
        "Laplace 2/eps": "Laplace noise of scale 2/ε",
        "Laplace": "Laplace noise",
        "global": "expMech, global sensitivity",
        "local": "expMech, local sensitivity",
        "smooth": "expMech, smooth sensitivity",
        "H(beta(a+1 b);beta(a b+1))": "distance of neighbours",
        "max score change": "largest change of the score",
        "actual epsilon": "actual ε",
    }
)
"""Curves whose name in a legend or a program is no plain one; tables and sentences say these."""

MECHANISMS: Mapping[str, str] = MappingProxyType(
    {"global": "expMech", "local": "expMech-local", "smooth": "expMech-delta"}
    | {"Laplace": "lapMech", "M_H smooth (circle)": "β given"}
)
"""Curves of C and D whose look in a figure is that of a mechanism or of a numbered series."""


def plain_curve(curve: str) -> str:
    """Return what a curve is called in tables and sentences.

    >>> plain_curve("Laplace 2/eps"), plain_curve("lapMech")
    ('Laplace noise of scale 2/ε', 'lapMech')
    """
    return PLAIN.get(curve, curve)


def mechanism_name(curve: str) -> str:
    """Return what a curve is called in a figure: the mechanism that it is, where it is one.

    >>> mechanism_name("M_H gamma (star)"), mechanism_name("global")
    ('expMech-smooth', 'expMech')
    """
    return MECHANISMS.get(curve, plain_curve(curve))


@dataclass(frozen=True)
class RawMean:
    """The mean of the authors' own runs at one size, with its standard error; nothing was read."""

    k: int
    n: int
    mechanism: str
    runs: int
    mean: float
    standard_error: float
    source: str


def _table(name: str) -> list[dict[str, str]]:
    text = files("dpbayes").joinpath(f"data/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@lru_cache(maxsize=1)
def _points() -> tuple[Point, ...]:
    return tuple(_point(row) for row in _table("published-curves.csv"))


def _point(row: dict[str, str]) -> Point:
    curve, _, statistic = row["curve"].partition(":")
    named = "mean" if statistic.startswith("mean") or not statistic else statistic
    numbers: dict[str, Any] = {key: float(row[key]) for key in ("y", "x_error", "y_error")}
    return Point(**{**row, **numbers, "curve": curve, "statistic": named})


def published_points(
    document: str, figure: str, panel: str = "", curve: str | None = None, method: str = "raster"
) -> tuple[Point, ...]:
    """Return the points of one panel, or of one of its curves, in the order of the axis.

    `method` is "raster" (the pictures' pixels) or "eye" (older readings of the printed page at
    sizes that the other readings leave out). Raises ValueError for a panel or curve without
    points. Book: `published-points`.

    >>> len(published_points("D", "5", curve="lapMech"))
    21
    """
    _validate.choice("method", method, METHODS)
    panels = {(p.document, p.figure, p.panel) for p in _points()}
    if (document, figure, panel) not in panels:
        known = ", ".join(sorted("-".join(part for part in key if part) for key in panels))
        raise ValueError(
            f"document, figure and panel must be one of {known}, got {(document, figure, panel)!r}"
        )
    key = (document, figure, panel, method)
    found = [p for p in _points() if (p.document, p.figure, p.panel, p.method) == key]
    if curve is None:
        return tuple(found)
    _validate.choice("curve", curve, tuple(dict.fromkeys(point.curve for point in found)))
    return tuple(point for point in found if point.curve == curve)


def arrays(
    points: tuple[Point, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return x, y and the reading errors of points whose x is a number, shape (m,) each."""
    columns = [(float(point.x), point.y, point.y_error) for point in points]
    x, y, errors = np.array(columns).reshape(-1, 3).T
    return x, y, errors


@lru_cache(maxsize=1)
def raw_means() -> tuple[RawMean, ...]:
    """Return the means of the authors' raw runs of D's Figures 5 and 6a, run again at epsilon 1.

    >>> raw_means()[0].n, raw_means()[0].runs
    (100, 1000)
    """
    kinds: dict[str, Any] = {"k": int, "n": int, "mechanism": str, "runs": int, "source": str}
    kinds |= {"mean": float, "standard_error": float}
    rows = _table("authors-raw-means.csv")
    return tuple(RawMean(**{key: kind(row[key]) for key, kind in kinds.items()}) for row in rows)
