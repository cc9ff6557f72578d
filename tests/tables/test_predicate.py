"""The language of conditions, against Python's own evaluation of each condition, cell
by cell.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.tables.attributes import Bins, Categories
from dpbayes.tables.predicate import coefficients

AGES, INCOMES, HEALTH = (0, 20, 40, 60), (0, 10, 25), ("good", "fair", "poor")
CUBE = (Bins("age", AGES), Bins("income", INCOMES), Categories("health", HEALTH))
CELLS = list(itertools.product(AGES[:-1], INCOMES[:-1], HEALTH))
Condition = tuple[str, Callable[[int, int, str], bool]]


def atoms() -> st.SearchStrategy[Condition]:
    """Return conditions on one attribute, each with the function it stands for."""
    signs = {"<": operator.lt, ">=": operator.ge}

    def compared(place: int, name: str, edge: int, sign: str) -> Condition:
        return f"{name} {sign} {edge}", lambda *cell: signs[sign](cell[place], edge)

    def between(low: int, high: int) -> Condition:
        return f"age between {low} and {high}", lambda age, *_: low <= age < high

    def chosen(words: list[str]) -> Condition:
        return f"health in ({', '.join(words)})", lambda *cell: cell[2] in words

    def unequal(word: str) -> Condition:
        return f"health != '{word}'", lambda *cell: cell[2] != word

    sign = st.sampled_from(sorted(signs))
    words = st.lists(st.sampled_from(HEALTH), min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda e, s: compared(0, "age", e, s), st.sampled_from(AGES), sign),
        st.builds(
            lambda e, s: compared(1, "income", e, s), st.sampled_from(INCOMES), sign
        ),
        st.sampled_from([(0, 20), (20, 60), (0, 60)]).map(lambda pair: between(*pair)),
        words.map(chosen),
        st.sampled_from(HEALTH).map(unequal),
    )


def joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def negated(one: Condition) -> Condition:
        return f"not ({one[0]})", lambda *cell: not one[1](*cell)

    def both(a: Condition, b: Condition) -> Condition:
        return f"({a[0]}) and {b[0]}", lambda *cell: a[1](*cell) and b[1](*cell)

    def either(a: Condition, b: Condition) -> Condition:
        return f"({a[0]} or {b[0]})", lambda *cell: a[1](*cell) or b[1](*cell)

    return st.one_of(
        inner.map(negated),
        st.builds(both, inner, atoms()),
        st.builds(either, inner, atoms()),
    )


CONDITIONS = st.recursive(atoms(), joined, max_leaves=6)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS)
def test_a_condition_selects_the_cells_that_python_selects(
    condition: Condition,
) -> None:
    text, truth = condition
    expected = [float(truth(*cell)) for cell in CELLS]
    np.testing.assert_array_equal(coefficients(text, CUBE), expected, err_msg=text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), CONDITIONS), min_size=1, max_size=4))
def test_weighted_sums_add_up(terms: list[tuple[int, Condition]]) -> None:
    text = " ".join(f"{'-' if w < 0 else '+'} {abs(w)} * ({c[0]})" for w, c in terms)
    expected = [sum(w * c[1](*cell) for w, c in terms) for cell in CELLS]
    np.testing.assert_array_equal(coefficients(text, CUBE), expected, err_msg=text)


def test_and_binds_more_tightly_than_or_and_not_most_tightly() -> None:
    found = coefficients("health = good or health = fair and age < 20", CUBE)
    expected = [h == "good" or (h == "fair" and age < 20) for age, _, h in CELLS]
    np.testing.assert_array_equal(found, expected)
    found = coefficients("not age < 20 and health = good", CUBE)
    np.testing.assert_array_equal(
        found, [age >= 20 and h == "good" for age, _, h in CELLS]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must not be empty"),
        ("age < 30", "cuts through the bin 20 to 40"),
        ("age between 40 and 20", "two numbers that increase"),
        ("age < 20 and", "goes wrong at 'and'"),
        ("(age < 20", r"goes wrong at '\('"),
        ("age < 20 health = good", "goes wrong at"),
        ("age < 20 < income", "one comparison at a time"),
        ("2 * age < 20", "stand in brackets"),
        ("age < 20 + income < 10", "one comparison at a time"),
        ("health", "a condition on an attribute"),
        ("health in ()", "at least one value"),
        ("age is 20", "goes wrong"),
        ("not " * 150 + "age < 20", "at most 100 terms"),
        ("age < 20" + " or age < 20" * 200, "at most 2000 letters"),
        ("height < 20", "no attribute 'height'"),
        ("health = splendid", "splendid"),
        ("__import__('os')", "a condition on an attribute"),
        ("age.__class__ = 20", "no attribute 'age.__class__'"),
        ("lambda: 0", "unexpected ':'"),
        ("age < 20; drop table", "unexpected ';'"),
        ("3 age < 20", "goes wrong"),
    ],
)
def test_what_is_no_query_is_refused_with_its_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        coefficients(text, CUBE)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="age<>=!() andornti*+-0246.'\"h\n", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = coefficients(text, CUBE)
    except ValueError as error:
        said = str(error)  # an attribute that is compared wrongly names itself
        assert said.startswith(("query", "age", "income", "health"))
    else:
        assert found.shape == (len(CELLS),)


CODES = (Categories("code", ("1", "01", "1.0", "-1", "1e3", "1000")),)


@pytest.mark.parametrize("value", CODES[0].values)
def test_digits_without_quotation_marks_are_compared_with_texts_as_they_are_written(
    value: str,
) -> None:
    expected = [float(other == value) for other in CODES[0].values]
    np.testing.assert_array_equal(coefficients(f"code = {value}", CODES), expected)
    np.testing.assert_array_equal(coefficients(f"code in ({value})", CODES), expected)
    np.testing.assert_array_equal(
        coefficients(f"2 * (code != {value})", CODES), 2 - 2 * np.array(expected)
    )


@pytest.mark.parametrize("value", ["001", "1.", "+1", "1.00", "1000.0", "-01"])
def test_digits_that_are_no_value_are_refused_and_never_answered_for_another(
    value: str,
) -> None:
    with pytest.raises(
        ValueError, match=rf"code must be one of 1, 01, .*got '{re.escape(value)}'"
    ):
        coefficients(f"code = {value}", CODES)


def test_a_number_is_read_as_a_number_where_the_values_are_numbers() -> None:
    sizes = (Categories("size", (1.0, 2.5)), Bins("age", (0, 1000, 2000)))
    np.testing.assert_array_equal(
        coefficients("size = 01 and age < 1e3", sizes), [1, 0, 0, 0]
    )
    with pytest.raises(ValueError, match="between takes two numbers"):
        coefficients("code between 01 and 1000", CODES)
