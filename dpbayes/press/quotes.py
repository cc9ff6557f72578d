"""Recorded numbers and tables as a page shows them: looked up, checked and formatted."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpbayes.press.bounds import asked_side, outward

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
POWER = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)e([-+]?\d+)(?!\w|\.\d)")
_FIXED = re.compile(r"(?P<sign>\+?),?\.(?P<places>\d+)(?P<kind>[f%])")
_NOTHING = 1e-15
_ONE = 1e-12
_SHOWN_IN_DIGITS = 9e-5  # six digits of 1 - delta still tell it from one
SEVERAL = (
    "records|sizes|priors|runs|releases|settings|cases|categories|cells|answers|questions|draws|"
    "samples|steps|pairs|candidates|curves|points|panels|data sets|rates|rounds|mechanisms|ways|"
    "ones|zeros|rows|others|people|noises|histories|histograms|intervals|counts|boxes|nodes|members|"
    "numbers|crossings|entries|distances|values|prices|programs|yardsticks|errors|weights|digits"
)
KIND = (
    "balanced|evenly spread|possible|moved|made-up|noise-aware|even|broken|equal|range|raw|"
    "standard|earlier|different|simulated|fresh"
)
_SINGLE = {"people": "person", "boxes": "box"}
ONE = re.compile(
    rf"(?P<all>\b(?:these|[Aa]ll|the) )?(?<![\w.,=<>≤≥+/×–−-])(?<![.,=<>≤≥+/×–−-] )"
    rf"(?<!\band )(?<!\bor )(?<!\bto )1 (?P<kind>(?:{KIND}) )?(?P<noun>{SEVERAL})\b"
)


def split_quote(text: str) -> tuple[str, str, str]:
    """Return notebook, number and format of ``notebook::number:format``.

    >>> split_quote("accuracy/growth::crossover:.1f")
    ('accuracy/growth', 'crossover', '.1f')
    """
    name, _, rest = text.partition("::")
    key, _, form = rest.partition(":")
    if not (name and key and form):
        raise ValueError(f"write notebook::number:format, such as a/b::c:.3f, got {text!r}")
    return name, key, form


def split_finding(text: str) -> tuple[str, str]:
    """Return notebook and finding of ``notebook::finding``."""
    name, _, key = text.partition("::")
    if not (name and key) or ":" in key:
        raise ValueError(f"write notebook::finding, such as a/b::c, got {text!r}")
    return name, key


def sentence(path: Path, key: str) -> str:
    """Return the sentence of one finding of a ``findings.json``."""
    findings = json.loads(path.read_text(encoding="utf-8"))
    if key not in findings:
        known = ", ".join(sorted(findings))
        raise ValueError(f"{path.parent.name} has no finding {key!r}; it has {known}")
    return str(findings[key]["sentence"])


def own(text: str, name: str | None) -> str:
    """Return a quote with the name of the page's own notebook where it leaves the name out."""
    if text.startswith("::") and name is None:
        raise ValueError(f"only a notebook's own page may leave out its name, got {text!r}")
    return f"{name}{text}" if text.startswith("::") else text


def quoted(path: Path, key: str, form: str) -> str:
    """Return one number of a ``numbers.json``, formatted."""
    numbers = json.loads(path.read_text(encoding="utf-8"))
    if key not in numbers:
        known = ", ".join(sorted(numbers))
        raise ValueError(f"{path.parent.name} records no number {key!r}; it records {known}")
    return formatted(numbers[key], form)


def one_of(text: str) -> str:
    """Return a text in which a count of one is followed by one thing, not by several.

    A 1 that ends a list, a range or an equation is no count and stays as it is.

    >>> one_of("averages of 5 runs at 1 sizes, under all 1 priors of the 1 categories")
    'averages of 5 runs at 1 size, under the one prior of the one category'
    >>> one_of("off by 1 people; 1 ones beside 1 others")
    'off by 1 person; 1 one beside 1 other'
    >>> one_of("data sets of 2, 1 records; at n = 1 records; 0.1 records; 21 records")
    'data sets of 2, 1 records; at n = 1 records; 0.1 records; 21 records'
    """

    def single(found: re.Match[str]) -> str:
        noun = _SINGLE.get(found["noun"]) or found["noun"].removesuffix("s")
        noun = noun.removesuffix("ie") + "y" if noun.endswith("ie") else noun
        one = "The one " if found["all"] == "All " else "the one " if found["all"] else "1 "
        return one + (found["kind"] or "") + noun

    return ONE.sub(single, text)


