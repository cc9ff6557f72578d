"""All printed curves of documents A to D: two ways to draw each, and the causes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from dpbayes._validate import Floats
from dpbayes.divergences import hellinger_published
from dpbayes.study.curves import Drawing, Fit, Published, Series, judge
from dpbayes.study.printed import RawMean, plain_curve
from dpbayes.study.settings import Setting, probabilities_of_distances, settings

PICTURES = {"until-3978d2b": ", earlier picture", "from-3978d2b": ", later picture"}
"""The two pictures of D's Figure 7, before and after a change of its program."""


def _rows(drawing: str) -> dict[tuple[str, str, str, str], Setting]:
    return {row.place: row for row in settings() if row.drawing == drawing}


@lru_cache(maxsize=1)
def catalogue() -> tuple[Series, ...]:
    """Return every series that points were read for, documents in the order D, A, B,
    C."""
    stated, found = _rows("caption"), []
    for place, row in _rows("drawn").items():
        caption = stated[place].drawn() if place in stated else None
        found.append(Series(*place, caption, row.drawn(), row.why, row.commit))
    return tuple(found)


def figure_series(
    document: str, figure: str, panel: str | None = None
) -> dict[str, Series]:
    """Return the series of one figure, or of one of its panels, by the names of their
    curves.
    """
    found = [s for s in catalogue() if (s.document, s.figure) == (document, figure)]
    return {s.curve: s for s in found if panel is None or s.panel == panel}


@lru_cache(maxsize=64)
def published(document: str, figure: str, *panels: str) -> Published:
    """Return the curves of one printed figure, or of some of its panels, with their
    fits.
    """
    chosen = [figure_series(document, figure, panel) for panel in panels or (None,)]
    drawn = {
        s.panel for s in catalogue() if (s.document, s.figure) == (document, figure)
    }
    part = ""
    if len(panels) == 1 < len(drawn):
        part = f"({panels[0]})" if len(panels[0]) == 1 else f", {panels[0]}"
    curves = tuple(judge(series) for one in chosen for series in one.values())
    return Published(f"{document}'s Figure {figure}{part}", curves)


@dataclass(frozen=True)
class Cause:
    """A setting of one series: what the document says, what was drawn, and what that
    explains.

    `said` is the drawing with this one setting as the document has it and all others as
    drawn.
    """

    series: Series
    setting: str
    says: str
    drew: str
    said: Drawing

    @property
    def where(self) -> str:
        """Document, figure, panel and curve, in words."""
        one = self.series
        panel = PICTURES.get(one.panel, one.panel)
        return f"{one.document}, Figure {one.figure}{panel}, {plain_curve(one.curve)}"

    def fits(self) -> tuple[Fit, Fit]:
        """Return the fit with the setting as stated and the fit as drawn."""
        points = self.series.points
        return self.said.fit(points), self.series.drawn.fit(points)


def causes() -> list[Cause]:
    """Return the settings that differ from the documents and can be told apart by their
    points.

    >>> causes()[0].where, causes()[0].setting
    ('D, Figure 3a, expMech', 'global sensitivity')
    """
    series = {(s.document, s.figure, s.panel, s.curve): s for s in catalogue()}
    return [
        Cause(series[row.place], row.settings, row.says, row.drew, row.drawn())
        for row in settings()
        if row.drawing == "one setting"
    ]


def probabilities_as_drawn(
    figure: str, panel: str, shown: int
) -> dict[str, tuple[Floats, Floats]]:
    """Return the `shown` nearest distances and their probabilities of each curve of a
    panel of D's Figures 3 and 4 as drawn, by the names of the curves.
    """
    found = {}
    for place, row in _rows("drawn").items():
        if place[:3] == ("D", figure, panel):
            counts, _ = row.at()("")
            distances, masses = probabilities_of_distances(
                row.made(), counts, hellinger_published
            )
            found[row.curve] = (distances[:shown], masses[:shown])
    return found


def raw_drawing(raw: RawMean) -> Drawing:
    """Return the drawing of a mean of the authors' raw runs, D's Figures 5 and 6a at
    epsilon 1.
    """
    figure, panel = ("5", "") if raw.k == 2 else ("6", "a")
    row = _rows("run again")["D", figure, panel, raw.mechanism]
    return replace(row.drawn(), runs=raw.runs)
