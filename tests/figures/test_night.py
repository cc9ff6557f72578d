"""Colours at night: contrasts of the day kept, by the definition of WCAG computed a second time."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.figures.night import PAGE, at_night, contrast, luminance

colors = st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}")


def wcag(color: str) -> float:
    """Return the relative luminance, written out channel by channel."""
    total = 0.0
    for share, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)):
        c = int(color[at : at + 2], 16) / 255
        total += share * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    return total


@given(colors)
def test_luminance_is_that_of_the_definition(color: str) -> None:
    assert luminance(color) == pytest.approx(wcag(color), abs=1e-12)


def test_black_on_white_and_white_on_the_page() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert at_night("#ffffff") == PAGE.lower()
    assert at_night("#000000") == "#ffffff"


@pytest.mark.slow
@settings(max_examples=300)
@given(colors)
def test_a_colour_is_as_far_from_the_page_as_it_was_from_white(color: str) -> None:
    by_day, by_night = contrast(color, "#ffffff"), contrast(at_night(color), PAGE)
    most = contrast("#ffffff", PAGE)
    # A step of one in 255 of a dark channel moves the ratio by some per cent.
    assert by_night == pytest.approx(min(by_day, most), rel=0.06)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.integers(0, 255), min_size=2, max_size=6, unique=True))
def test_greys_change_their_order_and_stay_grey(levels: list[int]) -> None:
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in sorted(levels)]
    turned = [at_night(grey) for grey in greys]
    assert all(len({one[1:3], one[3:5], one[5:7]}) == 1 or one == PAGE for one in turned)
    light = [luminance(one) for one in turned]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(light))


@pytest.mark.slow
@settings(max_examples=200)
@given(colors)
def test_the_strongest_channel_stays_the_strongest(color: str) -> None:
    day = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    night = [int(at_night(color)[at : at + 2], 16) for at in (1, 3, 5)]
    if max(day) - min(day) >= 8:
        assert night[day.index(max(day))] == max(night)


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "#1234567"])
def test_what_is_no_colour_is_refused(color: str) -> None:
    with pytest.raises(ValueError, match="color must be '#' and six hexadecimal digits"):
        at_night(color)
