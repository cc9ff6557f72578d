"""Pages of results: the way there is folded away, and what is quoted says its setting.

On a page of `results/` the sections under four headings become ``<details>``. A number
that another page quotes is a link to the cell that computed it; its setting and its
notebook stand in the link's title, which is shown on hover and on focus.
"""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

FOLDED = ("How it was computed", "Checks", "Parameters", "Files")


class Fold(nodes.General, nodes.Element):
    """A section that a reader opens."""


class Sourced(nodes.Inline, nodes.TextElement):
    """What a page quotes: `notebook`, `anchor` on its page, and the `setting`."""


class Folds(SphinxPostTransform):
    """Fold what a reader of a result need not see."""

    default_priority = 6
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace sections by folds, the inner ones first."""
        if not self.env.docname.startswith("results/"):
            return
        for section in reversed(list(self.document.findall(nodes.section))):
            title = section.next_node(nodes.title)
            if title is not None and title.astext() in FOLDED:
                fold = Fold(ids=section["ids"], summary=title.astext())
                fold += [one for one in section.children if one is not title]
                section.replace_self(fold)


def open_fold(writer: Any, node: Fold) -> None:
    """Write the head of a fold."""
    ids = node["ids"][0]
    head = f'<details class="fold" id="{ids}"><summary>{node["summary"]}</summary>'
    writer.body.append(head)


def close_fold(writer: Any, node: Fold) -> None:
    """Write the end of a fold."""
    writer.body.append("</details>")


def open_source(writer: Any, node: Sourced) -> None:
    """Write a link, or a plain element on the notebook's own page and inside links."""
    target = f"results/{node['notebook']}"
    here = writer.builder.current_docname
    inside = isinstance(node.parent, nodes.reference | nodes.title)
    node["tag"] = "span" if inside or here == target else "a"
    title = writer.builder.env.titles[target].astext().partition(" · ")[0]
    words = html.escape(f"{node['setting']} · {title}".removeprefix(" · "), quote=True)
    link = ""
    if node["tag"] == "a":
        to = writer.builder.get_relative_uri(here, target)
        link = f' href="{to}#{node["anchor"]}" title="{words}"'
    classes = " ".join(node["classes"])
    writer.body.append(f'<{node["tag"]} class="{classes}"{link}>')


def close_source(writer: Any, node: Sourced) -> None:
    """Write the end of a link."""
    writer.body.append(f"</{node['tag']}>")
