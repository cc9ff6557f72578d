"""Bounds are shown on the side on which what they say stays true."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpbayes.press.bounds import outward, side
from dpbayes.press.findings import filled
from dpbayes.press.quotes import RAISED, formatted

ROOT = Path(__file__).resolve().parents[2]
FORMS = (".0f", ".1f", ".2f", ".3f", ".1e", ".2e", ".3g", "g", "", ".0%", ".1%", ".2%")
LOWERED = {value: chr(key) for key, value in RAISED.items()}
# A bound on a page and in words of code, before a number that its format rounds.
QUOTED = re.compile(
    r"(?:at\s+most|no\s+more\s+than|at\s+least|(?<!add\s)up\s+to|within|(?:less|more)\s+than)\s+"
    r"\{result\}`([^`]*[efg%])`"
)
INTERPOLATED = re.compile(
    r"(?:at most|at least|no more than|up to|within|(?:less|more) than) \{[^{}]*:[^{}]*[efg%]\}"
)


def shown_number(text: str) -> Decimal:
    """Return the number that a sentence shows."""
    found = re.fullmatch(r"(−?[\d.,]+)(?: × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(%?)", text)
    assert found, text
    power = int("".join(LOWERED[ord(sign)] for sign in found[2])) if found[2] else 0
    size = Decimal(found[1].replace("−", "-").replace(",", "")).scaleb(power)
    return size / 100 if found[3] else size


@pytest.mark.parametrize(
    ("sentence", "x", "said"),
    [
        ("a chance of at most {x:.3f}", 0.50025, "a chance of at most 0.501"),
        ("a chance of at most {x:.3f}", 0.5, "a chance of at most 0.500"),
        ("at least {x:.2f} times", 1.4651, "at least 1.46 times"),
        ("at least {x:.1%}", 0.9996, "at least 99.9%"),
        ("at most {x:.3f}", 0.99925, "at most 0.9993"),
        ("at most {x:.2f}", 0.999925, "at most 0.99993"),
        ("at most {x:.0f} steps", 2.0, "at most 2 steps"),
        ("differs by up to {x:.1e}", 2.51e-7, "differs by up to 2.6 × 10⁻⁷"),
        ("at most {x:.1e}", 9.95e-7, "at most 1.0 × 10⁻⁶"),
        ("at most {x:.3g}", 2352.9, "at most 2.36 × 10³"),
        ("at most {x:.3g}", [0.1001, 0.1234], "at most 0.101 and 0.124"),
        ("at most {x:.1f}", 0.1 + 0.2, "at most 0.3"),
        ("at most {x:.1f}", -0.16, "at most −0.1"),
        ("at most {x:.3f}", 0.000123, "at most 0.00013"),
        ("no entry errs by more than {x:.1e}", 3.32e-8, "no entry errs by more than 3.4 × 10⁻⁸"),
        ("it takes more than {x:.1f} s", 2.38, "it takes more than 2.3 s"),
        ("It keeps none; more than {x:.1f} s", 2.38, "It keeps none; more than 2.3 s"),
        ("no less than {x:.1f}", 2.38, "no less than 2.3"),
        ("no crossing up to {x:.1f}", 2.38, "no crossing up to 2.3"),
        ("{x:.1%} of the optimum at most.", 0.1703, "17.1% of the optimum at most."),
        ("and the span is {x:.2f} or more.", 0.127, "and the span is 0.12 or more."),
        ("about {x:.1%} in all, at most a day", 0.1703, "about 17.0% in all, at most a day"),
    ],
)  # fmt: skip
def test_a_bound_is_rounded_outward(sentence: str, x: object, said: str) -> None:
    assert filled(sentence, {"x": x}) == said


def test_two_bounds_in_one_sentence_go_their_own_ways() -> None:
    sentence = "it is at most {top:.2f} of one and at least {low:.2f} of the other"
    said = "it is at most 0.46 of one and at least 0.12 of the other"
    assert filled(sentence, {"top": 0.4512, "low": 0.1288}) == said


@given(
    st.floats(1e-9, 1e9) | st.floats(-1e9, -1e-9), st.sampled_from(FORMS), st.sampled_from("< >")
)
@example(9.996, ".3g", "<")
@example(0.9999999, ".2f", "<")
@example(1.0000001, ".0%", "<")
def test_what_is_shown_bounds_the_number(x: float, form: str, way: str) -> None:
    words = {"<": "at most ", ">": "at least ", " ": "is "}[way]
    shown = shown_number(filled(words + "{x:" + form + "}", {"x": x}).removeprefix(words))
    slack = abs(Decimal(x)) * Decimal("1e-11")
    if way == "<":
        assert shown >= Decimal(x) - slack
    elif way == ">":
        assert shown <= Decimal(x) + slack
    else:
        assert filled("{x:" + form + "}", {"x": x}) == filled("{x:" + form + "}, so", {"x": x})[:-4]


def test_a_page_asks_for_a_side_with_the_format() -> None:
    assert formatted(0.6353, ".2f up") == "0.64"
    assert formatted(0.6353, ".3f down") == "0.635"
    assert formatted(0.6353, ".1% up") == "63.6%"
    assert formatted(7.0, "d up") == "7"


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_number_of_the_format_stays(way: str) -> None:
    assert outward(0.29, ".2f", way) == 0.29
    assert outward(0.0, ".1e", way) == 0.0
    assert outward(float("inf"), ".1e", way) == float("inf")


def test_words_without_a_bound_have_no_side() -> None:
    assert side("the error is ", " of the mean at n = 7") is None


def test_every_bound_on_a_page_names_its_side() -> None:
    pages = [*ROOT.glob("book/**/*.md"), *ROOT.glob("book/claims/*.yml"), ROOT / "README.md"]
    assert len(pages) > 20
    texts = {page: page.read_text(encoding="utf-8") for page in pages if "_build" not in page.parts}
    bare = {
        f"{page.name}: {found[1]}"
        for page, text in texts.items()
        for found in QUOTED.finditer(text)
        if not found[1].endswith((" up", " down"))
    }
    assert not bare


def test_no_bound_is_interpolated_where_nothing_rounds_it_outward() -> None:
    for path in ROOT.glob("notebooks/*/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        lines = [line for cell in cells for line in cell["source"] if re.search(r"\bf['\"]", line)]
        assert not [line for line in lines if INTERPOLATED.search(line)], path.name
    for path in ROOT.glob("dpbayes/figures/*.py"):
        assert not INTERPOLATED.search(path.read_text(encoding="utf-8")), path.name


# "At most 0.1% with the one and 0.2% with the other": nothing rounds the second number up.
SHARED = re.compile(
    r"(?:at most|at least|no more than) \{[^{}]*[efg%]\}[^.;:{}]*(?:\band [^.,;:{}]*|, )"
    r"(?<!at most )(?<!at least )(?<!reaches )\{[^{}]*:[^{}]*[efg%]\}"
)


def test_no_two_numbers_share_the_words_that_round_the_first() -> None:
    assert SHARED.search("it gains at most {a:.1%} with smooth and {b:.1%} with global sensitivity")
    assert SHARED.search("at most {a:.3f} with the flattest prior, {b:.3f} over three")
    assert not SHARED.search("at most {top:.3f} of the upper and at least {low:.3f} of the other")
    assert not SHARED.search("within one step at most {a:.3f}; over three {b:.3f}")
    for path in ROOT.glob("notebooks/*/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            text = re.sub(r'"\n\s*"', "", "".join(cell["source"]))
            assert not SHARED.search(text), path.name
