"""Figures as part of the page: they follow its light and dark theme and open in full size.

Every SVG picture of a result becomes an ``svg`` element with the alternative text as its label. Its
box scrolls where the column is too narrow for readable letters, and a button beside it, for narrow
screens, opens it at its natural size. Where the figure was drawn a second time, for a narrow
column, phones show that drawing instead. Pictures with a class of ``SMALL`` or a width of their own
stay images, which the browser loads when they come into sight.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from dpdrawn.svg import inlined

SMALL = {"thumbnail", "thumb", "thumbnails", "preview"}
NARROW = ".narrow.svg"
BUTTON = (
    '<button type="button" class="drawn-open" aria-haspopup="dialog">'
    '<span aria-hidden="true">⤢</span> Full size</button>'
)


class Drawn(nodes.General, nodes.Element):
    """A figure that stands in the page itself: its files, which are read when it is written."""


class InlineFigures(SphinxPostTransform):
    """Put the SVG pictures of results into the page."""

    default_priority = 5  # before pictures are collected for copying
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace each picture by the element it holds."""
        for number, image in enumerate(list(self.document.findall(nodes.image))):
            file = Path(self.env.srcdir) / image["uri"]
            if is_figure(image, file):
                slim = narrow_of(file, Path(self.env.doc2path(self.env.docname)))
                files = [file] if slim is None else [file, slim]
                alt = image.get("alt", "")
                image.replace_self(Drawn(files=files, number=number, alt=alt, ids=image["ids"]))


def is_figure(image: nodes.image, file: Path) -> bool:
    """Say whether a picture is an SVG drawn by the package, and shown in its own size."""
    small = SMALL & set(image["classes"]) or {"width", "height", "scale"} & set(image.attributes)
    if file.suffix != ".svg" or small or not file.is_file():
        return False
    return '<g id="figure_1">' in file.read_text(encoding="utf-8")


def narrow_of(file: Path, page: Path) -> Path | None:
    """Return the drawing of a figure for narrow columns, or None.

    It lies beside the figure. A notebook's page shows copies of its figures under other names; the
    results of the page's folder tell which one a copy is of.
    """
    own = file if file.with_suffix(NARROW).is_file() else None
    if own is None and page.suffix == ".ipynb":
        content = _drawing(file)
        known = sorted(page.with_suffix("").glob(f"*{NARROW}"))
        wide = [one.with_name(one.name.removesuffix(NARROW) + ".svg") for one in known]
        own = next((one for one in wide if _drawing(one) == content), None)
    return own.with_suffix(NARROW) if own else None


def _drawing(file: Path) -> str:
    """Return what is drawn in a file, without the tag in which a notebook writes the words."""
    return file.read_text(encoding="utf-8").partition("<svg ")[2].partition(">")[2].strip()


def visit_drawn(translator: HTML5Translator, node: Drawn) -> None:
    """Write the figure, its narrow drawing and its button."""
    wide, *slim = (
        inlined(file.read_text(encoding="utf-8"), f"{kind}{node['number']}-", node["alt"])
        for kind, file in zip("dn", node["files"], strict=False)
    )
    scrolled = f'<div class="drawn-scroll">{wide}</div>'
    scrolled += "".join(f'<div class="drawn-scroll drawn-narrow">{one}</div>' for one in slim)
    kind = "drawn-box drawn-twice" if slim else "drawn-box"
    translator.body.append(f'<div class="{kind}">{scrolled}{BUTTON}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    app.add_node(Drawn, html=(visit_drawn, None))
    app.add_post_transform(InlineFigures)
    app.add_css_file("figures.css")
    app.add_js_file("figures.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
