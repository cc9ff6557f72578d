"""One setting at a time: what the captions say against what was drawn, all else as drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from dpbayes.divergences import hellinger_published
from dpbayes.mechanisms import mechanism
from dpbayes.study.reproduction.abstract import at_shares
from dpbayes.study.reproduction.catalogue import figure_series
from dpbayes.study.reproduction.draft import DELTA, EPSILON
from dpbayes.study.reproduction.drawing import Drawing, Series, boxed, releases, values
from dpbayes.study.reproduction.fit import Fit
from dpbayes.study.reproduction.noise import SequentialLaplace
from dpbayes.study.reproduction.notes import PANELS, PRIOR, RUNS
from dpbayes.study.reproduction.paper import (
    loss_next_to_the_corners,
    mass_at,
    quarters,
    slipped_delta,
)
from dpbayes.study.reproduction.points import plain_curve
from dpbayes.study.reproduction.programs import drafted_delta, notes_program


@dataclass(frozen=True)
class Cause:
    """A setting of one series: what the document says, what was drawn, and what that explains.

    `said` is the drawing with this one setting as the document has it and all others as drawn.
    """

    series: Series
    setting: str
    says: str
    drew: str
    said: Drawing

    @property
    def where(self) -> str:
        """Document, figure and curve."""
        one = self.series
        return f"{one.document}, Figure {one.figure}{one.panel}, {plain_curve(one.curve)}"

    def fits(self) -> tuple[Fit, Fit]:
        """Return the fit with the setting as stated and the fit as drawn."""
        points = self.series.points
        stated = Fit(tuple(self.said.score(point) for point in points))
        return stated, Fit(tuple(self.series.drawn.score(point) for point in points))


def _cause(
    key: tuple[str, str, str, str], setting: str, says: str, drew: str, said: Drawing
) -> Cause:
    series = figure_series(*key[:3])[key[3]]
    return Cause(series, setting, says, drew, said)


def _slipped(epsilon: float, data: Callable[[str], tuple[ArrayLike, ArrayLike]]) -> Drawing:
    return releases("", slipped_delta(epsilon), data, hellinger_published)


def _full_paper() -> list[Cause]:
    even = at_shares([0.5, 0.5], [1.0, 1.0])
    stated = at_shares([0.3, 0.3, 0.4], [1.0] * 3)
    four = releases("", mechanism("lapMech", 1.0), quarters, hellinger_published, 500)
    star = mechanism("expMech-smooth", 1.0, metric="published")
    own = mechanism("expMech", 1.0, metric="published")
    halved = mechanism("expMech-local", 1.0, metric="published")
    flat, three = ([300, 300], [1.0, 1.0]), ([200, 200, 200], [1.0] * 3)
    loss, plain = loss_next_to_the_corners, values
    star_curve, delta = "M_H gamma (star)", "expMech-delta"
    until, since = ("D", "7", "until-3978d2b"), ("D", "7", "from-3978d2b")
    shares = replace(_slipped(1.0, stated), runs=5000)
    noisy = releases("", SequentialLaplace(1.0, 2.0), stated, hellinger_published, 5000)
    runs = replace(figure_series("D", "6", "a")["lapMech"].drawn, runs=1000)
    return [
        _cause(
            ("D", "3", "a", "expMech"),
            "global sensitivity",
            "that of n records",
            "that of one record",
            plain("", mass_at(own, *flat)),
        ),
        _cause(
            ("D", "3", "a", "expMech-local"),
            "factor in the exponent",
            "2",
            "1",
            plain("", mass_at(halved, *flat)),
        ),
        _cause(("D", "3", "b", star_curve), "ε", "1", "5", plain("", mass_at(star, *three))),
        _cause(("D", "5", "", delta), "ε", "1", "0.8", _slipped(1.0, even)),
        _cause(("D", "6", "a", delta), "shares", "30/30/40%", "30/30/30%", shares),
        _cause(("D", "6", "a", "ilapMech"), "shares", "30/30/40%", "30/30/30%", noisy),
        _cause(("D", "6", "a", "lapMech"), "runs", "1000", "5000", runs),
        _cause(("D", "6", "b", "lapMech"), "Laplace noise", "4/ε", "3/ε", four),
        _cause(
            (*until, "actual epsilon"),
            "weight",
            "ε H / 2S, the later image",
            "ε H / 4S",
            plain("", loss(2.0, "published")),
        ),
        _cause(
            (*since, "actual epsilon"),
            "weight",
            "ε H / 4S",
            "ε H / 2S",
            plain("", loss(None, "published")),
        ),
    ]


def _small_documents() -> list[Cause]:
    def stretched(x: str) -> tuple[ArrayLike, ArrayLike]:
        return at_shares([0.2, 0.3, 0.5], [1.0] * 3)(str(14000 + 6 * (int(x) - 1000)))

    l1 = {"delta": 1e-8, "distance": "l1", "metric": "published"}
    wide = releases("", mechanism("expMech-delta", 0.8, **l1), stretched, hellinger_published)
    replaced = releases("", mechanism("expMech-delta", EPSILON, delta=DELTA), boxed, runs=500)
    newer = releases("", SequentialLaplace(EPSILON), boxed, runs=500)
    thirty = releases("", drafted_delta(EPSILON, DELTA), boxed, runs=300)
    clamped = releases("", SequentialLaplace(EPSILON), boxed, runs=300)
    counts, epsilon = PANELS["2", "a"]
    doubled = releases(
        "", notes_program("global", epsilon / 2, 0.8), lambda x: (counts, PRIOR), runs=RUNS
    )
    delta, noise = "expMech-delta", "Laplace 2/eps"
    return [
        _cause(("A", "2", "a", delta), "records", "14 000 to 20 000", "1000 to 2000", wide),
        _cause(
            ("B", "1", "b", delta),
            "distance of data sets",
            "replaced records",
            "ℓ1, twice that",
            replaced,
        ),
        _cause(("B", "4", "", noise), "clamp", "at 0 and n", "below only", newer),
        _cause(("B", "5", "", delta), "records", "30", "90", thirty),
        _cause(("B", "5", "", noise), "records", "30", "90", clamped),
        _cause(("C", "2", "a", "global"), "factor in the exponent", "2", "1", doubled),
    ]


def causes() -> tuple[Cause, ...]:
    """Return the settings that differ from the documents and can be told apart by their points."""
    return (*_full_paper(), *_small_documents())
