"""How far a series lies from its points, and the badge that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.figures.boxes import Box
from dpbayes.figures.lines import Curve
from dpbayes.study.reproduction.drawing import Drawing, Series
from dpbayes.study.reproduction.points import arrays, mechanism_name, plain_curve

LARGEST_RMS, LARGEST_Z = 1.3, 4.0
REPRODUCED, AS_DRAWN, NOT = "reproduced", "reproduced as drawn", "not reproduced"
BADGES = (REPRODUCED, AS_DRAWN, NOT)
FIVE = {
    "whisker-low": "lower whisker",
    "lower-quartile": "lower quartile",
    "median": "median",
    "upper-quartile": "upper quartile",
    "whisker-high": "upper whisker",
}
"""The statistics of a printed box, from below, and their names in tables."""


@dataclass(frozen=True)
class Fit:
    """z scores of the points of a series under one drawing: how many, mean, rms, the largest."""

    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the scores; far from 0 where a curve lies to one side."""
        return float(np.mean(self.scores))

    @property
    def rms(self) -> float:
        """Root of the mean square of the scores; 1 is expected where the errors are right."""
        return float(np.sqrt(np.mean(np.square(self.scores))))

    @property
    def worst(self) -> float:
        """The score that is largest in size, with its sign."""
        return float(max(self.scores, key=abs))

    @property
    def good(self) -> bool:
        """Whether the rms is below 1.3 and no score above 4 in size."""
        return self.rms < LARGEST_RMS and abs(self.worst) <= LARGEST_Z


@dataclass(frozen=True)
class Judged:
    """A series with its fits: under the document's settings, and under those it was drawn with."""

    series: Series
    caption: Fit | None
    drawn: Fit

    @property
    def badge(self) -> str:
        """ "reproduced", "reproduced as drawn" or "not reproduced"."""
        if self.caption is not None and self.caption.good:
            return REPRODUCED
        return AS_DRAWN if self.drawn.good else NOT

    @property
    def fit(self) -> Fit:
        """The fit that the badge rests on: the document's settings where these are met."""
        if self.badge == REPRODUCED and self.caption is not None:
            return self.caption
        return self.drawn

    @property
    def drawing(self) -> Drawing:
        """The settings of that fit."""
        if self.badge == REPRODUCED and self.series.caption is not None:
            return self.series.caption
        return self.series.drawn


def judge(series: Series) -> Judged:
    """Return a series with its fits and badge. Book: `published-fit`."""
    points = series.points
    if not points:
        raise ValueError(f"series must have points, {series.curve!r} has none")
    caption = None
    if series.caption is not None:
        caption = Fit(tuple(series.caption.score(point) for point in points))
    return Judged(series, caption, Fit(tuple(series.drawn.score(point) for point in points)))


