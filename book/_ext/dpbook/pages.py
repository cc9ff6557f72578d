"""What the theme leaves to do on every page: landmarks, roles that are allowed, no idle script.

Also the definitions of terms: a link to the glossary shows its definition when it is hovered over.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader

GLOSSARY = "appendix/glossary"
ROLE = re.compile(r"\{[a-z:]+\}`([^`<]+?)(?:\s*<[^`<>]*>)?`")
MENDINGS = (
    (re.compile(r"<!-- So that users can add custom icons -->\s*<script[^>]*></script>"), ""),
    (
        re.compile(r'(<div id="pst-primary-sidebar")'),
        r'\1 role="complementary" aria-label="Search and contents"',
    ),
    (re.compile(r'(<button class="btn search-button-field[^>]*?)\s+aria-label="Search"'), r"\1"),
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r' role="doc-biblioentry"'), ""),
    (
        re.compile(r'<summary>(?=<span class="toctree-toggle")'),
        '<summary aria-label="Pages below this one">',
    ),
    (re.compile(r'<th(?: class="head")?>(?:<p></p>)?</th>'), "<td></td>"),
    (  # a formula keeps the point or comma behind it on its line
        re.compile(r'(<span class="math notranslate nohighlight">[^<]*</span>[.,;:)]+)'),
        r'<span class="kept">\1</span>',
    ),
    (re.compile(r" × (?=10[⁻⁰¹²³⁴-⁹])(?<=\d...)"), "&nbsp;×&nbsp;"),  # is not torn apart
)
# A chapter loads the typesetter for the formulas of the pages below it; its own may have none.
TYPESETTER = (
    re.compile(r"<script[^>]*mathjax/tex-svg\.js[^>]*></script>"),
    re.compile(r"<script>window\.MathJax = .*?</script>"),
)


class Templates(BuiltinTemplateLoader):
    """The theme's templates, with what they make mended before it is written."""

    def render(self, template: str, context: dict[str, Any]) -> Any:
        """Return a finished page, mended."""
        page = super().render(template, context)
        for fault, cure in MENDINGS:
            page = fault.sub(cure, page)
        for script in () if 'class="math' in page else TYPESETTER:
            page = script.sub("", page)
        return page


def definitions(path: Path) -> dict[str, str]:
    """Return the terms of the glossary and their definitions without markup."""
    block = path.read_text(encoding="utf-8").partition("{glossary}\n")[2].partition("\n```")[0]
    found = {}
    for entry in re.split(r"\n\n(?=\S)", block):
        term, _, text = entry.partition("\n")
        found[term.strip()] = re.sub(r"[*`$\\]", "", ROLE.sub(r"\1", " ".join(text.split())))
    return found


def explain(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give each link to a term its definition, which browsers show."""
    path = Path(app.srcdir) / f"{GLOSSARY}.md"
    if page == GLOSSARY or app.builder.format != "html" or not path.is_file():
        return
    address = app.builder.get_relative_uri(page, GLOSSARY)
    links = [one for one in doctree.findall(nodes.reference) if "refuri" in one]
    links = [one for one in links if str(one["refuri"]).startswith(f"{address}#term-")]
    known = definitions(path) if links else {}
    anchors = {nodes.make_id(f"term-{term}"): text for term, text in known.items()}
    for link in links:
        anchor = nodes.make_id(str(link["refuri"]).partition("#")[2])
        if anchor in anchors:
            link["reftitle"] = anchors[anchor]
            link["classes"].append("term")


def setup(app: Sphinx) -> None:
    """Connect the definitions; the configuration names the templates."""
    app.connect("doctree-resolved", explain)
