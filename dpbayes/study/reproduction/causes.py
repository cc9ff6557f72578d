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


def _cause(key: str, setting: str, says: str, drew: str, said: Drawing) -> Cause:
    document, figure, panel, curve = key.split("/")
    return Cause(figure_series(document, figure, panel)[curve], setting, says, drew, said)


def _slipped(epsilon: float, data: Callable[[str], tuple[ArrayLike, ArrayLike]]) -> Drawing:
    return releases("", slipped_delta(epsilon), data, hellinger_published)


def _full_paper() -> list[Cause]:
    even, stated = at_shares([0.5, 0.5], [1.0, 1.0]), at_shares([0.3, 0.3, 0.4], [1.0] * 3)
    slip = {name: mechanism(name, 1.0, metric="published")
            for name in ("expMech", "expMech-local", "expMech-smooth")}  # fmt: skip
    flat, three = ([300, 300], [1.0, 1.0]), ([200, 200, 200], [1.0] * 3)
    whole = values("", mass_at(slip["expMech"], *flat))
    halved = values("", mass_at(slip["expMech-local"], *flat))
    star = values("", mass_at(slip["expMech-smooth"], *three))
    shares = replace(_slipped(1.0, stated), runs=5000)
    noisy = releases("", SequentialLaplace(1.0, 2.0), stated, hellinger_published, 5000)
    runs = replace(figure_series("D", "6", "a")["lapMech"].drawn, runs=1000)
    four = releases("", mechanism("lapMech", 1.0), quarters, hellinger_published, 500)
    later, earlier = (values("", loss_next_to_the_corners(d, "published")) for d in (2.0, None))
    n, one, fewer = "that of n records", "that of one record", "30/30/30%"
    until, since = (f"D/7/{panel}-3978d2b/actual epsilon" for panel in ("until", "from"))
    return [
        _cause("D/3/a/expMech", "global sensitivity", n, one, whole),
        _cause("D/3/a/expMech-local", "factor in the exponent", "2", "1", halved),
        _cause("D/3/b/M_H gamma (star)", "ε", "1", "5", star),
        _cause("D/5//expMech-delta", "ε", "1", "0.8", _slipped(1.0, even)),
        _cause("D/6/a/expMech-delta", "shares", "30/30/40%", fewer, shares),
        _cause("D/6/a/ilapMech", "shares", "30/30/40%", fewer, noisy),
        _cause("D/6/a/lapMech", "runs", "1000", "5000", runs),
        _cause("D/6/b/lapMech", "Laplace noise", "4/ε", "3/ε", four),
        _cause(until, "weight", "ε H / 2S, the later image", "ε H / 4S", later),
        _cause(since, "weight", "ε H / 4S", "ε H / 2S", earlier),
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
    program = notes_program("global", epsilon / 2, 0.8)
    doubled = releases("", program, lambda x: (counts, PRIOR), runs=RUNS)
    distance, noise = "distance of data sets", "Laplace 2/eps"
    return [
        _cause("A/2/a/expMech-delta", "records", "14 000 to 20 000", "1000 to 2000", wide),
        _cause("B/1/b/expMech-delta", distance, "replaced records", "ℓ1, twice that", replaced),
        Cause(figure_series("B", "4")[noise], "clamp", "at 0 and n", "below only", newer),
        _cause("B/5//expMech-delta", "records", "30", "90", thirty),
        Cause(figure_series("B", "5")[noise], "records", "30", "90", clamped),
        _cause("C/2/a/global", "factor in the exponent", "2", "1", doubled),
    ]


def causes() -> tuple[Cause, ...]:
    """Return the settings that differ from the documents and can be told apart by their points."""
    return (*_full_paper(), *_small_documents())
