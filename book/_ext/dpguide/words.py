"""The first use of a term on a page links to the glossary and carries the definition along."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from dpguide.glossary import terms

GLOSSARY = "appendix/glossary"
# Everyday words as well: their meaning in this book is linked where a page says so itself.
EVERYDAY = {"chain", "delta", "epsilon", "exact", "finding", "guarantee", "history", "hypothesis"}
EVERYDAY |= {"law", "optimal", "projection", "reader", "record", "score", "step"}
EVERYDAY |= {"draft", "notes", "confidence", "independent", "worst case", "histogram"}
EVERYDAY |= {"mechanism", "squared error"}  # on nearly every page, or said where it is used
CLOSED = (
    nodes.title,
    nodes.caption,
    nodes.table,
    nodes.literal,
    nodes.literal_block,
    nodes.reference,
    nodes.strong,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.footnote,
    nodes.comment,
    nodes.system_message,
    addnodes.pending_xref,
    addnodes.download_reference,
    addnodes.toctree,
    addnodes.desc,
)


def glossary_file(app: Sphinx) -> Path:
    """Return where the glossary is."""
    return Path(app.srcdir) / f"{GLOSSARY}.md"


def link_first_uses(app: Sphinx, doctree: nodes.document) -> None:
    """Link the first use of each term in the running text of a page that does not do so itself."""
    page = app.env.docname
    if page == GLOSSARY or not glossary_file(app).is_file():
        return
    app.env.note_dependency(str(glossary_file(app)))
    known = {term.lower(): term for term in terms(glossary_file(app))}
    running = list(running_text(doctree))
    words = "\n".join(text.astext() for text in running).lower()
    wanted = set(known) - EVERYDAY - {link.lower() for link in linked(doctree)}
    wanted = {term for term in wanted if term in words}
    for text in running:
        parts = split(text.astext(), wanted)
        if len(parts) > 1:
            pieces = [link(page, known[t], shown) if t else nodes.Text(shown) for t, shown in parts]
            text.parent.replace(text, pieces)


def linked(doctree: nodes.document) -> Iterator[str]:
    """Yield the terms that a page links itself."""
    for reference in doctree.findall(addnodes.pending_xref):
        if reference.get("reftype") == "term":
            yield str(reference["reftarget"])


def running_text(doctree: nodes.document) -> Iterator[nodes.Text]:
    """Yield the text of paragraphs, without headings, tables, code, formulas and links."""
    for text in doctree.findall(nodes.Text):
        above: nodes.Node | None = text.parent
        while above is not None and not isinstance(above, CLOSED):
            above = above.parent
        if above is None:
            yield text


def split(text: str, wanted: set[str]) -> list[tuple[str, str]]:
    """Return the text in pieces ``(term, words)``, a first use apart; it is no longer wanted.

    >>> split("A prior, the prior.", {"prior"})
    [('', 'A '), ('prior', 'prior'), ('', ', the prior.')]
    """
    pieces: list[tuple[str, str]] = []
    while wanted and (found := pattern(frozenset(wanted)).search(text)):
        term = singular(found[0].lower(), wanted)
        wanted.discard(term)
        pieces += [("", text[: found.start()]), (term, found[0])]
        text = text[found.end() :]
    return [piece for piece in [*pieces, ("", text)] if piece[1]]


@lru_cache(maxsize=256)
def pattern(wanted: frozenset[str]) -> re.Pattern[str]:
    """Return what finds any of the terms, the longest first, also in the plural."""
    longest = sorted(wanted, key=lambda term: (-len(term), term))
    choices = "|".join(re.escape(term) for term in longest)
    return re.compile(rf"(?<![\w-])(?:{choices})s?(?![\w-])", re.IGNORECASE)


def singular(word: str, wanted: set[str]) -> str:
    """Return the term that a word is, or is the plural of."""
    return word if word in wanted else word.removesuffix("s")


def link(page: str, term: str, shown: str) -> addnodes.pending_xref:
    """Return the link to a term, which the glossary's own domain resolves."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", shown, classes=["xref", "std", "std-term"]),
        refdoc=page,
        refdomain="std",
        reftype="term",
        reftarget=term,
        refexplicit=True,
        refwarn=True,
    )


def explain(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give each link to a term its definition, which browsers show and a script shows better."""
    if page == GLOSSARY or not glossary_file(app).is_file():
        return
    definitions = terms(glossary_file(app))
    objects: dict[tuple[str, str], tuple[str, str]] = vars(app.env.get_domain("std"))["data"][
        "objects"
    ]
    found = {term: objects["term", term][1] for term in definitions if ("term", term) in objects}
    by_anchor = {anchor: definitions[term] for term, anchor in found.items()}
    address = app.builder.get_relative_uri(page, GLOSSARY)
    for reference in doctree.findall(nodes.reference):
        to, _, anchor = str(reference.get("refuri", "")).partition("#")
        if to == address and anchor in by_anchor:
            reference["reftitle"] = by_anchor[anchor]
            reference["classes"].append("term")
