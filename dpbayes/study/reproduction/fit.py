"""How far a series lies from its points, and the badge that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.reproduction.drawing import Drawing, Series
from dpbayes.study.reproduction.points import plain_curve
from dpbayes.study.reproduction.sampling import QUARTILES, Distances

LARGEST_RMS, LARGEST_Z = 1.3, 4.0
REPRODUCED, AS_DRAWN, NOT = "reproduced", "reproduced as drawn", "not reproduced"
BADGES = (REPRODUCED, AS_DRAWN, NOT)
_WHISKERS = {"whisker-low": "lower whisker", "whisker-high": "upper whisker"}


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
    def readings(self) -> list[tuple[float, float, float, float]]:
        """The points as (x, y, reading error, z), where x is a number; z as drawn."""
        pairs = zip(self.series.points, self.drawn.scores, strict=True)
        return [(float(point.x), point.y, point.y_error, z) for point, z in pairs]

    def in_boxes(self, groups: Sequence[str]) -> list[tuple[int, float, float, float]]:
        """Return the points as (number of the group, y, reading error, z as drawn), in a box plot.

        `groups` are the labels of the points in the order of the boxes; others are left out.
        """
        pairs = zip(self.series.points, self.drawn.scores, strict=True)
        place = {group: number for number, group in enumerate(groups)}
        return [(place[p.x], p.y, p.y_error, z) for p, z in pairs if p.x in place]

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


def badge_of(judged: Iterable[Judged]) -> str:
    """Return the badge of a whole figure: the weakest of its series."""
    return max((one.badge for one in judged), key=BADGES.index)


def verdict(found: Sequence[Judged]) -> dict[str, Any]:
    """Return what a record's `finding` needs to say which badge a figure has, and why."""
    left = [one for one in found if one.badge == NOT]
    rest = [one for one in found if one.badge != NOT]
    settings: dict[str, dict[str, None]] = {}  # the curves of each, in order
    for one in rest:
        settings.setdefault(one.drawing.settings, {})[plain_curve(one.series.curve)] = None
    named = [f"{text} ({', '.join(curves)})" for text, curves in settings.items()]
    near = "with a root mean square of z of at most {rms:.2f}"
    badge = "**The badge of this figure is: {badge}.** "
    return {
        "holds": not left,
        "true": badge + "The {points} points of its {curves} curves are met, " + near + ", under "
        "these settings: {settings}.",
        "false": badge + "The points of {left} are not met by {worst}. The others, {rest} of "
        "{curves}, are met, " + near + ".",
        "rest": len(rest),
        "badge": badge_of(found),
        "curves": len(found),
        "points": sum(len(one.fit.scores) for one in found),
        "rms": max((one.fit.rms for one in rest), default=0.0),
        "settings": "; ".join(named if len(named) > 1 else settings) or "none",
        "left": ", ".join(plain_curve(one.series.curve) for one in left) or "none",
        "worst": "; ".join(one.drawing.settings for one in left) or "none",
    }


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


def drawn_boxes(
    series: Series, groups: Sequence[str], seed: int
) -> tuple[list[NDArray[np.float64]], list[list[float]]]:
    """Return simulated distances as drawn, and expected quartiles and median, for each group."""
    samples, quartiles = [], []
    for number, group in enumerate(groups):
        law = series.drawn.at(group)
        if not isinstance(law, Distances):
            raise TypeError(f"series must be a box plot, {series.curve!r} is a curve")
        rng = np.random.default_rng([seed, number, *series.curve.encode()])
        weights = law.masses / law.masses.sum()
        samples.append(rng.choice(law.values, size=series.drawn.runs, p=weights))
        runs = series.drawn.runs
        quartiles.append([law.expected(statistic, runs).value for statistic in QUARTILES])
    return samples, quartiles


def box_table(found: Sequence[Judged], groups: Sequence[str]) -> dict[str, list[str | float]]:
    """Return the columns of a table of expected statistics of boxes as drawn, a row a group."""
    columns: dict[str, list[str | float]] = {"group": list(groups)}
    for one in found:
        for statistic in (*QUARTILES, *_WHISKERS):
            drawn = [one.series.drawn.expected(group, statistic).value for group in groups]
            name = _WHISKERS.get(statistic, statistic.replace("-", " "))
            columns[f"{one.series.curve}, {name}"] = list(drawn)
    return columns