def one_minus(delta: float) -> str:
    """Return 1 - delta as a text that is not 1: in digits, or with the power of ten it lacks.

    `delta` in (0, 1).

    >>> one_minus(0.05), one_minus(1e-7), one_minus(1 - 0.9999999)
    ('0.95', '1 − 1 × 10⁻⁷', '1 − 1 × 10⁻⁷')
    """
    if delta >= _SHOWN_IN_DIGITS:
        return formatted(1.0 - delta, "g")
    return f"1 − {formatted(delta, '.6g')}"


def powers_of_ten(text: str) -> str:
    """Return a text in which powers of ten are written out, as in every other number of a page.

    >>> powers_of_ten("promised delta 1e-08, prior 2.5e+3; 1e8x, 1e5.2 and label-1e5 stay")
    'promised delta 1 × 10⁻⁸, prior 2.5 × 10³; 1e8x, 1e5.2 and label-1e5 stay'
    >>> powers_of_ten("The largest is 1e-08.")
    'The largest is 1 × 10⁻⁸.'
    """
    return POWER.sub(lambda found: f"{found[1]} × 10{_raised(found[2])}", text)


def _raised(exponent: str) -> str:
    return str(int(exponent)).translate(RAISED)


def formatted(value: float, form: str) -> str:
    """Return a number as print shows it: a true minus sign, powers of ten written out.

    An integer format also takes a float that is whole. A format with "up" or "down" behind a blank
    rounds to that side, for a bound.

    >>> formatted(0.6353, ".2f up"), formatted(0.6353, ".0% down")
    ('0.64', '63%')
    >>> formatted(-0.000012, ".1e"), formatted(0.0, ".1e"), formatted(11019.0, ",d")
    ('−1.2 × 10⁻⁵', '0', '11,019')
    >>> formatted(1.63, ".1e")
    '1.6'
    """
    form, way = asked_side(form)
    if form[-1:] == "d" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if way is not None and isinstance(value, float):
        value = outward(value, form, way)
    text = format(value, form) if value or form[-1:] != "e" else "0"
    if not set(text) & set("123456789"):
        text = text.lstrip("-")  # what is shown as zero has no sign
    if "e" in text:
        digits, exponent = text.split("e")
        text = f"{digits} × 10{_raised(exponent)}" if int(exponent) else digits
    return text.replace("-", "−")


def telling(value: float, form: str) -> str:
    """Return a number as `formatted` does, with two digits where the format would round them away.

    That is a number of which a fixed format leaves nothing, or one digit of three or more places.
    Below 1e-15 it counts as the rounding of zero. What lies below one, by 1e-12 or more, is not
    shown as one or as 100%: it gets the digits that it takes.

    >>> telling(0.25, ".4f"), telling(0.000123, ".4f"), telling(0.004, ".1%"), telling(0.002, ".0%")
    ('0.2500', '0.00012', '0.4%', '0.2%')
    >>> telling(0.999997, ".3g"), telling(0.99996, ".1%"), telling(0.9996, ".1%"), telling(1, ".1%")
    ('0.999997', '99.996%', '99.96%', '100.0%')
    """
    form, way = asked_side(form)
    side = "" if way is None else f" {way}"
    if _below_one(value, form + side):
        places = math.ceil(-math.log10(1.0 - value))
        return formatted(
            value, (f".{max(places - 2, 0)}%" if form[-1] == "%" else f".{places}f") + side
        )
    found = _FIXED.fullmatch(form)
    if found is None or abs(value) < _NOTHING:
        return formatted(value, form + side)
    share = found["kind"] == "%"
    size, places = abs(value) * (100.0 if share else 1.0), int(found["places"])
    if size >= (10.0 ** (1 - places) if places > 2 else 0.5 * 10.0**-places):
        return formatted(value, form + side)
    scaled = 100.0 * value if share else value
    return formatted(scaled, f"{found['sign']}.2g{side}") + "%" * share


