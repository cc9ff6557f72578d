"""One look for each mechanism, told apart in colour and in grey, by day and at
night."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbayes.figures.language import (
    LOOKS,
    REFERENCE,
    SERIES,
    dashes,
    look,
    markers,
    mechanism_of,
    palette,
    series_style,
    styles,
)
from dpbayes.figures.night import PAGE, at_night, luminance
from dpbayes.mechanisms import REGISTRY

COLORS = sorted(
    {look.color for look in LOOKS.values()} | {*SERIES, str(REFERENCE["color"])}
)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours by WCAG 2.2, between 1 and 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_every_registered_mechanism_has_a_look_and_a_plain_name() -> None:
    assert set(REGISTRY) <= set(LOOKS)
    assert all(mechanism_of(name) == name for name in LOOKS)
    assert len({look.plain for look in LOOKS.values()}) == len(LOOKS)


def test_no_two_mechanisms_look_alike_even_in_grey() -> None:
    pairs = Counter((look.dash, look.marker) for look in LOOKS.values())
    assert max(pairs.values()) == 1
    hatched = Counter(look.hatch for look in LOOKS.values())
    assert max(hatched.values()) == 1
    for one, other in itertools.combinations(LOOKS, 2):
        same = one.split(",")[0] == other.split(",")[0] and "remapped" in other
        assert (LOOKS[one].color == LOOKS[other].color) == same


def test_no_series_has_the_colour_of_a_mechanism() -> None:
    assert not {look.color for look in LOOKS.values()} & {*SERIES, REFERENCE["color"]}
    assert series_style(len(SERIES))["color"] == SERIES[0]


@pytest.mark.parametrize("color", COLORS)
def test_lines_stand_out_by_day_and_at_night(color: str) -> None:
    assert contrast(color, "#FFFFFF") >= 3.0
    assert contrast(at_night(color), PAGE) >= 3.0


@given(st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}"))
def test_a_colour_is_as_far_from_the_page_as_it_was_from_white(color: str) -> None:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    assert luminance(color) == pytest.approx(
        np.dot(linear, [0.2126, 0.7152, 0.0722]), abs=1e-12
    )
    # A step of one in 255 of a dark channel moves the ratio by some per cent.
    wanted = min(contrast(color, "#ffffff"), contrast("#ffffff", PAGE))
    assert contrast(at_night(color), PAGE) == pytest.approx(wanted, rel=0.06)
    night = [int(at_night(color)[at : at + 2], 16) for at in (1, 3, 5)]
    if max(parts) - min(parts) >= 8 / 255:
        assert night[int(np.argmax(parts))] == max(night)


def test_a_label_is_looked_up_by_its_mechanism_and_not_by_its_place() -> None:
    forward = styles(["lapMech", "something", "expMech"])
    backward = styles(["expMech", "lapMech"])
    for name in ("lapMech", "expMech"):
        assert forward[name] == backward[name] == LOOKS[name].style()
    assert forward["something"]["color"] == SERIES[0]


def test_what_is_said_of_one_mechanism_shares_its_colour_and_nothing_else() -> None:
    looks = styles(["geometric", "geometric, certified", "geometric, true"])
    assert {look["color"] for look in looks.values()} == {LOOKS["geometric"].color}
    assert (
        len({(str(look["linestyle"]), look["marker"]) for look in looks.values()}) == 3
    )
    assert styles(["lapMech, k = 3"])["lapMech, k = 3"] == LOOKS["lapMech"].style()
    assert (
        styles(["calibrated"])["calibrated"]
        == LOOKS["expMech-smooth, calibrated"].style()
    )


def test_seaborn_gets_colour_dash_and_marker_of_every_label() -> None:
    names = ["lapMech", "expMech", "expMech, as drawn", "share"]
    looks = styles(names)
    assert look(names) == {"palette": palette(names), "dashes": dashes(names)}
    assert list(palette(names).values()) == [looks[n]["color"] for n in names]
    assert markers(names)["lapMech"] == LOOKS["lapMech"].marker
    assert dashes(names)["expMech"] == ""  # solid
    assert dashes(names)["lapMech"] == LOOKS["lapMech"].dash[1]
    assert dashes(names)["expMech, as drawn"] != ""
