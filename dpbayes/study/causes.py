"""One setting at a time: what the captions say against what was drawn, all else as
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from numpy.typing import ArrayLike

from dpbayes.divergences import hellinger_published
from dpbayes.mechanisms import mechanism
from dpbayes.study.catalogue import (
    DRAFT_DELTA,
    NOTES_PANELS,
    NOTES_RUNS,
    figure_series,
    notes_data,
)
from dpbayes.study.curves import Data, Drawing, Fit, Series, boxed, releases, values
from dpbayes.study.full_paper import (
    at_shares,
    loss_next_to_the_corners,
    mass_at,
    quarters,
    slipped_delta,
)
from dpbayes.study.printed import plain_curve
from dpbayes.study.programs import SequentialLaplace, drafted_delta, notes_program

FACTOR = "factor in the exponent"
PICTURES = {"until-3978d2b": ", earlier picture", "from-3978d2b": ", later picture"}


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


def _slipped(epsilon: float, data: Data) -> Drawing:
    return releases("", slipped_delta(epsilon), data, hellinger_published)


def _stretched(x: str) -> tuple[ArrayLike, ArrayLike]:
    return at_shares(0.2, 0.3, 0.5)(str(14000 + 6 * (int(x) - 1000)))


# Key of a series, setting, what the document says, what was drawn, drawn as it says.
Row = tuple[str, str, str, str, Drawing]


def causes() -> list[Cause]:
    """Return the settings that differ from the documents and can be told apart by their
    points.
    """
    found = []
    for key, setting, says, drew, drawing in [*_of_d(), *_of_figure_7(), *_earlier()]:
        document, figure, panel, curve = key.split("/", 3)
        series = figure_series(document, figure, panel)[curve]
        found.append(Cause(series, setting, says, drew, drawing))
    return found


def _of_d() -> list[Row]:
    """Return what differs in document D, Figures 3 to 6."""
    even, stated = at_shares(0.5, 0.5), at_shares(0.3, 0.3, 0.4)
    slip = {
        name: mechanism(name, 1.0, metric="published")
        for name in ("expMech", "expMech-local", "expMech-smooth")
    }
    whole = values("", mass_at(slip["expMech"], [300, 300]))
    halved = values("", mass_at(slip["expMech-local"], [300, 300]))
    star = values("", mass_at(slip["expMech-smooth"], [200, 200, 200]))
    shares = replace(_slipped(1.0, stated), runs=5000)
    noisy = releases("", SequentialLaplace(1.0, 2.0), stated, hellinger_published, 5000)
    runs = replace(figure_series("D", "6", "a")["lapMech"].drawn, runs=1000)
    four = releases("", mechanism("lapMech", 1.0), quarters, hellinger_published, 500)
    n, thirds, fewer = "that of n records", "30/30/40%", "30/30/30%"
    return [
        ("D/3/a/expMech", "global sensitivity", n, "that of one record", whole),
        ("D/3/a/expMech-local", FACTOR, "2", "1", halved),
        ("D/3/b/M_H gamma (star)", "ε", "1", "5", star),
        ("D/5//expMech-delta", "ε", "1", "0.8", _slipped(1.0, even)),
        ("D/6/a/expMech-delta", "shares", thirds, fewer, shares),
        ("D/6/a/ilapMech", "shares", thirds, fewer, noisy),
        ("D/6/a/lapMech", "runs", "1000", "5000", runs),
        ("D/6/b/lapMech", "Laplace noise", "4/ε", "3/ε", four),
    ]


def _of_figure_7() -> list[Row]:
    """Return what differs in D's Figure 7, of which there are two images."""
    later, earlier = (
        values("", loss_next_to_the_corners(divisor, "published"))
        for divisor in (2.0, None)
    )
    until, since = (
        f"D/7/{panel}-3978d2b/actual epsilon" for panel in ("until", "from")
    )
    return [
        (until, "weight", "ε H / 2S, the later image", "ε H / 4S", later),
        (since, "weight", "ε H / 4S", "ε H / 2S", earlier),
    ]


def _earlier() -> list[Row]:
    """Return what differs in the drafts, A and B, and in the notes, C."""
    l1 = {"delta": 1e-8, "distance": "l1", "metric": "published"}
    wide = releases(
        "", mechanism("expMech-delta", 0.8, **l1), _stretched, hellinger_published
    )
    draft = partial(releases, "", data=boxed)
    replaced = draft(mechanism("expMech-delta", 0.8, delta=DRAFT_DELTA), runs=500)
    thirty = draft(drafted_delta(0.8, DRAFT_DELTA), runs=300)
    newer, clamped = (draft(SequentialLaplace(0.8), runs=many) for many in (500, 300))
    counts, epsilon = NOTES_PANELS["2", "a"]
    program = notes_program("global", epsilon / 2, 0.8)
    doubled = releases("", program, notes_data(counts), runs=NOTES_RUNS)
    hamming, l1_twice = "replaced records", "ℓ1, twice that"
    noise, distance = "Laplace 2/eps", "distance of data sets"
    return [
        ("A/2/a/expMech-delta", "records", "14 000 to 20 000", "1000 to 2000", wide),
        ("B/1/b/expMech-delta", distance, hamming, l1_twice, replaced),
        (f"B/4//{noise}", "clamp", "at 0 and n", "below only", newer),
        ("B/5//expMech-delta", "records", "30", "90", thirty),
        (f"B/5//{noise}", "records", "30", "90", clamped),
        ("C/2/a/global", FACTOR, "2", "1", doubled),
    ]
