"""Each setting that differs from its caption: the points prefer what was drawn."""

from __future__ import annotations

import pytest

from dpbayes.study.causes import Cause, causes

UNDECIDED = {
    ("D, Figure 6a, expMech-delta", "shares"),
    ("D, Figure 6a, lapMech", "runs"),
    ("B, Figure 1b, expMech-delta", "distance of data sets"),
}
QUICK = [
    cause
    for cause in causes()
    if cause.series.figure not in ("6", "7", "2") or cause.series.document == "C"
]


def agrees(cause: Cause) -> bool:
    stated, drawn = cause.fits()
    told = not stated.good and drawn.rms < stated.rms / 2
    return told != ((cause.where, cause.setting) in UNDECIDED)


@pytest.mark.slow
@pytest.mark.parametrize("cause", QUICK, ids=lambda cause: f"{cause.where}: {cause.setting}")
def test_the_points_tell(cause: Cause) -> None:
    assert agrees(cause)


@pytest.mark.slow
def test_all_points_tell() -> None:
    assert [cause.where for cause in causes() if not agrees(cause)] == []


def test_a_cause_names_where_it_stands() -> None:
    for cause in causes():
        assert cause.says != cause.drew
        assert cause.series.commit
