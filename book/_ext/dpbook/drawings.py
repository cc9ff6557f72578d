"""Drawings that pages load have their size in the page, so that nothing moves when they arrive."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

SIZE = re.compile(r'<svg\b[^>]*?\b(width|height)="([\d.]+)pt"[^>]*?\b(width|height)="([\d.]+)pt"')
PIXELS = 4 / 3  # of a browser in one point


class Drawings(SphinxTransform):
    """Note the size of every drawing of a page."""

    default_priority = 850  # before the event doctree-read, a transform of priority 880

    def apply(self, **kwargs: object) -> None:
        """Look at every drawing of the page."""
        source = Path(self.env.srcdir)
        for image in self.document.findall(nodes.image):
            path = source / image["uri"].lstrip("/")
            if path.suffix == ".svg" and path.is_file():
                image["pixels"] = svg_size(path.read_text(encoding="utf-8")[:2000])


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
