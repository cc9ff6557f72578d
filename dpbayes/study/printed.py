"""The points read off the printed pictures, and means of raw runs the authors once
published.

Points are compared with finished computations, never put into one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Point:
    """One reading: a statistic `y` of a curve at `x`, with one standard reading error.

    `x` is what stands below the axis: a number of records, a data set such as
    "5/5/5|prior 3", or a distance. `statistic` is "mean", a quartile, a whisker, or
    "value" where nothing was sampled.
    """

    document: str
    figure: str
    panel: str
    curve: str
    statistic: str
    x: str
    y: float
    y_error: float


@dataclass(frozen=True)
class RawMean:
    """The mean of the authors' own runs at one size; nothing was read."""

    k: int
    n: int
    mechanism: str
    runs: int
    mean: float


NAMES: Mapping[str, tuple[str, str]] = {
    "M_H gamma (star)": ("expMech-smooth", "expMech-smooth"),
    "M_H smooth (circle)": ("expMech-smooth, β given", "β given"),
    "Laplace 2/eps": ("Laplace noise of scale 2/ε", "Laplace noise of scale 2/ε"),
    "Laplace": ("Laplace noise", "lapMech"),
    "global": ("expMech, global sensitivity", "expMech"),
    "local": ("expMech, local sensitivity", "expMech-local"),
    "smooth": ("expMech, smooth sensitivity", "expMech-delta"),
    "H(beta(a+1 b);beta(a b+1))": ("distance of neighbours", "distance of neighbours"),
    "max score change": ("largest change of the score", "largest change of the score"),
    "actual epsilon": ("actual ε", "actual ε"),
}
"""Curves whose name in a legend or a program is no plain one: in sentences, and in
figures.
"""


def plain_curve(curve: str) -> str:
    """Return what a curve is called in tables and sentences."""
    return NAMES.get(curve, (curve, curve))[0]


def mechanism_name(curve: str) -> str:
    """Return what a curve is called in a figure: the mechanism that it is, where it is
    one.
    """
    return NAMES.get(curve, (curve, curve))[1]


def table_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a file in `dpbayes/data`, with the names of its columns."""
    text = files("dpbayes").joinpath(f"data/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@lru_cache(maxsize=1)
def all_points() -> tuple[Point, ...]:
    """Return the points read off pixels, without the older readings by eye."""
    found = []
    for row in table_of("published-curves.csv"):
        curve, _, statistic = row["curve"].partition(":")
        named = "mean" if statistic.startswith("mean") or not statistic else statistic
        place = row["document"], row["figure"], row["panel"], curve
        if row["method"] == "raster":
            found.append(
                Point(*place, named, row["x"], float(row["y"]), float(row["y_error"]))
            )
    return tuple(found)


def published_points(
    document: str, figure: str, panel: str, curve: str
) -> tuple[Point, ...]:
    """Return the points of one curve, in the order of the axis. Book:
    `published-points`.
    """
    place = (document, figure, panel, curve)
    return tuple(
        p for p in all_points() if (p.document, p.figure, p.panel, p.curve) == place
    )


def arrays(
    points: Sequence[Point],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return x, y and the reading errors of points whose x is a number, shape (m,)
    each.
    """
    x, y, errors = (
        np.array([(float(p.x), p.y, p.y_error) for p in points]).reshape(-1, 3).T
    )
    return x, y, errors


@lru_cache(maxsize=1)
def raw_means() -> tuple[RawMean, ...]:
    """Return the means of the authors' raw runs of D's Figures 5 and 6a, run again at
    epsilon 1.
    """
    rows = table_of("authors-raw-means.csv")
    return tuple(
        RawMean(
            int(r["k"]), int(r["n"]), r["mechanism"], int(r["runs"]), float(r["mean"])
        )
        for r in rows
    )
