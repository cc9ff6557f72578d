"""Blocks of a page in a box of their own: one that opens when wanted, one that scrolls."""

from __future__ import annotations

from typing import Any

from docutils import nodes


class Fold(nodes.container):
    """A block that is closed at first; ``summary`` is the line that opens it."""


def visit_fold(writer: Any, node: Fold) -> None:
    """Begin a fold in HTML, which needs no script to open."""
    writer.body.append(f'<details class="fold"><summary>{writer.encode(node["summary"])}</summary>')


def depart_fold(writer: Any, node: Fold) -> None:
    """End a fold in HTML."""
    writer.body.append("</details>\n")


class Scrolled(nodes.container):
    """A block that may be longer than its box; ``label`` says what is in it."""


def visit_scrolled(writer: Any, node: Scrolled) -> None:
    """Begin a box in HTML that the keyboard can reach and scroll."""
    label = writer.attval(node["label"])
    start = f'<div class="cell_output" role="region" aria-label="{label}" tabindex="0">'
    writer.body.append(start)


def depart_scrolled(writer: Any, node: Scrolled) -> None:
    """End a box in HTML."""
    writer.body.append("</div>\n")
