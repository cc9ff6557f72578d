"""How far a series lies from its points, and the badge that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpbayes.study.reproduction.drawing import Drawing, Series

LARGEST_RMS, LARGEST_Z = 1.3, 4.0
REPRODUCED, AS_DRAWN, NOT = "reproduced", "reproduced as drawn", "not reproduced"
BADGES = (REPRODUCED, AS_DRAWN, NOT)


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


def badge_of(judged: Iterable[Judged]) -> str:
    """Return the badge of a whole figure: the weakest of its series."""
    return max((one.badge for one in judged), key=BADGES.index)
