from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpbayes.tables.decimals import decimal_text


@given(st.fractions(min_value=0, max_value=10**6), st.integers(1, 12))
def test_printed_bounds_are_on_the_safe_side_and_close(value, digits):
    up, down = (Fraction(decimal_text(value, way, digits)) for way in ("up", "down"))
    assert down <= value <= up
    assert up - down <= Fraction(1, 10**digits)


@given(st.integers(1, 10**6), st.integers(1, 10**30), st.integers(1, 12))
def test_no_value_is_shown_as_nothing(numerator, denominator, digits):
    value = Fraction(numerator, denominator)
    up, down = (Fraction(decimal_text(value, way, digits)) for way in ("up", "down"))
    assert 0 < down <= value <= up <= value * Fraction(102, 100)
