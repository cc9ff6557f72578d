"""Recorded numbers and tables as the pages show them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbayes.press.quotes import (
    apart,
    cell,
    formatted,
    is_number,
    one_minus,
    one_of,
    powers_of_ten,
    quoted,
    read_table,
    split_quote,
)


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (0.12345, ".3f", "0.123"),
        (-0.5, ".1f", "−0.5"),
        (11019, ",d", "11,019"),
        (3.0, "d", "3"),
        (1.2e-5, ".1e", "1.2 × 10⁻⁵"),
        (1e30, ".2g", "1 × 10³⁰"),
        (0.25, ".0%", "25%"),
    ],
)
def test_a_number_is_shown_as_print_shows_it(value: float, form: str, shown: str) -> None:
    assert formatted(value, form) == shown


def test_a_power_of_ten_at_the_end_of_a_sentence_is_written_out() -> None:
    said = "promised δ = 1e-08. Below it goes to 6.14e-05."
    assert powers_of_ten(said) == "promised δ = 1 × 10⁻⁸. Below it goes to 6.14 × 10⁻⁵."


@pytest.mark.parametrize(
    ("delta", "shown"),
    [
        (0.05, "0.95"),
        (1 / 3, "0.666667"),
        (1e-4, "0.9999"),
        (2.5e-6, "1 − 2.5 × 10⁻⁶"),
        (1 - 0.9999999, "1 − 1 × 10⁻⁷"),
        (1e-30, "1 − 1 × 10⁻³⁰"),
        (0.9999999, "1 × 10⁻⁷"),
    ],
)
def test_a_confidence_is_never_shown_as_one(delta: float, shown: str) -> None:
    assert one_minus(delta) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("over 1 histories with 5 data sets", "over 1 history with 5 data sets"),
        ("1 evenly spread records", "1 evenly spread record"),
        ("All 1 noise-aware intervals", "The one noise-aware interval"),
        ("1 boxes of 1 entries", "1 box of 1 entry"),
        ("within 1 standard errors", "within 1 standard error"),
        ("the 1 histograms; 1 possible histograms", "the one histogram; 1 possible histogram"),
        ("k = 1 histories, 2 and 1 balanced records", "k = 1 histories, 2 and 1 balanced records"),
        ("1 holds, 1 times as wide, 1 is less", "1 holds, 1 times as wide, 1 is less"),
    ],
)
def test_one_thing_is_counted_in_the_singular(text: str, said: str) -> None:
    assert one_of(text) == said


def test_a_broken_format_is_refused() -> None:
    with pytest.raises(ValueError):
        formatted(2.5, "d")


@pytest.mark.parametrize("text", ["a", "a::b", "a::b:", "::b:.1f", "a:::.1f"])
def test_a_quote_names_notebook_number_and_format(text: str) -> None:
    with pytest.raises(ValueError, match="write notebook::number:format"):
        split_quote(text)


def test_an_unknown_number_is_refused_with_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps({"b": 1, "a": 2}))
    assert quoted(path, "a", "d") == "2"
    with pytest.raises(ValueError, match="records a, b"):
        quoted(path, "c", "d")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "means.csv"
    path.write_text("n,mean,who\n10,0.123456,a\n20,-1e-07,b\n")
    return path


def test_a_table_is_shown_whole_without_options(table: Path) -> None:
    header, rows = read_table(table)
    assert header == ["n", "mean", "who"]
    assert rows == [["10", "0.123456", "a"], ["20", "−1e−07", "b"]]


def test_a_head_that_nobody_wrote_is_in_words(tmp_path: Path) -> None:
    path = tmp_path / "lost.csv"
    path.write_text("largest_confidence,n\n0.5,1\n")
    assert read_table(path)[0] == ["largest confidence", "n"]
    assert read_table(path, ["largest_confidence"], ["a_b"])[0] == ["a_b"]


def test_columns_headers_and_formats_are_chosen(table: Path) -> None:
    header, rows = read_table(table, ["who", "mean"], ["name", "distance"], ["", ".2f"])
    assert header == ["name", "distance"]
    assert rows == [["a", "0.12"], ["b", "0.00"]]


@pytest.mark.parametrize(
    ("columns", "header", "formats", "problem"),
    [
        (["nobody"], None, [""], "no column 'nobody'"),
        (["n"], ["a", "b"], [""], "1 columns, 2 headers"),
        (None, None, ["d", "d"], "3 columns, 3 headers, 2 formats"),
    ],
)
def test_options_that_disagree_are_refused(
    table: Path,
    columns: list[str] | None,
    header: list[str] | None,
    formats: list[str],
    problem: str,
) -> None:
    with pytest.raises(ValueError, match=problem):
        read_table(table, columns, header, formats)


def test_numbers_are_told_from_words() -> None:
    assert [is_number(text) for text in ("−0.5", "12", "a1", "", "−")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert cell("x", ".2f") == "x"


def test_numbers_that_are_names_keep_their_digits():
    assert [cell(text, "s") for text in ("5", "-1", "3b", "D")] == ["5", "−1", "3b", "D"]
    assert cell("5", ".1f") == "5.0"


@pytest.mark.parametrize("form", ["", ".4g", ".6f"])
def test_what_is_missing_or_infinite_has_a_sign_of_its_own(form: str) -> None:
    assert [cell(text, form) for text in ("nan", "inf", "-inf")] == ["–", "∞", "−∞"]


@given(
    st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=4, unique=True),
    st.sampled_from((".3g", ".3f", ".6g", ".1f")),
)
def test_unequal_numbers_are_never_shown_alike(values: list[float], form: str) -> None:
    following = [math.nextafter(values[0], math.inf)]
    numbers = dict(enumerate(values + [x for x in following if x not in values]))
    shown = apart({str(key): value for key, value in numbers.items()}, form)
    assert len(set(shown.values())) == len(numbers)


def test_numbers_that_a_format_tells_apart_keep_it() -> None:
    assert apart({"a": 0.25, "b": 0.375}, ".3f") == {"a": "0.250", "b": "0.375"}
    assert apart({"a": 0.25, "b": 0.25}, ".2g") == {"a": "0.25", "b": "0.25"}
    assert apart({"a": 5e-7, "b": 4.9999975e-7}, ".3f") == {
        "a": "5 × 10⁻⁷",
        "b": "4.999998 × 10⁻⁷",
    }
