"""The picture in the README shows what the book computes, if not with the same last digits."""

from __future__ import annotations

import os
import re
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "book" / "results"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
NAMED = re.compile(
    r'(?:id|xlink:href)="[^"]*"|url\(#[^)]*\)|<!--.*?-->|<metadata>.*?</metadata>', re.S
)
SEEN = 0.05  # points: a line that moves by less looks the same


def differences(first: str, second: str) -> list[str]:
    """Return where two drawings differ to the eye: in their parts, or by a visible distance."""
    found = []
    one, other = (NAMED.sub("", text) for text in (first, second))
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        found.append("the drawings have other parts")
    for a, b in zip_longest(NUMBER.findall(one), NUMBER.findall(other), fillvalue="inf"):
        if not abs(float(a) - float(b)) <= SEEN:
            found.append(f"{a} against {b}")
    return found


def test_what_cannot_be_seen_is_no_difference() -> None:
    line = '<path id="a1" d="M 10.123456 20.1" style="stroke: #1b6ca8"/>'
    assert not differences(line, line.replace("123456", "123457").replace("a1", "b2"))
    assert differences(line, line.replace("10.1", "10.3")) == ["10.123456 against 10.323456"]
    assert "the drawings have other parts" in differences(line, line.replace("path", "use"))


@pytest.mark.browser
def test_the_picture_of_the_readme_shows_what_is_computed() -> None:
    computed = [RESULTS / part / "at-a-glance" / "means.svg" for part in ("basics", "foundations")]
    found = [path for path in computed if path.is_file()]
    if not found and not os.environ.get("CI"):
        pytest.skip("no computed picture: run `make book`")
    committed = ROOT / "book" / "_static" / "at-a-glance.svg"
    assert not differences(committed.read_text("utf-8"), found[0].read_text("utf-8"))
