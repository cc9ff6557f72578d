"""Terms of the glossary: linked at their first use on a page, explained on hover."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

PAGE = "appendix/glossary"
PARTS = ("index", "paper", "chapters/", "reference/", "results/", "claims/")
APART = (
    nodes.title, nodes.reference, nodes.literal, nodes.math, nodes.raw, nodes.caption,
    nodes.term, nodes.rubric,
)  # fmt: skip
COMMON = {"mechanism", "table", "score", "candidate"}  # plain words, too
SENTENCE = re.compile(r"(.+?[.:])(?:\s|$)", re.DOTALL)


class Terms(SphinxPostTransform):
    """Link the first use of each term on a page, and give every link its sentence."""

    default_priority = 15  # after references are resolved
    formats = ("html",)

    @cached_property
    def known(self) -> dict[str, tuple[str, str]]:
        """Each term in small letters, with its place and its first sentence."""
        found: dict[str, tuple[str, str]] = {}
        if PAGE not in self.env.found_docs:
            return found
        glossary = self.env.get_doctree(PAGE)
        for item in glossary.findall(nodes.definition_list_item):
            term, text = item.next_node(nodes.term), item.next_node(nodes.paragraph)
            if term is not None and text is not None and term["ids"]:
                first = SENTENCE.match(" ".join(text.astext().split()))
                if first:
                    found[term.astext().lower()] = (term["ids"][0], first[1])
        return found

    def run(self, **_: Any) -> None:
        """Give titles to the links that are there, and add those that are missing."""
        page = self.env.docname
        if page == PAGE or not page.startswith(PARTS):
            return
        sentences = dict(self.known.values())
        there = set()
        for link in self.document.findall(nodes.reference):
            place = link.get("refuri", "").partition("#")[2]
            if place in sentences:
                link["reftitle"] = sentences[place]
                link["classes"].append("term-link")
                there.add(place)
        waiting = {
            term: place
            for term, (place, _) in self.known.items()
            if place not in there and term not in COMMON
        }
        if waiting:
            self.link(waiting, sentences)

    def link(self, waiting: dict[str, str], sentences: dict[str, str]) -> None:
        """Link the first use of each waiting term; a longer term is tried first."""
        longest = sorted(waiting, key=len, reverse=True)
        word = re.compile(
            rf"(?<![\w-])({'|'.join(map(re.escape, longest))})(?=s?(?![\w-]))",
            re.IGNORECASE,
        )
        builder: Any = self.app.builder
        to = builder.get_relative_uri(self.env.docname, PAGE)
        for text in list(self.document.findall(nodes.Text)):
            if not _prose(text):
                continue
            for used in word.finditer(text):
                place = waiting.pop(used[1].lower(), None)
                if place is None:
                    continue
                link = nodes.reference("", used[1], refuri=f"{to}#{place}")
                link["reftitle"], link["classes"] = sentences[place], ["term-link"]
                before, after = text[: used.start()], text[used.end(1) :]
                pieces = [nodes.Text(before), link, nodes.Text(after)]
                text.parent.replace(text, [one for one in pieces if one.astext()])
                break  # the rest of this text waits for the next term's first use


def _prose(text: nodes.Text) -> bool:
    """Return whether a text stands in a paragraph, and in nothing that is a link or
    is pressed, as the head of a fold is.
    """
    node, inside = text.parent, False
    while node is not None:
        if isinstance(node, APART) or _heads_a_fold(node):
            return False
        inside = inside or isinstance(node, nodes.paragraph)
        node = node.parent
    return inside


def _heads_a_fold(node: nodes.Node) -> bool:
    """Return whether a node comes right after the start of a fold's head."""
    if node.parent is None:
        return False
    place = node.parent.index(node)
    before = node.parent[place - 1] if place else None
    return isinstance(before, nodes.raw) and "<summary>" in before.astext()
