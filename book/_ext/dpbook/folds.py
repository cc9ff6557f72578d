"""What a reader opens only when wanted: a block of a page, closed behind its summary."""

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
