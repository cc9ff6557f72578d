"""What a search finds: keys of the papers and defined words come first, code is not indexed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms import SphinxTransform

KEY = re.compile(
    r"\b([A-E]), ((?:Table|Figure|Theorem|Lemma|Corollary|Algorithm) \d[\d.]*(?:\([a-z]\))?)"
    r"(?= · | and )"
)
MAIN = "main entries"  # of a page, among what Sphinx knows of it
OF_ALL = ("Theorem", "Lemma", "Corollary", "Algorithm")  # bare, too, whichever document has them


class Entries(SphinxTransform):
    """Enter a page under the tables, figures and theorems its title names, and its definitions.

    The search puts what is entered before what merely uses the words.
    """

    default_priority = 870  # before the event doctree-read

    def apply(self, **kwargs: object) -> None:
        """Add the entries of the page."""
        page = next(iter(self.document.findall(nodes.section)), None)
        if page is None or not page["ids"]:
            return
        found = [("single", key, page["ids"][0], "main", None) for key in keys(page[0].astext())]
        found += [
            ("single", word, block["ids"][0], "main", None)
            for block in self.document.findall(is_definition)
            if isinstance(block, nodes.Element)
            for word in defined(block)
        ]
        if found:
            page.insert(1, addnodes.index(entries=found))
            self.env.metadata[self.env.docname][MAIN] = {value for _, value, *_ in found}


def keys(title: str) -> list[str]:
    """Return the entries of a title: the full paper, D, is meant where no document is named.

    >>> keys("D, Figure 5 · Who is most accurate?")
    ['D, Figure 5', 'Figure 5']
    >>> keys("A, Figure 3 and B, Figure 4 · Who?")
    ['A, Figure 3', 'B, Figure 4']
    >>> keys("A, Theorem 4.1 (map) · Where?")
    []
    """
    found = []
    for document, key in KEY.findall(title):
        found.append(f"{document}, {key}")
        if document == "D" and not key.startswith(OF_ALL):
            found.append(key)
        if document == "A" and key.startswith(OF_ALL):
            found.append(key)
    return found


def is_definition(node: nodes.Node) -> bool:
    """Say whether a node is a definition with a label."""
    return isinstance(node, nodes.Element) and node.get("realtype") == "definition"


def defined(block: nodes.Element) -> Iterator[str]:
    """Yield the words that a definition sets in bold."""
    for word in dict.fromkeys(one.astext().strip(" .,") for one in block.findall(nodes.strong)):
        if word and ";" not in word and "!" not in word:
            yield word


class Site(StandaloneHTMLBuilder):
    """The site, whose search index knows the text of pages and not their code."""

    def prepare_writing(self, docnames: set[str]) -> None:
        """Remember the stems of words, which most pages share."""
        super().prepare_writing(docnames)
        if self.indexer is not None:
            vars(self.indexer.lang)["stem"] = cache(self.indexer.lang.stem)

    def index_page(self, pagename: str, doctree: nodes.document, title: str) -> None:
        """Feed the index with a page without its code."""
        with without_code(doctree):
            self.put_definitions_first(doctree)
            super().index_page(pagename, doctree, title)

    @cached_property
    def defined_words(self) -> set[str]:
        """The words that some page is entered under, other than by a glossary."""
        given = itertools.chain(*self.env.domaindata["index"]["entries"].values())
        words = {value for _, value, at, main, _ in given if main and not at.startswith("term-")}
        return words.union(*(page.get(MAIN, ()) for page in self.env.metadata.values()))

    def put_definitions_first(self, text: nodes.document) -> None:
        """Let a glossary come after the page that defines a word, where there is one."""
        elsewhere = self.defined_words
        for entry in text.findall(addnodes.index):
            entry["entries"] = [
                (kind, value, target, "" if after(target, value, elsewhere) else main, key)
                for kind, value, target, main, key in entry["entries"]
            ]


@contextmanager
def without_code(page: nodes.document) -> Iterator[None]:
    """Take the code out of a page for a while."""
    found = page.findall(nodes.literal_block)
    swaps = [(code.parent, code, nodes.comment()) for code in found]
    for parent, code, gap in swaps:
        parent.replace(code, gap)
    try:
        yield
    finally:
        for parent, code, gap in swaps:
            parent.replace(gap, code)


def after(target: str, value: str, elsewhere: set[str]) -> bool:
    """Say whether an entry is that of a glossary for a word which another page defines.

    >>> after("term-remap", "remap", {"remap"}), after("def-remap", "remap", {"remap"})
    (True, False)
    """
    return target.startswith("term-") and value in elsewhere
