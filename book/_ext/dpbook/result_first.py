"""The order of a result page: question, finding, figure or table; then the rest, the code folded.

A notebook computes before it concludes; a reader wants it the other way round. The transform moves
the first findings and the first figure, or table, below the title, and after them what they show
and what they do not show. Nothing is repeated and nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.transforms import SphinxTransform

from dpbook.folds import Fold, Scrolled
from dpbook.quotes import own_name
from dpbook.related import related_claims

ROOM = 330  # characters of findings that leave room for the figure on a first screen


class ResultFirst(SphinxTransform):
    """Put what came out below the title of a notebook's page, and fold its code and parameters."""

    default_priority = 860  # targets are given to what they name by now, nothing is numbered yet

    def apply(self, **kwargs: object) -> None:
        """Order the page again; pages that are no results stay as they are."""
        page = next(iter(self.document.findall(nodes.section)), None)
        name = own_name(self.env)
        if page is None or name is None:
            return
        boxes, files = taken_boxes(page, "parameters"), taken_boxes(page, "downloads")
        lead = nodes.container("", classes=["came-out"])
        lead += [*leading_findings(page), *leading_result(page)]
        claims = related_claims(self.env, name)
        code = folded_code(page)
        intro = [one for one in page[1:] if not isinstance(one, nodes.section)]
        sections = [one for one in page[1:] if isinstance(one, nodes.section)]
        closing = closing_section(boxes, code, files)
        for section in [*claims, *closing]:
            self.document.note_implicit_target(section, section)
        shown = [lead] if lead.children else []
        page[:] = [page[0], *shown, *intro, *by_importance([*sections, *claims]), *closing]


def taken_boxes(page: nodes.section, name: str) -> list[nodes.Element]:
    """Take the boxes of a kind, which the press has set, out of the page."""
    return [out(one) for one in list(page.findall(nodes.admonition)) if name in one["classes"]]


def leading_findings(page: nodes.section) -> list[nodes.Element]:
    """Take the first finding out of the page, and the next ones as far as there is room, as one.

    How well a picture was reproduced answers no question: that finding leads where it is alone.
    """
    found = [one for one in page.findall(nodes.admonition) if "finding" in one["classes"]]
    found.sort(key=lambda one: "finding-badge" in one["classes"])
    room = ROOM - len(found[0].astext()) if found else 0
    for finding in found[1:]:
        room -= len(finding.astext())
        if room < 0 or "finding-badge" in finding["classes"]:
            break
        found[0] += out(finding)[1:]
    return [out(one) for one in found[:1]]


def leading_result(page: nodes.section) -> list[nodes.Element]:
    """Take the first figure out of the page, or else its first table with its download."""
    for figure in page.findall(nodes.figure):
        return [out(figure)]
    for table in page.findall(nodes.table):
        if "result-table" in table["classes"]:
            after = table.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.paragraph) and "table-download" in after["classes"]:
                return [out(table), out(after)]
            return [out(table)]
    for bundle in page.findall(nodes.container):
        if is_part(bundle, "mime_bundle"):
            return [Scrolled("", out(bundle), label="Table of this result")]
    return []


def folded_code(page: nodes.section) -> list[nodes.Node]:
    """Fold the code of each section at its end, and return that of imports and findings."""
    apart: list[nodes.Node] = []
    for section in list(page.findall(nodes.section)):
        code = taken_code(section)
        if section is page or kind(section) == "shows":
            apart += code
        elif code:
            places = [i for i, one in enumerate(section) if isinstance(one, nodes.section)]
            at = places[0] if places else len(section)
            section.insert(at, Fold("", cell_of(code), summary="Code"))
    return apart


def taken_code(section: nodes.section) -> list[nodes.Node]:
    """Take the code out of the cells of a section, without its subsections."""
    code: list[nodes.Node] = []
    for cell in [one for one in section if is_part(one, "cell_code")]:
        assert isinstance(cell, nodes.Element)
        cell.attributes.pop("hide_mode", None)
        for part in list(cell):
            assert isinstance(part, nodes.Element)
            if is_part(part, "cell_code_source"):
                code.append(out(part))
            elif not part.children:
                cell.remove(part)
        if not cell.children:
            section.remove(cell)
    return code


def cell_of(code: list[nodes.Node]) -> nodes.container:
    """Return pieces of code as one cell."""
    return nodes.container("", *code, classes=["cell"])


def closing_section(
    boxes: list[nodes.Element], code: list[nodes.Node], files: list[nodes.Element]
) -> list[nodes.section]:
    """Return the section on how to make the page again; none where there is nothing to say."""
    section = nodes.section(ids=["run-it-again"], names=["run it again"])
    section += nodes.title("", "Run it again")
    for box in boxes:
        section += Fold("", *box[1:], summary=f"{box[0].astext()}, and the command for others")
    if code:
        section += Fold("", cell_of(code), summary="Code of imports and findings")
    section += files
    return [section] if len(section) > 1 else []


def by_importance(sections: list[nodes.section]) -> Iterator[nodes.section]:
    """Yield what is shown, what is not, the claims, then how it was found; nothing empty."""
    ranks = {"shows": 0, "not": 1, "claims": 2}
    for section in sorted(sections, key=lambda one: ranks.get(kind(one), 3)):
        if len(section) > 1:
            yield section


def kind(section: nodes.section) -> str:
    """Say whether a section is about what the result shows, does not show, or something else."""
    title = section[0].astext().lower()
    if "not show" in title:
        return "not"
    if title.startswith("claims that rest"):
        return "claims"
    return "shows" if title.startswith("what this shows") else "other"


def is_part(node: nodes.Node, name: str) -> bool:
    """Say whether a node is the named part of a notebook's cell."""
    return isinstance(node, nodes.container) and node.get("nb_element") == name


def out(node: nodes.Element) -> nodes.Element:
    """Return a node taken out of its place."""
    assert node.parent is not None
    node.parent.remove(node)
    return node
