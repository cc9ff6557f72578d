"""Settings that predict a printed statistic, and a series of points with two such settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import Metric, hellinger
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.reproduction.points import Point, published_points
from dpbayes.study.reproduction.sampling import Exactly, Expected, Printed, of_law


@dataclass(frozen=True)
class Drawing:
    """A way to draw a curve: what the settings are, in words, and what they give at each x.

    `at(x)` is the law of the distance of one run, or a value that is not sampled; the printed
    point is a statistic of `runs` runs. `whisker` is the reach of a box's whiskers.
    """

    settings: str
    at: Callable[[str], Printed] = field(repr=False)
    runs: int = 1000
    whisker: float = 1.5

    def expected(self, x: str, statistic: str = "mean") -> Expected:
        """Return the expectation of the printed statistic at x, and its Monte Carlo error."""
        return self.at(x).expected(statistic, self.runs, self.whisker)

    def score(self, point: Point) -> float:
        """Return z of a point: its difference in combined Monte Carlo and reading errors."""
        return self.at(point.x).score(
            point.statistic, self.runs, point.y, point.y_error, self.whisker
        )

    def curve(
        self, xs: Sequence[int | str], statistic: str = "mean"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return expectations and Monte Carlo errors at several x, shape (m,) each."""
        pairs = [self.expected(str(x), statistic) for x in xs]
        values = np.array([(pair.value, pair.error) for pair in pairs]).reshape(-1, 2)
        return values[:, 0], values[:, 1]


@dataclass(frozen=True)
class Series:
    """One curve, or one row of boxes, of a published figure with two ways to draw it.

    `caption` follows the document (None where it states no settings), `drawn` the program that
    drew the picture; `cause` says what differs, `commit` is where that program stands in the
    authors' repository ("" where nothing differs).
    """

    document: str
    figure: str
    panel: str
    curve: str
    caption: Drawing | None
    drawn: Drawing
    cause: str = ""
    commit: str = ""

    @property
    def points(self) -> tuple[Point, ...]:
        """The points read off the picture."""
        return published_points(self.document, self.figure, self.panel, self.curve)


def releases(
    settings: str,
    mechanism: Mechanism,
    data: Callable[[str], tuple[ArrayLike, ArrayLike]],
    metric: Metric = hellinger,
    runs: int = 1000,
    whisker: float = 1.5,
) -> Drawing:
    """Return the drawing of a mechanism whose counts and prior at x are `data(x)`."""

    def at(x: str) -> Printed:
        return of_law(mechanism.law(*data(x)), metric)

    return Drawing(settings, lru_cache(maxsize=None)(at), runs, whisker)


def values(settings: str, value: Callable[[str], float]) -> Drawing:
    """Return the drawing of a curve whose values are computed, not sampled."""
    return Drawing(settings, lru_cache(maxsize=None)(lambda x: Exactly(float(value(x)))))


def boxed(x: str) -> tuple[list[int], list[float]]:
    """Return counts and prior of a label below a box, such as "5/5/5|prior 3".

    >>> boxed("5/5/5|prior 3")
    ([5, 5, 5], [3.0, 3.0, 3.0])
    """
    counts, _, prior = x.partition("|prior ")
    whole = [_validate.integer("x", int(count), minimum=0) for count in counts.split("/")]
    return whole, [float(prior.split()[0]) if prior else 1.0] * len(whole)
