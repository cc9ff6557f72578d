"""The index of definitions and theorems: by kind, each under its title and with its number.

The one that comes with the directives has their labels for headings and names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains import Index
from sphinx.errors import ExtensionError

TITLES = "titles of theorems"  # in the metadata of a page, which Sphinx merges and forgets


class NamedProofs(Index):
    """Definitions, theorems and the like of the book."""

    name = "prf"
    localname = "Definitions and theorems"
    shortname = "theorems"

    def generate(self, docnames: Iterable[str] | None = None) -> tuple[list[Any], bool]:
        """Return the entries under each kind, in the order of their titles."""
        env, found = self.domain.env, defaultdict(list)
        for label, one in getattr(env, "proof_list", {}).items():
            page = one["docname"]
            if docnames is not None and page not in docnames:
                continue
            kind = one["realtype"].capitalize()
            title = env.metadata[page].get(TITLES, {}).get(label) or f"{kind} without a title"
            numbers = env.toc_fignumbers.get(page, {}).get(one["countertype"], {})
            number = ".".join(map(str, numbers.get(one["ids"][0], ())))
            where = env.titles[page].astext()
            found[plural(kind)].append((title, 0, page, label, where, "", f"{kind} {number}"))
        entries = [(kind, sorted(found[kind], key=lambda one: one[0].lower())) for kind in found]
        return sorted(entries), False


def plural(kind: str) -> str:
    """Return several of a kind.

    >>> plural("Theorem"), plural("Corollary")
    ('Theorems', 'Corollaries')
    """
    return kind[:-1] + "ies" if kind.endswith("y") else kind + "s"


def keep_titles(app: Sphinx, page: nodes.document) -> None:
    """Keep the titles of a page's theorems beside its other metadata."""
    kept = {
        node["label"]: node["title"].strip().removeprefix("(").removesuffix(")")
        for node in page.findall(nodes.Element)
        if node.get("realtype") and node.get("label") and node.get("title")
    }
    if kept:
        app.env.metadata[app.env.docname][TITLES] = kept


def take_the_place(app: Sphinx) -> None:
    """Put this index where the directives have theirs, if the book has them at all."""
    try:
        domain = app.env.get_domain("prf")
    except ExtensionError:
        return
    domain.indices = [NamedProofs]
