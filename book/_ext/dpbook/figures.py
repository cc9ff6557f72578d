"""Figures of results: shown on other pages, and set into the page so that they follow
its theme.

``{result-figure} documents/D-fig5::means`` shows a figure with the caption that was
recorded, or with words of the page's own, and a link to its page. Without ``:name:`` it
has no number there.

Drawings are set into the page: black is the page's colour, other colours are lighter at
night. Each is whole on a phone and grows with the column; it is drawn so narrow that
its letters are 11 pixels high there.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from dpbayes.notebooks.parameters import load
from dpbayes.runner.page import told
from dpbayes.runner.run import executed
from dpbook.quotes import result_file, split

HEAD = re.compile(r"^.*?<svg\b[^>]*>", re.DOTALL)
VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
DROPPED = re.compile(
    r"<metadata>.*?</metadata>|<title>.*?</title>|<desc>.*?</desc>"
    r"|<style\b.*?</style>|<!--.*?-->",
    re.DOTALL,
)
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
NAME = re.compile(r'(?<=\sid=")|(?<=href="#)|(?<=url\(#)')
DIGITS = re.compile(r"(?<=\d\.\d{3})\d+")  # of a drawing 300 units wide
CLIPPED = re.compile(  # markers that are cut at one frame, each in a group of its own
    r'<g (clip-path="[^"]*")><use [^<]*/></g>(?:<g \1><use [^<]*/></g>)+'
)
MARKERS = re.compile(  # one look many times over
    r'<use (?:[^>"]|"[^"]*")*? style="([^"]*)"/>(?:<use (?:[^>"]|"[^"]*")*?'
    r' style="\1"/>)+'
)


class Unnumbered(nodes.figure):
    """A figure that has its number on another page, and so none here."""


class ResultFigure(SphinxDirective):
    """A figure of a notebook, where it is talked about."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Return the picture, its caption and the link to the page that computes it."""
        try:
            name, stem = split(self.arguments[0], self.env)
            cells = load(result_file(self.env, name, executed(name)))["cells"]
        except ValueError as error:
            raise self.error(str(error)) from error
        figures = [
            told(one).get("figure", {}) for c in cells for one in c.get("outputs", [])
        ]
        known = [one for one in figures if one.get("name") == stem]
        if not known:
            raise self.error(f"{name} records no figure {stem!r} with a caption")
        self.env.note_dependency(f"results/{name}/{stem}.svg")
        kind = nodes.figure if "name" in self.options else Unnumbered
        figure = kind(classes=["result-figure", *self.options.get("class", [])])
        figure += nodes.image(uri=f"/results/{name}/{stem}.svg", alt=known[0]["alt"])
        words = " ".join(self.content) or known[0]["caption"]
        link = f" From: {{doc}}`/results/{name}`"
        inline, messages = self.state.inline_text(words + link, self.lineno)
        figure += nodes.caption("", "", *inline, *messages)
        self.set_source_info(figure)
        if "name" in self.options:
            self.add_name(figure)
        return [figure]


class InlineFigures(SphinxPostTransform):
    """Put the drawings of results into the page; pictures of a given width stay
    pictures.
    """

    default_priority = 5  # before pictures are collected for copying
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace each picture by the element it holds."""
        for number, image in enumerate(list(self.document.findall(nodes.image))):
            file = Path(self.env.srcdir) / image["uri"].lstrip("/")
            sized = {"width", "height", "scale"} & set(image.attributes)
            svg = (
                file.suffix == ".svg"
                and not sized
                and file.is_file()
                and file.read_text("utf-8")
            )
            if svg and '<g id="figure_1">' in svg:
                drawn = inlined(svg, f"d{number}-", image.get("alt", ""))
                image.replace_self(nodes.raw("", f"{drawn}\n", format="html"))


def inlined(svg: str, prefix: str, alt: str) -> str:
    """Return a drawing for a page; `prefix` sets its ids apart from those of other
    drawings.
    """
    view = VIEW.findall(svg)[0]
    width, height = map(float, view)
    content = HEAD.sub("", DROPPED.sub("", svg), count=1)
    content = COLOUR.sub(lambda found: themed(found[0].lower()), content)
    content = NAME.sub(prefix, content).replace("xlink:href", "href")
    content = re.sub(r">\s+<", "><", content).strip()
    content = CLIPPED.sub(clipped_once, DIGITS.sub("", content))
    content = MARKERS.sub(styled_once, content)
    size = f"aspect-ratio:{width:g}/{height:g}"
    look = "fill:currentColor;stroke-linejoin:round;stroke-linecap:butt"
    return (
        f'<svg class="drawn" role="img" aria-label="{html.escape(alt, quote=True)}" '
        f'viewBox="0 0 {" ".join(view)}" style="{size};{look}">{content}'
    )


def clipped_once(markers: re.Match[str]) -> str:
    """Return markers that are cut at one frame in one group."""
    start = f"<g {markers[1]}>"
    return start + markers[0].replace(start, "").replace("</g>", "") + "</g>"


def styled_once(markers: re.Match[str]) -> str:
    """Return markers of one style in a group that has it."""
    style = f' style="{markers[1]}"'
    return f"<g{style}>{markers[0].replace(style, '')}</g>"


def themed(colour: str) -> str:
    """Return black as the page's ink, white as its paper, greys between, and lighter
    colours.
    """
    shades = bytes.fromhex(colour[1:])
    paper = "var(--pst-color-background,#fff)"
    if min(shades) >= 0x9F and max(shades) - min(shades) >= 6:  # a tint behind letters
        return f"color-mix(in srgb,{colour} var(--drawn-tint,100%),{paper})"
    if max(shades) - min(shades) >= 12:
        return f"color-mix(in srgb,{colour} var(--drawn-colour,100%),#fff)"
    ink = round(100 - shades[0] / 2.55)
    mixed = f"color-mix(in srgb,currentColor {ink}%,{paper})"
    return {100: "currentColor", 0: paper}.get(ink, mixed)
