"""Reads an SVG file of the book: which lines are mechanisms, and whether they look like them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from dpbayes.figures.language import LOOKS, TAG, mechanism_of

SVG = "{http://www.w3.org/2000/svg}"


def off_the_language(file: bytes) -> tuple[set[str], list[str]]:
    """Return the mechanisms drawn in a file, and what does not look as its mechanism should."""
    root = ET.fromstring(file, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    found: set[str] = set()
    wrong: list[str] = []
    for group in root.iter(f"{SVG}g"):
        identifier = group.get("id") or ""
        if identifier.startswith(TAG):
            name = identifier.split(":")[1].replace("+", ", ")
            found.add(name)
            exact = not identifier.endswith(":variant")
            wrong += _differences(root, group, name, exact)
    wrong += [
        f"{label} is written in the file and no line of it is marked"
        for label in _written(root) & set(LOOKS) - found
    ]
    return found, wrong


def _written(root: ET.Element) -> set[str]:
    """Return the texts of a file: matplotlib writes each into a comment before its outlines."""
    texts = {str(one.text).strip() for one in root.iter() if one.tag is ET.Comment}
    return {text for text in texts if mechanism_of(text)}


def _differences(root: ET.Element, group: ET.Element, name: str, exact: bool) -> list[str]:
    look = LOOKS[name]
    for path in group.findall(f"{SVG}path"):
        style = dict(re.findall(r"([\w-]+): ([^;]+)", path.get("style") or ""))
        drawn = style.get("stroke", style.get("fill", ""))  # a bar has no outline
        if drawn.startswith("url(#"):
            drawn = _of_the_hatching(root, drawn[5:-1])
        if drawn.upper() != look.color:
            return [f"{name} is drawn in {drawn}, not in {look.color}"]
        if exact and "stroke" in style and not _same_dash(style, look.dash):
            return [f"{name} has the dash {style.get('stroke-dasharray')}, not {look.dash}"]
    return []


def _of_the_hatching(root: ET.Element, name: str) -> str:
    (pattern,) = (one for one in root.iter(f"{SVG}pattern") if one.get("id") == name)
    strokes = {
        match[1]
        for path in pattern.iter(f"{SVG}path")
        if (match := re.search(r"stroke: ([^;]+)", path.get("style") or ""))
    }
    return strokes.pop() if len(strokes) == 1 else ""


def _same_dash(style: dict[str, str], dash: object) -> bool:
    width = float(style.get("stroke-width", "1"))
    drawn = [float(part) / width for part in style.get("stroke-dasharray", "").split(",") if part]
    wanted = list(dash[1]) if isinstance(dash, tuple) else []
    return len(drawn) == len(wanted) and all(
        abs(one - other) < 1e-3 for one, other in zip(drawn, wanted, strict=True)
    )