def apart(values: Mapping[str, float], form: str) -> dict[str, str]:
    """Return numbers as `telling` does, with as many more digits as tell unequal ones apart.

    `form` is a fixed or general format with digits. Floats that differ in their last digit only are
    told apart, too.

    >>> apart({"first": 3.6781e-05, "last": 3.6772e-05, "again": 3.6781e-05}, ".3g")
    {'first': '3.678 × 10⁻⁵', 'last': '3.677 × 10⁻⁵', 'again': '3.678 × 10⁻⁵'}
    >>> apart({"whole": 0.5, "part": 0.4999}, ".3f")
    {'whole': '0.5000', 'part': '0.4999'}
    """
    digits, kind = int(form[1:-1]), form[-1]
    if any("×" in telling(value, form) for value in values.values()):
        kind = "g"
    for one in [f".{more}{kind}" for more in range(digits, 18)] + [".17g"]:
        shown = {name: telling(value, one) for name, value in values.items()}
        if len(set(shown.values())) == len(set(values.values())):
            break
    return shown


def _below_one(value: float, form: str) -> bool:
    """Return whether a number a little below one would be shown as one, or as 100%."""
    plain, way = asked_side(form)
    if not 0.5 < value < 1.0 - _ONE or plain[-1:] == "d":
        return False
    shown = format(value if way is None else outward(value, plain, way), plain)
    return float(shown.removesuffix("%")) == (100.0 if shown.endswith("%") else 1.0)


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    header: Sequence[str] | None = None,
    formats: Sequence[str] = ("",),
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the formatted rows of some columns of a recorded CSV file.

    One format serves all columns; an empty format leaves a column's digits as they are. Where no
    header is given, the names of the columns stand in words.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        first, *rows = csv.reader(stream)
    columns = first if columns is None else columns
    for column in columns:
        if column not in first:
            raise ValueError(f"{path.name} has no column {column!r}; it has {', '.join(first)}")
    header = [*map(in_words, columns)] if header is None else header
    formats = [*formats] * len(columns) if len(formats) == 1 else formats
    if not len(header) == len(formats) == len(columns):
        raise ValueError(
            f"{path.name}: {len(columns)} columns, {len(header)} headers, {len(formats)} formats"
        )
    places = [first.index(column) for column in columns]
    return list(header), [
        [cell(row[place], form) for place, form in zip(places, formats, strict=True)]
        for row in rows
    ]


def in_words(column: str) -> str:
    """Return the name of a recorded column as the head of a table shows it.

    >>> in_words("largest_confidence")
    'largest confidence'
    """
    return column.replace("_", " ")


def cell(text: str, form: str) -> str:
    """Return a cell's text: numbers in the given format, everything else as it is.

    The format "s" leaves digits as they are, for numbers that are names. A whole number that a
    general format would round keeps its digits. What was not computed is a dash.

    >>> cell("inf", ".4g"), cell("nan", "")
    ('∞', '–')
    >>> cell("11555", ".4g"), cell("11555.4", ".4g"), cell("5912", ".4g")
    ('11,555', '1.156 × 10⁴', '5912')
    """
    if form == "s":
        return text.replace("-", "−") if text.lstrip("-").isdigit() else text
    try:
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, int) and form.endswith("g") and 10**4 <= abs(value) < 10**9:
        form = ",d"
    return formatted(value, form) if form else text.replace("-", "−")


def is_number(text: str) -> bool:
    """Say whether a formatted cell is a number, or two of them; a formula is not.

    >>> is_number("−1.2 × 10⁻⁵"), is_number("24 to 84"), is_number("2 * (health = poor)")
    (True, True, False)
    """
    return text.lstrip("−")[:1].isdigit() and not set(text) & set("*=<>")
