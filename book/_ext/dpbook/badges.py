"""The badge of a published table or figure: on the page that draws it again, and in the galleries.

``accuracy/gallery.yml`` says which page draws which figure. Whether a figure is reproduced is never
written down: it is the weakest badge of its curves in ``reproduction/published-fit``, or, for a
table, the outcome of a finding. The directive ``{gallery} full`` shows one of the file's lists.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from docutils import nodes
from PIL import Image
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook.quotes import result_file

logger = logging.getLogger(__name__)

LISTS = "accuracy/gallery.yml"
FITS = "reproduction/published-fit"
UNDECIDED = "not compared in this build"
WIDE = 480  # pixels of a thumbnail, shown at half of that


@dataclass(frozen=True)
class Entry:
    """A table or figure: its name, the page that draws it again, and what its badge rests on."""

    label: str
    page: str
    image: str = ""
    panels: Sequence[Sequence[str]] = ()
    finding: str = ""

    def badge(self, env: BuildEnvironment) -> tuple[str, str]:
        """Return the badge and what it was computed from, in words."""
        if self.finding:
            return outcome(result_file(env, self.page, "findings.json"), self.finding)
        return weakest(result_file(env, FITS, "fit.csv"), self.panels)


def entries(book: Path) -> dict[str, list[Entry]]:
    """Return the lists of the book's file, or none if it has no such file."""
    path = book / LISTS
    if not path.is_file():
        return {}
    return listed(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)  # every page asks
def listed(content: str) -> dict[str, list[Entry]]:
    """Return the lists that are written in a file."""
    lists = yaml.safe_load(content)
    return {name: [Entry(**one) for one in many] for name, many in lists.items()}


def weakest(fits: Path, panels: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return the weakest badge of the curves of some panels, and how many were compared."""
    from dpbayes.study.reproduction.fit import BADGES  # the mathematics waits for a badge

    wanted = {tuple(panel) for panel in panels}
    with fits.open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["document"], row["figure"], row["panel"]) in wanted
        ]
    if not rows:
        return UNDECIDED, "no points of it were compared"
    points = sum(int(row["points"]) for row in rows)
    badge = max((row["badge"] for row in rows), key=BADGES.index)
    curves = "1 curve" if len(rows) == 1 else f"{len(rows)} curves"
    return badge, f"{curves}, {points} points"


def outcome(findings: Path, name: str) -> tuple[str, str]:
    """Return the badge of a table whose entries a finding holds against computed ones."""
    from dpbayes.study.reproduction.fit import NOT, REPRODUCED

    found = json.loads(findings.read_text(encoding="utf-8"))
    if name not in found:
        raise ValueError(f"no finding {name!r} is recorded in {findings.parent.name}")
    badge = {True: REPRODUCED, False: NOT, None: UNDECIDED}[found[name]["holds"]]
    return badge, "every printed digit"


def shown(badge: str, basis: str) -> nodes.inline:
    """Return a badge as a node, coloured by what it says."""
    kind = badge.replace(" ", "-")
    whole = nodes.inline("", "", classes=["fit-badge", f"fit-badge-{kind}"])
    whole += nodes.Text(badge)
    return nodes.inline("", "", whole, nodes.Text(f" {basis}"))


def link(env: BuildEnvironment, page: str, text: str = "") -> addnodes.pending_xref:
    """Return a link to a page, showing its title or a text."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", text or page, classes=["xref", "doc"]),
        refdoc=env.docname,
        refdomain="std",
        reftype="doc",
        reftarget=f"/results/{page}",
        refexplicit=bool(text),
        refwarn=True,
    )


def mark_page(app: Sphinx, doctree: nodes.document) -> None:
    """Put the badges of a page's figures below its title."""
    env = app.env
    page = env.docname.removeprefix("results/")
    every = [one for many in entries(Path(env.srcdir)).values() for one in many]
    own = [one for one in every if one.page == page and env.docname != page]
    for title in list(doctree.findall(nodes.title))[:1] if own else []:
        env.note_dependency(str(Path(env.srcdir) / LISTS))
        place = title.parent.index(title) + 1
        for one in reversed(own):
            try:
                badge, basis = one.badge(env)
            except ValueError as error:
                logger.warning("badge of %s: %s", one.label, error, location=env.docname)
                continue
            line = nodes.paragraph("", f"{one.label}: ", classes=["fit-badges"])
            line += [shown(badge, basis), nodes.Text(". "), link(env, FITS, "How it was judged")]
            title.parent.insert(place, line)


class Gallery(SphinxDirective):
    """One of the lists: thumbnail, link and badge of every table and figure, in their order."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the gallery, or warn, which stops a strict build."""
        book = Path(self.env.srcdir)
        self.env.note_dependency(str(book / LISTS))
        lists, name = entries(book), self.arguments[0]
        try:
            if name not in lists:
                raise ValueError(f"{LISTS} has no list {name!r}; it has {', '.join(lists)}")
            cards = [self.card(one) for one in lists[name]]
        except ValueError as error:
            where = self.get_location()
            logger.warning("gallery: %s", error, location=where, type="dpbook")
            return []
        return [nodes.container("", *cards, classes=["gallery"])]

    def card(self, one: Entry) -> nodes.container:
        """Return the card of one table or figure."""
        card = nodes.container(classes=["gallery-card"])
        if one.image:
            picture = result_file(self.env, one.page, f"{one.image}.png")
            small = thumbnail(picture, Path(self.env.srcdir), one)
            card += nodes.image(uri=small, alt=f"{one.label}, drawn again", width=f"{WIDE // 2}px")
        card += nodes.paragraph("", "", link(self.env, one.page))
        words = nodes.paragraph("", f"{one.label}: ")
        words += shown(*one.badge(self.env))
        card += words
        return card


def thumbnail(picture: Path, book: Path, one: Entry) -> str:
    """Write the upper part of a picture, small, and return where Sphinx finds it."""
    name = f"{one.page.replace('/', '-')}-{one.image}.png"
    path = book / "_build" / "thumbnails" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(picture) as whole:
        upper = whole.crop((0, 0, whole.width, min(whole.height, round(0.8 * whole.width))))
        height = round(upper.height * WIDE / upper.width)
        upper.convert("RGB").resize((WIDE, height)).quantize(64).save(path, optimize=True)
    return f"/_build/thumbnails/{name}"
