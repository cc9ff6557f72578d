"""Verdicts on how the documents describe their experiments, recomputed; one test a
claim.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import dpbayes as dp
from dpbayes.study.catalogue import catalogue
from dpbayes.study.curves import BADGES, Drawing, Judged, Series, judge
from tests.test_claims import check, check_no_verdict


def series_of(document: str, figure: str, panel: str = "") -> list[Series]:
    place = (document, figure, panel)
    return [s for s in catalogue() if (s.document, s.figure, s.panel) == place]


@lru_cache(maxsize=1)
def curves() -> tuple[Judged, ...]:
    return tuple(judge(series) for series in catalogue())


def rms(series: Series, drawing: Drawing, kind: str = "") -> float:
    return drawing.fit(
        [point for point in series.points if kind in point.statistic]
    ).rms


def test_the_published_distance_is_needed_in_a_and_d_alone() -> None:
    all_of = Counter(one.series.document for one in curves())
    assert all_of == {"D": 38, "A": 8, "B": 12, "C": 17}
    needed = [
        one for one in curves() if one.drawing.settings.startswith("published distance")
    ]
    assert Counter(one.series.document for one in needed) == {"D": 34, "A": 6}
    met = [one for one in needed if one.badge != BADGES[2]]
    assert len(met) == 39
    assert sum("only the axis" in one.series.cause for one in met) == 6


def test_d_c34_a_thousand_runs() -> None:
    boxes = series_of("B", "5")[0]
    growth = series_of("D", "6", "b")
    assert boxes.drawn.runs == 300
    as_drawn = [
        rms(boxes, boxes.drawn),
        *(rms(s, s.drawn) for s in growth if "ilap" not in s.curve),
    ]
    as_said = [rms(boxes, replace(boxes.drawn, runs=1000))]
    as_said += [
        rms(s, replace(s.drawn, runs=1000)) for s in growth if "ilap" not in s.curve
    ]
    assert max(as_drawn) < 1.0
    check("D-C34", as_written=max(as_said) < 1.2)


def test_d_c35_whiskers_are_not_the_range() -> None:
    rows = series_of("D", "6", "prior")
    drawn = max(rms(s, s.drawn, "whisker") for s in rows)
    # At four box lengths hardly a run is left outside, so the whiskers are the range.
    widest = min(rms(s, replace(s.drawn, whisker=4.0), "whisker") for s in rows)
    assert drawn < 1.3 < 2.0 < widest
    check("D-C35", as_written=widest < 1.3)


def test_d_c36_no_figure_on_data_variance() -> None:
    """A figure on data variance has points at several data sets of one size."""

    def varies(document: str, figure: str) -> bool:
        points = [p for s in catalogue() for p in s.points
                  if (s.document, s.figure) == (document, figure)]  # fmt: skip
        data = {p.x.split("|")[0] for p in points if "/" in p.x}
        sizes = Counter(sum(map(int, x.split("/"))) for x in data)
        return any(many > 1 for many in sizes.values())

    assert varies("B", "3")
    # D's Figure 2 has candidates on its axis, not data, and no accuracy.
    figures = {(s.document, s.figure) for s in catalogue() if s.document in "AD"} - {
        ("D", "2")
    }
    assert len(figures) == 9
    check("D-C36", as_written=any(varies(*one) for one in figures))


def test_d_c37_what_a_step_in_l1_means() -> None:
    steps = [float(dp.hellinger([1 + x, 100 - x], [2 + x, 99 - x])) for x in range(99)]
    check_no_verdict("D-C37", max(steps) > 4.0 * min(steps))
