"""A printed curve: its points, settings that predict them, how far it lies off, and its
badge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import Metric, hellinger
from dpbayes.study.printed import (
    Point,
    arrays,
    mechanism_name,
    plain_curve,
    published_points,
)
from dpbayes.study.sampling import Distances, Expected, of_law

Data = Callable[[str], tuple[ArrayLike, ArrayLike]]
"""Counts and prior at a place of the horizontal axis."""

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
class Drawing:
    """A way to draw a curve: what the settings are, in words, and what they give at
    each x.

    `at(x)` is the law of the distance of one run, or a value that is not sampled; the
    printed point is a statistic of `runs` runs. `whisker` is the reach of a box's
    whiskers.
    """

    settings: str
    at: Callable[[str], Distances] = field(repr=False)
    runs: int = 1000
    whisker: float = 1.5

    def expected(self, x: str, statistic: str = "mean") -> Expected:
        """Return the expectation of the printed statistic at x, and its Monte Carlo
        error.
        """
        return self.at(x).expected(statistic, self.runs, self.whisker)

    def curve(
        self, xs: Sequence[int | str], statistic: str = "mean"
    ) -> NDArray[np.float64]:
        """Return expectations at several x, shape (m,)."""
        return np.array([self.expected(str(x), statistic).value for x in xs])

    def fit(self, points: Sequence[Point]) -> Fit:
        """Return z of each point: its difference in combined Monte Carlo and reading
        errors.
        """
        runs, whisker = self.runs, self.whisker
        scores = (
            self.at(p.x).score(p.statistic, runs, p.y, p.y_error, whisker)
            for p in points
        )
        return Fit(tuple(scores))


def releases(
    settings: str,
    program: Any,
    data: Data,
    metric: Metric = hellinger,
    runs: int = 1000,
    whisker: float = 1.5,
) -> Drawing:
    """Return the drawing of a mechanism, or of a program that only has distances, on
    data(x).
    """

    @cache
    def at(x: str) -> Distances:
        if hasattr(program, "distances"):
            found: Distances = program.distances(*data(x))
            return found
        return of_law(program.law(*data(x)), metric)

    return Drawing(settings, at, runs, whisker)


def values(settings: str, value: Callable[[str], float]) -> Drawing:
    """Return the drawing of a curve whose values are computed, not sampled."""
    one = np.ones(1)
    return Drawing(
        settings, lru_cache(maxsize=None)(lambda x: Distances(value(x) * one, one))
    )


def boxed(x: str) -> tuple[list[int], list[float]]:
    """Return counts and prior of a label below a box, such as "5/5/5|prior 3"."""
    counts, _, prior = x.partition("|prior ")
    whole = [
        _validate.integer("x", int(count), minimum=0) for count in counts.split("/")
    ]
    return whole, [float(prior.split()[0]) if prior else 1.0] * len(whole)


@dataclass(frozen=True)
class Fit:
    """z scores of the points of a series under one drawing."""

    scores: tuple[float, ...]

    @property
    def rms(self) -> float:
        """Root of the mean square of the scores; 1 is expected where the errors are
        right.
        """
        return float(np.sqrt(np.mean(np.square(self.scores))))

    @property
    def worst(self) -> float:
        """The score that is largest in size, with its sign."""
        return float(max(self.scores, key=abs))

    @property
    def good(self) -> bool:
        """Whether the scores are as small as right errors make them."""
        return self.rms < LARGEST_RMS and abs(self.worst) <= LARGEST_Z


@dataclass(frozen=True)
class Series:
    """One curve, or one row of boxes, of a published figure with two ways to draw it.

    `caption` follows the document (None where it states no settings), `drawn` the
    program that drew the picture; `cause` says what differs, `commit` is where that
    program stands in the authors' repository.
    """

    document: str
    figure: str
    panel: str
    curve: str
    caption: Drawing | None
    drawn: Drawing
    cause: str
    commit: str

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of this series as the document printed them."""
        return published_points(self.document, self.figure, self.panel, self.curve)


@dataclass(frozen=True)
class Judged:
    """A series with its fits: under the document's settings, and under those it was
    drawn with.
    """

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
        """The fit that the badge rests on: the document's settings where these are
        met."""
        return (
            self.caption
            if self.caption is not None and self.caption.good
            else self.drawn
        )

    @property
    def drawing(self) -> Drawing:
        """The settings of that fit."""
        series = self.series
        stated = series.caption if self.badge == REPRODUCED else None
        return stated or series.drawn


def judge(series: Series) -> Judged:
    """Return a series with its fits and badge. Book: `published-fit`."""
    stated = None if series.caption is None else series.caption.fit(series.points)
    return Judged(series, stated, series.drawn.fit(series.points))


