"""Figures in the page: colours for day and night, names of their own, the words for readers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from dpbayes.figures.lines import Curve, Panel, lines
from dpbayes.figures.maps import MapPanel, maps
from dpbayes.figures.night import PAGE, at_night, contrast
from dpbayes.figures.theme import svg_bytes
from dpdrawn import narrow_of
from dpdrawn.svg import INK, OWN, READABLE, inlined, least_width

X = np.arange(1.0, 5.0)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(name: str = "lines") -> str:
    if name == "lines":
        figure, _ = lines("n", "d", [Panel([Curve("lapMech", X, X), Curve("expMech", X, 2 * X)])])
    else:
        index = np.array([[0, 1], [1, 1]])
        figure, _ = maps("n", "a", [1, 2], [1.0, 3.0], ["lapMech", "expMech"], [MapPanel(index)])
    return svg_bytes(figure, name).decode()


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


@pytest.mark.parametrize("name", ["lines", "maps"])
def test_every_colour_has_a_day_and_a_night(name: str) -> None:
    text = inlined(drawn(name), "d0-", "a chart")
    body = text.split(">", 1)[1]
    used = dict(re.findall(r"var\((--c\d+),(#[0-9a-f]{6})\)", body))
    assert not re.search(r"#[0-9a-f]{6}", re.sub(r"var\(--c\d+,#[0-9a-f]{6}\)", "", body), re.I)
    nights = dict(re.findall(r"(--c\d+):var\(--night\) ([^;]+);", text.split(">", 1)[0]))
    assert used.keys() <= nights.keys()
    for variable, day in used.items():
        assert nights[variable] == OWN.get(day, at_night(day))
        if day not in OWN:
            by_day = min(contrast(day, "#ffffff"), contrast(PAGE, "#ffffff"))
            assert contrast(nights[variable], PAGE) == pytest.approx(by_day, rel=0.03)
    assert INK in used.values() or "fill:var(--c0,#000000)" in text


@pytest.mark.parametrize("name", ["lines", "maps"])
def test_names_are_the_figures_own_and_every_link_finds_one(name: str) -> None:
    first, second = (inlined(drawn(name), prefix, "a") for prefix in ("d0-", "d1-"))
    names = [
        {one.get("id") for one in parsed(text).iter() if one.get("id")} for text in (first, second)
    ]
    assert not names[0] & names[1]
    ids = re.findall(r'\sid="([^"]+)"', first)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="#([^"]+)"', first)) | set(re.findall(r"url\(#([^)]+)\)", first))
    assert links
    assert links <= names[0]


def test_the_page_gets_the_words_and_nothing_that_reaches_beyond_the_figure() -> None:
    text = inlined(drawn(), "d0-", 'falls from "3" to <1>')
    root = parsed(text)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'falls from "3" to <1>'
    assert not list(root.iter(f"{SVG}style"))
    assert not list(root.iter(f"{SVG}metadata"))
    assert "<!--" not in text
    assert "--wide:614px" in str(root.get("style"))


def test_shortened_numbers_move_nothing_by_more_than_a_hundredth_of_a_point() -> None:
    before, after = drawn(), inlined(drawn(), "", "a")
    numbers = [
        [
            float(one)
            for path in re.findall(r'\sd="([^"]*)"', text)
            for one in re.findall(r"-?\d+\.?\d*", path)
        ]
        for text in (before, after)
    ]
    assert np.abs(np.subtract(*numbers)).max() <= 0.0051
    assert len(after) < 0.85 * len(before)


def test_a_picture_without_a_view_is_refused() -> None:
    with pytest.raises(ValueError, match="no viewBox"):
        inlined("<svg></svg>", "", "a")


def test_the_white_cards_are_gone() -> None:
    static = Path(__file__).parents[2] / "book" / "_static"
    for sheet in static.glob("*.css"):
        rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet.read_text())
        dark = [body for where, body in rules if "dark" in where and "img" in where]
        assert not any(re.search(r"background(-color)?:\s*(#fff|white)", body) for body in dark)


@pytest.mark.parametrize("name", ["lines", "maps"])
def test_the_least_width_makes_the_smallest_letters_readable(name: str) -> None:
    svg = drawn(name)
    scales = [float(one) for one in re.findall(r"scale\((0\.[\d]+) -0", svg)]
    points = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    wide = least_width(svg, points)
    assert READABLE <= 100 * min(scales) * wide / points < READABLE + 0.1
    assert f"--least:{wide:.0f}px" in inlined(svg, "d0-", "a chart")
    assert least_width("<svg></svg>", points) == 0.0


def test_the_narrow_drawing_lies_beside_the_figure_or_beside_what_a_copy_is_of(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "results" / "part"
    (folder / "one").mkdir(parents=True)
    for name in ("lines", "maps"):
        (folder / "one" / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    slim = folder / "one" / "maps.narrow.svg"
    slim.write_text("<svg/>", encoding="utf-8")
    chapter, page = tmp_path / "chapter.md", folder / "one.ipynb"
    assert narrow_of(folder / "one" / "maps.svg", chapter) == slim
    assert narrow_of(folder / "one" / "lines.svg", chapter) is None
    copy = tmp_path / "0f3a.svg"
    copy.write_text(drawn("maps").replace("<svg ", '<svg role="img" aria-label="a &gt; b" ', 1))
    assert narrow_of(copy, page) == slim
    assert narrow_of(copy, chapter) is None
    copy.write_text(drawn("lines"))
    assert narrow_of(copy, page) is None
