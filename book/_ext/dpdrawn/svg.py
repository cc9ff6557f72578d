"""An SVG file as part of a page: colours that follow the theme, names of its own, fewer bytes."""

from __future__ import annotations

import html
import math
import re

PAGE, INK = "#ffffff", "#000000"
OWN = {PAGE: "var(--pst-color-background,#121212)", INK: "var(--pst-color-text-base,#ced6dd)"}
_HEAD = re.compile(r"^.*?(?=<svg\b)", re.S)
_ROOT = re.compile(r"<svg\b[^>]*>", re.S)
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_DROPPED = re.compile(r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->", re.S)
# Expressions begin with plain letters and look back from there: so they are found fast.
_COLOR = re.compile(r"#[0-9a-fA-F]{6}(?:(?<=[:\"] .{7})\b|(?<=\".{7})(?=\"))")
_PATH = re.compile(r'd="(?<=\sd=")[^"]*')
_PLACE = re.compile(r'([xy])="(?<=\s..")(-?\d+\.\d{3,})"')
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NAME = re.compile(r'id="(?<=\sid=")')
_LINK = re.compile(r'href="#|url\(#')
_BETWEEN = re.compile(r">\s+<")
POINT = 4.0 / 3.0  # CSS pixels
_LETTERS = re.compile(r'<g id="text_\d+">.*?\bscale\((0\.\d+) ', re.S)
READABLE = 11.0  # CSS pixels, the least height of letters that can be read on a phone


def inlined(svg: str, prefix: str, alt: str) -> str:
    """Return the figure for a page; `prefix` sets its ids apart from those of other figures.

    Each colour becomes ``var(--cN, day)``, where ``--cN`` is ``var(--night) night``: it is valid
    only where the page sets ``--night`` to nothing, and falls back to the day's colour elsewhere.
    """
    from dpbayes.figures.night import at_night  # numpy waits for the first figure

    content = _ROOT.sub("", _HEAD.sub("", _DROPPED.sub("", svg)), count=1)
    view = _VIEW.search(svg)
    if view is None:
        raise ValueError("the figure has no viewBox that starts at 0 0")
    colors: dict[str, str] = {INK: "--c0"}
    content = _COLOR.sub(lambda found: _variable(found[0].lower(), colors), content)
    content = _PATH.sub(lambda found: _short(found[0]), content)
    content = _PLACE.sub(lambda found: f'{found[1]}="{_rounded(found[2])}"', content)
    content = _NAME.sub(lambda found: found[0] + prefix, content)
    content = _LINK.sub(lambda found: found[0] + prefix, content)
    content = _BETWEEN.sub("><", content.replace("xlink:href", "href")).strip()
    width, height = (float(size) for size in view.groups())
    nights = "".join(
        f"{name}:var(--night) {OWN.get(color, at_night(color))};" for color, name in colors.items()
    )
    look = f"{nights}fill:var(--c0,{INK});stroke-linejoin:round;stroke-linecap:butt"
    least = least_width(svg, width)
    size = f"--wide:{width * POINT:.0f}px;--least:{least:.0f}px"
    size += f";--least-high:{least * height / width:.0f}px;aspect-ratio:{width:g}/{height:g}"
    return (
        f'<svg class="drawn" role="img" aria-label="{html.escape(alt, quote=True)}" '
        f'viewBox="{view[0][9:-1]}" style="{size};{look}">{content}'
    )


def least_width(svg: str, width: float) -> float:
    """Return the width in CSS pixels at which the smallest letters of a figure are readable.

    It is at most the natural one, that of `width` points. Letters of s points are drawn by
    ``scale(s/100)``; a figure without letters may have any width, so 0 is returned.
    """
    sizes = [100.0 * float(scale) for scale in _LETTERS.findall(svg)]
    return min(POINT * width, math.ceil(READABLE * width / min(sizes))) if sizes else 0.0


def _variable(color: str, colors: dict[str, str]) -> str:
    name = colors.setdefault(color, f"--c{len(colors)}")
    return f"var({name},{color})"


def _short(path: str) -> str:
    return " ".join(_NUMBER.sub(lambda found: _rounded(found[0]), path).split())


def _rounded(number: str) -> str:
    return f"{float(number):.2f}".rstrip("0").rstrip(".")