@dataclass(frozen=True)
class Published:
    """The curves of one printed figure, each with its fit, in the order of the
    catalogue.
    """

    title: str
    curves: tuple[Judged, ...]

    @property
    def badge(self) -> str:
        """The badge of the whole figure: the weakest of its curves."""
        return max((one.badge for one in self.curves), key=BADGES.index)

    def found(self, badge: str) -> tuple[str, bool]:
        """Return the sentence that the figure has a badge, and whether it has it."""
        sentence = f"{self.title} is {badge}: "
        met = [one.fit for one in self.curves if one.badge != NOT]
        left = [
            plain_curve(one.series.curve) for one in self.curves if one.badge == NOT
        ]
        if badge == NOT:
            sentence += (
                f"no settings meet the points of {' and '.join(left) or 'no curve'}."
            )
        else:
            points = sum(len(one.fit.scores) for one in self.curves)
            sentence += (
                f"over its {points} points the root mean square of z is at most "
            )
            sentence += f"{max((fit.rms for fit in met), default=0.0):.2f}."
        return sentence, self.badge == badge

    @property
    def scores(self) -> dict[str, tuple[float, ...]]:
        """Z of every point under the settings it was drawn with, by the name of its
        curve.
        """
        found: dict[str, tuple[float, ...]] = {}
        for one in self.curves:
            name = mechanism_name(one.series.curve)
            found[name] = found.get(name, ()) + one.drawn.scores
        return found

    def readings(
        self, label: str | None = None, curve: str | None = None
    ) -> dict[str, list[Any]]:
        """Return the printed points of curves over a number, as the columns x, y, error
        and curve.

        `label` is what they are called, by default the mechanism; `curve` picks one of
        them.
        """
        rows = []
        for series in (one.series for one in self.curves):
            name = mechanism_name(series.curve)
            if curve in (None, name):
                columns = zip(*arrays(series.points), strict=True)
                rows += [(*map(float, row), label or name) for row in columns]
        names = ("x", "y", "error", "curve")
        return {n: [row[i] for row in rows] for i, n in enumerate(names)}

    def means(self, sizes: Sequence[int]) -> dict[str, NDArray[np.float64]]:
        """Return each curve as it was drawn, at any sizes."""
        curves = [one.series for one in self.curves]
        return {mechanism_name(one.curve): one.drawn.curve(sizes) for one in curves}

    def boxes(self, groups: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return the five numbers of each box as drawn, (groups, 5), at the axis'
        labels.

        Ends are the expected whiskers; each number is the expectation over the printed
        runs.
        """
        made = {}
        for series in (one.series for one in self.curves):
            five = [series.drawn.curve(groups, statistic) for statistic in FIVE]
            made[mechanism_name(series.curve)] = np.sort(np.transpose(five), axis=1)
        return made

    def read(
        self, groups: Sequence[str]
    ) -> dict[str, list[tuple[float, float, float]]]:
        """Return the points of the printed boxes: number of the group, value, standard
        error.
        """
        place = {group: number for number, group in enumerate(groups)}
        return {
            mechanism_name(one.series.curve): [
                (place[p.x], p.y, p.y_error) for p in one.series.points if p.x in place
            ]
            for one in self.curves
        }

    @property
    def runs(self) -> int:
        """The number of runs behind each box or mean, as the figure was drawn."""
        return self.curves[0].series.drawn.runs


def box_table(
    boxes: Mapping[str, ArrayLike], groups: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the columns of a table of boxes, shape (groups, 5) each, a row for each
    group.
    """
    columns: dict[str, list[Any]] = {"group": list(groups)}
    for label, fives in boxes.items():
        for name, five in zip(FIVE.values(), np.asarray(fives).T, strict=True):
            columns[f"{label}, {name}"] = five.tolist()
    return columns


def simulated_runs(
    mechanisms: Mapping[str, Any],
    data: Mapping[Any, tuple[ArrayLike, ArrayLike]],
    runs: int,
    seed: int,
) -> dict[str, list[Any]]:
    """Return simulated releases in tidy columns x, distance, mechanism, one row a run.

    `data` maps what stands below the axis to counts and prior. Each mechanism has a
    generator of its own at each x, so that no draw depends on what else is drawn.

    >>> import dpbayes as dp
    >>> one = {"geometric": dp.mechanism("geometric", 1.0)}
    >>> found = simulated_runs(one, {10: ([5, 5], [1, 1])}, runs=3, seed=1)
    >>> found["x"], found["mechanism"][0], len(found["distance"])
    ([10, 10, 10], 'geometric', 3)
    """
    rows: list[tuple[Any, float, str]] = []
    for name, mechanism in mechanisms.items():
        for place, (x, (counts, prior)) in enumerate(data.items()):
            rng = np.random.default_rng([seed, place, *name.encode()])
            drawn = mechanism.law(counts, prior).simulate(rng, runs)
            rows += [(x, float(one), name) for one in drawn.distances]
    names = ("x", "distance", "mechanism")
    return {n: [row[i] for row in rows] for i, n in enumerate(names)}
