"""The directive ``{result-figure}`` shows a figure on another page, with a link to its own page.

::

    :::{result-figure} accuracy/growth::means
    :::

Caption and alternative text are those that the notebook recorded; words of the page's own may stand
in place of the caption. Without ``:name:`` the figure has no number here, because it has one on its
own page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook.quotes import result_file

logger = logging.getLogger(__name__)


def recorded(notebook: Path, stem: str) -> tuple[str, str]:
    """Return caption and alternative text of a figure, as its published notebook holds them."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    drawn = re.compile(rf"record\.figure\(\s*[\"']{re.escape(stem)}[\"']")
    for cell in content["cells"]:
        if cell["cell_type"] == "code" and drawn.search("".join(cell["source"])):
            told = cell["metadata"].get("mystnb", {})
            caption = told.get("figure", {}).get("caption", "")
            return str(caption), str(told.get("image", {}).get("alt", ""))
    raise ValueError(f"{notebook.stem} records no figure {stem!r}")


class Shown(nodes.figure):
    """A figure that has its number on another page, and so none here."""


def visit_shown(writer: Any, node: Shown) -> None:
    """Begin the figure in HTML as any other."""
    writer.visit_figure(node)


def depart_shown(writer: Any, node: Shown) -> None:
    """End the figure."""
    writer.depart_figure(node)


class ResultFigure(SphinxDirective):
    """A figure of a notebook, where it is talked about."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Return the figure, or warn, which stops a strict build."""
        name, _, stem = self.arguments[0].partition("::")
        try:
            if not name or not stem:
                raise ValueError(f"write notebook::figure, got {self.arguments[0]!r}")
            result_file(self.env, name, f"{stem}.svg")
            page = Path(self.env.srcdir) / "results" / f"{name}.ipynb"
            self.env.note_dependency(str(page))
            caption, alt = recorded(page, stem)
            caption = " ".join(self.content) or caption
        except ValueError as error:
            where = self.get_location()
            logger.warning("result-figure: %s", error, location=where, type="dpbook")
            return []
        return [self.figure(name, stem, caption, alt)]

    def figure(self, name: str, stem: str, caption: str, alt: str) -> nodes.figure:
        """Return the picture, its caption and the link to the page that computes it."""
        kind = nodes.figure if "name" in self.options else Shown
        figure = kind(classes=["result-figure", *self.options.get("class", [])])
        figure += nodes.image(uri=f"/results/{name}/{stem}.svg", alt=alt)
        words, messages = self.state.inline_text(caption, self.lineno)
        figure += nodes.caption("", "", *words, *messages, nodes.Text(" From: "), self.source(name))
        self.set_source_info(figure)
        if "name" in self.options:
            self.add_name(figure)
        return figure

    def source(self, name: str) -> addnodes.pending_xref:
        """Return the link to the figure's own page, which shows that page's title."""
        link = addnodes.pending_xref(
            "",
            nodes.inline("", name, classes=["xref", "doc"]),
            refdoc=self.env.docname,
            refdomain="std",
            reftype="doc",
            reftarget=f"/results/{name}",
            refexplicit=False,
            refwarn=True,
        )
        self.set_source_info(link)
        return link