@dataclass(frozen=True)
class Published:
    """The curves of one printed figure, each with its fit, in the order of the catalogue."""

    title: str
    curves: tuple[Judged, ...]

    @property
    def badge(self) -> str:
        """The badge of the whole figure: the weakest of its curves."""
        return max((one.badge for one in self.curves), key=BADGES.index)

    @property
    def points(self) -> int:
        """The number of points that were read."""
        return sum(len(one.fit.scores) for one in self.curves)

    @property
    def rms(self) -> float:
        """The largest root mean square of z among the curves that are met; 0 if none is."""
        return max((one.fit.rms for one in self.curves if one.badge != NOT), default=0.0)

    @property
    def left(self) -> list[str]:
        """The curves that no settings meet."""
        return [plain_curve(one.series.curve) for one in self.curves if one.badge == NOT]

    def found(self, badge: str) -> tuple[str, bool]:
        """Return the sentence that the figure has a badge, and whether it has it."""
        sentence = f"{self.title} is {badge}: "
        if badge == NOT:
            sentence += f"no settings meet the points of {' and '.join(self.left) or 'no curve'}."
        else:
            sentence += f"over its {self.points} points the root mean square of z is at most "
            sentence += f"{self.rms:.2f}."
        return sentence, self.badge == badge

    @property
    def scores(self) -> dict[str, tuple[float, ...]]:
        """Z of every point under the settings it was drawn with, by the name of its curve."""
        found: dict[str, tuple[float, ...]] = {}
        for one in self.curves:
            name = mechanism_name(one.series.curve)
            found[name] = found.get(name, ()) + one.drawn.scores
        return found

    @property
    def largest_gap(self) -> float:
        """The largest difference of a printed point from the value as drawn."""
        pairs = [(one.series.drawn, point) for one in self.curves for point in one.series.points]
        return max(
            abs(point.y - drawn.expected(point.x, point.statistic).value) for drawn, point in pairs
        )

    def circles(self, label: str | None = None, curve: str | None = None) -> list[Curve]:
        """Return the printed points of curves over a number, to be drawn beside them.

        `label` is what they are called, by default the mechanism; `curve` picks one of them.
        """
        read = [
            (mechanism_name(s.curve), *arrays(s.points)) for s in (c.series for c in self.curves)
        ]
        chosen = [one for one in read if curve in (None, one[0])]
        return [Curve(label or name, x, y, "reading", error) for name, x, y, error in chosen]

    def means(self, sizes: Sequence[int]) -> dict[str, NDArray[np.float64]]:
        """Return each curve as it was drawn, at any sizes."""
        return {
            mechanism_name(one.series.curve): one.series.drawn.curve(sizes)[0]
            for one in self.curves
        }

    def boxes(self, groups: Sequence[str]) -> list[Box]:
        """Return the boxes as they were drawn, at the labels of the axis, with the printed points.

        Ends are the expected whiskers; each number is the expectation over the printed runs.
        """
        made = []
        place = {group: number for number, group in enumerate(groups)}
        for one in self.curves:
            series = one.series
            five = [series.drawn.curve(groups, statistic)[0] for statistic in FIVE]
            read = [(place[p.x], p.y, p.y_error) for p in series.points if p.x in place]
            made.append(Box(mechanism_name(series.curve), np.sort(np.array(five).T, axis=1), read))
        return made


def box_table(boxes: Sequence[Box], groups: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of a table of boxes, a row for each group."""
    columns: dict[str, list[Any]] = {"group": list(groups)}
    for box in boxes:
        for name, values in zip(FIVE.values(), np.asarray(box.five).T, strict=True):
            columns[f"{box.label}, {name}"] = values.tolist()
    return columns


def fit_table(found: Sequence[Judged]) -> dict[str, list[str | int | float]]:
    """Return the columns of a table of fits, one row a series.

    The scores are those under the settings named in the row; `caption_rms_z` is that of the
    document's own settings, empty where it states none.
    """
    rows = [
        {
            "document": one.series.document,
            "figure": one.series.figure,
            "panel": one.series.panel,
            "curve": plain_curve(one.series.curve),
            "points": len(one.fit.scores),
            "settings": one.drawing.settings,
            "mean_z": one.fit.mean,
            "rms_z": one.fit.rms,
            "worst_z": one.fit.worst,
            "badge": one.badge,
            "cause": "" if one.badge == REPRODUCED else one.series.cause,
            "caption_rms_z": one.caption.rms if one.caption is not None else "",
            "drawn_rms_z": one.drawn.rms,
            "commit": one.series.commit,
        }
        for one in found
    ]
    return {key: [row[key] for row in rows] for key in rows[0]}


def point_table(found: Sequence[Judged]) -> dict[str, list[str | float]]:
    """Return the columns of a table of all points: read, expected, Monte Carlo error, z."""
    columns: dict[str, list[str | float]] = {}
    for one in found:
        for point, z in zip(one.series.points, one.fit.scores, strict=True):
            expected = one.drawing.expected(point.x, point.statistic)
            row: dict[str, str | float] = {
                "document": point.document,
                "figure": point.figure,
                "panel": point.panel,
                "curve": plain_curve(point.curve),
                "statistic": point.statistic,
                "x": point.x,
                "y": point.y,
                "y_error": point.y_error,
                "expected": expected.value,
                "monte_carlo_error": expected.error,
                "z": z,
            }
            for key, value in row.items():
                columns.setdefault(key, []).append(value)
    return columns
