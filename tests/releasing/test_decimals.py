from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbayes.releasing.decimals import decimal_text, exact


@pytest.mark.parametrize("value", ["0.1", 0.1, Decimal("0.1"), Fraction(1, 10), " .1 "])
def test_a_tenth_is_a_tenth(value):
    assert exact("epsilon", value) == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", ["", "one", "nan", "inf", "-1", 0, -0.5, float("inf"), "1e999999"]
)
def test_what_is_no_positive_decimal_is_refused(value):
    with pytest.raises(ValueError, match="epsilon must be"):
        exact("epsilon", value)


@pytest.mark.parametrize("value", [True, None, [1], b"1"])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError, match="epsilon must be"):
        exact("epsilon", value)


@given(st.fractions(min_value=0, max_value=10**6), st.integers(1, 12))
def test_printed_bounds_are_on_the_safe_side_and_close(value, digits):
    up, down = (Fraction(decimal_text(value, way, digits)) for way in ("up", "down"))
    assert down <= value <= up
    assert up - down <= Fraction(1, 10**digits)
