"""The table of contents beside every page, made by the theme once and marked for each page.

The theme resolves, renders and parses the whole table again for each page, which took a third of
the time of the book. Only three things in it depend on the page: which entries lead to it, which of
them are open, and where the links start from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sphinx.builders import Builder

_PART = re.compile(
    r'<li class="toctree-l(?P<level>\d+)(?: current active)?(?P<children> has-children)?">'
    r'<a class="(?:current )?reference internal" href="(?P<address>[^"]*)">'
    r'|(?P<details><details(?: open="open")?>)'
    r'|<ul(?: class="(?:current ?)?(?P<top>nav bd-sidenav)?")?>'
)
Address = Callable[[str, str], str]


@dataclass(frozen=True)
class Mark:
    """A place that depends on the page: the text before it, what it is, and which page it is of.

    An entry and its details are marked for their own page and those below it, a list for the pages
    of its entries: `below`. `rest` are the classes that an entry or a list always has.
    """

    before: str
    kind: str
    page: str
    rest: str
    below: frozenset[str]


@dataclass(frozen=True)
class Sidebar:
    """The table of contents with its marks apart, as `read` from that of one page."""

    marks: tuple[Mark, ...]
    end: str

    @classmethod
    def read(cls, content: str, page: str, pages: dict[str, str]) -> Sidebar:
        """Return the table made from that of `page`; `pages` are pages by address from there."""
        path: list[str] = []
        found: list[tuple[str, str, str, str]] = []
        inside: dict[int, set[str]] = {}
        lists: list[int] = []
        place = 0
        for part in _PART.finditer(content):
            before, place = content[place : part.start()], part.end()
            for _ in range(before.count("</ul>")):
                lists.pop()
            if part["address"] is not None:
                address = part["address"]
                name = page if address == "#" else pages[address]
                del path[int(part["level"]) - 1 :]
                path.append(name)
                for one in lists:
                    inside[one].add(name)
                inside[len(found)] = {name}
                classes = f"toctree-l{part['level']}", part["children"] or ""
                found.append((before, "entry", name, "|".join(classes)))
            elif part["details"] is not None:
                found.append((before, "details", path[-1], ""))
            else:
                lists.append(len(found))
                inside[len(found)] = set()
                found.append((before, "list", "", part["top"] or ""))
        return cls(tuple(_with_pages_below(found, inside)), content[place:])

    def of(self, page: str, address: Address) -> str:
        """Return the table as it stands beside a page; `address` gives the way between pages."""
        written = []
        for mark in self.marks:
            on = page in mark.below
            written += [mark.before, _TAGS[mark.kind](mark, on, page, address)]
        return "".join([*written, self.end])


def _with_pages_below(
    found: list[tuple[str, str, str, str]], inside: dict[int, set[str]]
) -> Iterator[Mark]:
    # The list that follows an entry's details holds what is below the entry.
    below: dict[str, set[str]] = {}
    for i, (_, kind, _, _) in enumerate(found):
        if kind == "list" and i >= 2 and found[i - 1][1] == "details":
            below[found[i - 1][2]] = inside[i]
    for i, (before, kind, page, rest) in enumerate(found):
        pages = inside[i] if kind == "list" else {page} | below.get(page, set())
        yield Mark(before, kind, page, rest, frozenset(pages))


def _entry(mark: Mark, on: bool, page: str, address: Address) -> str:
    level, children = mark.rest.split("|")
    here = mark.page == page
    return (
        f'<li class="{level}{" current active" if on else ""}{children}">'
        f'<a class="{"current " if here else ""}reference internal" '
        f'href="{"#" if here else address(page, mark.page)}">'
    )


def _details(mark: Mark, on: bool, page: str, address: Address) -> str:
    return '<details open="open">' if on else "<details>"


def _list(mark: Mark, on: bool, page: str, address: Address) -> str:
    classes = " ".join(["current"] * on + [mark.rest] * bool(mark.rest))
    return f'<ul class="{classes}">' if classes else "<ul>"


_TAGS = {"entry": _entry, "details": _details, "list": _list}


class Sidebars:
    """The tables of contents of one build, each made by the theme once."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._known: dict[str, Sidebar] = {}

    def beside(self, page: str, theirs: Callable[..., Any], **options: Any) -> Any:
        """Return the table of contents beside a page; the theme's own where pages do not share it.

        `theirs` is the theme's function, `options` what its template asks for.
        """
        if (
            options.get("kind") != "sidebar"
            or options.get("startdepth") != 0
            or options["collapse"]
        ):
            return theirs(**options)
        address, key = self._builder.get_relative_uri, repr(sorted(options.items()))
        if key not in self._known:
            pages = {address(page, name): name for name in self._builder.env.found_docs}
            self._known[key] = Sidebar.read(str(theirs(**options)), page, pages)
        return self._known[key].of(page, address)
