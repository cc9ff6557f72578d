"""The catalogue of series: every reading belongs to one, each stands in one place."""

from __future__ import annotations

from collections import Counter

import pytest

from dpbayes.study import printed as readings
from dpbayes.study.catalogue import catalogue, figure_series, published
from dpbayes.study.printed import published_points


def test_every_series_stands_once_and_has_points():
    places = Counter((s.document, s.figure, s.panel, s.curve) for s in catalogue())
    assert set(places.values()) == {1}
    assert all(series.points for series in catalogue())
    documents = [series.document for series in catalogue()]
    assert list(dict.fromkeys(documents)) == ["D", "A", "B", "C"]


def test_every_point_that_was_read_belongs_to_a_series_but_for_one_later_state():
    # One picture of D's repository is compared by itself, with n read off its axis.
    known = {(s.document, s.figure, s.panel, s.curve) for s in catalogue()}
    read = {(p.document, p.figure, p.panel, p.curve) for p in readings.all_points()}
    assert known <= read
    assert {key[:3] for key in read - known} == {("D", "7", "from-3978d2b")}


@pytest.mark.slow
@pytest.mark.parametrize(("document", "figure", "panel"), [("D", "5", None), ("C", "3", "a")])
def test_a_figure_is_found_by_its_key_and_judged_series_by_series(document, figure, panel):
    found = figure_series(document, figure, panel)
    assert all(name == series.curve for name, series in found.items())
    for name, series in found.items():
        assert series.points == published_points(document, figure, series.panel, name)
    whole = published(document, figure, *([panel] if panel else []))
    assert [one.series for one in whole.curves] == list(found.values())
    assert whole.title == f"{document}'s Figure {figure}" + (f"({panel})" if panel else "")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (("E", "1"), "document must be one of A, B, C, D, got 'E'"),
        (("D", "99"), "figure must be one of .*, got '99'"),
        (("C", "2"), "panel must be one of a, b, got ''"),
        (("C", "2", "z"), "panel must be one of a, b, got 'z'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(key, message):
    with pytest.raises(ValueError, match=message):
        figure_series(*key)
