"""Drawings on pages: each has its size before it arrives, and is on the site once.

A notebook's page shows the very file that the notebook recorded, and so do all pages that quote the
figure; the link to download it leads to that file too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from dpbook.quotes import own_name

SIZE = re.compile(r'<svg\b[^>]*?\b(width|height)="([\d.]+)pt"[^>]*?\b(width|height)="([\d.]+)pt"')
LABEL = re.compile(r'(<svg )role="img" aria-label="[^"]*" ')
PIXELS = 4 / 3  # of a browser in one point


class DrawingFile(nodes.reference):
    """A link to a drawing that a page of the site shows; ``drawing`` is its path in the book."""


class Drawings(SphinxTransform):
    """Show recorded drawings themselves, say their sizes, and link them where they are."""

    default_priority = 850  # before the event doctree-read, a transform of priority 880

    def apply(self, **kwargs: object) -> None:
        """Look at every drawing of the page."""
        source = Path(self.env.srcdir)
        name = own_name(self.env)
        known = dict(recorded(source, name)) if name else {}
        for image in self.document.findall(nodes.image):
            path = source / image["uri"].lstrip("/")
            if path.suffix == ".svg" and path.is_file():
                text = path.read_text(encoding="utf-8")
                image["uri"] = known.get(LABEL.sub(r"\1", text, count=1).rstrip(), image["uri"])
                image["pixels"] = svg_size(text[:2000])
        self.link(name)

    def link(self, name: str | None) -> None:
        """Let the links that download a drawing lead to the one that is shown."""
        shown = {image["uri"] for image in self.document.findall(nodes.image)}
        for link in list(self.document.findall(addnodes.download_reference)):
            drawing = f"/results/{str(name).rpartition('/')[0]}/{link['reftarget']}"
            if name and drawing in shown and link.parent is not None:
                classes = ["reference", "download"]
                made = DrawingFile("", "", *link.children, drawing=drawing[1:], classes=classes)
                link.parent.replace(link, made)


def recorded(source: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the text of every drawing that a notebook recorded, with its address in the book."""
    for path in sorted((source / "results" / name).glob("*.svg")):
        yield path.read_text(encoding="utf-8").rstrip(), f"/results/{name}/{path.name}"


def svg_size(text: str) -> tuple[int, int] | None:
    """Return width and height of a drawing in pixels of the browser.

    >>> svg_size('<svg height="90pt" version="1.1" width="120pt">')
    (160, 120)
    """
    found = SIZE.search(text)
    if not found:
        return None
    size = {found[1]: float(found[2]), found[3]: float(found[4])}
    return round(size["width"] * PIXELS), round(size["height"] * PIXELS)


def find_drawings(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give each link to a drawing its address on the site."""
    here = app.builder.get_target_uri(page)
    for link in doctree.findall(DrawingFile):
        _, file = app.env.images[link["drawing"]]
        link["refuri"] = relative_uri(here, f"_images/{file}")


def visit_image(writer: Any, node: nodes.image) -> None:
    """Write an image with its size as attributes, from which browsers keep its place free."""
    HTML5Translator.visit_image(writer, node)
    if node.get("pixels"):
        width, height = node["pixels"]
        sized = f'<img width="{width}" height="{height}" '
        writer.body[-1] = writer.body[-1].replace("<img ", sized, 1)


def depart_image(writer: Any, node: nodes.image) -> None:
    """End an image."""
    HTML5Translator.depart_image(writer, node)


def visit_drawing(writer: Any, node: DrawingFile) -> None:
    """Begin the link, which downloads."""
    name = node["drawing"].rpartition("/")[2]
    writer.body.append(writer.starttag(node, "a", "", href=node["refuri"], download=name))


def depart_drawing(writer: Any, node: DrawingFile) -> None:
    """End the link."""
    writer.body.append("</a>")
