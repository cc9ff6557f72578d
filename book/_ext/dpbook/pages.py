"""What the theme leaves to do on every page: landmarks, roles that are allowed, no idle script.

Its style sheets and those of extensions are half a megabyte, most of it for other sites: a selector
stays if each of its classes stands in a page or in a script.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader

MENDINGS = (
    (re.compile(r'<link rel="preload" as="script"[^>]*>'), ""),  # before the style sheets
    (re.compile(r'<script src="(?=[^"]*_static/(?!documentation_options))'), '<script defer src="'),
    (re.compile(r"<script [^>]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>"), ""),
    (
        re.compile(r'<div id="search-results"></div>'),
        '<div id="search-results"></div><script src="search/index.js" defer></script>'
        '<script src="search/search.js" defer></script>',
    ),
    (re.compile(r"<!-- So that users can add custom icons -->\s*<script[^>]*></script>"), ""),
    (
        re.compile(r'(<div id="pst-primary-sidebar")'),
        r'\1 role="complementary" aria-label="Search and contents"',
    ),
    (re.compile(r'(<button class="btn search-button-field[^>]*?)\s+aria-label="Search"'), r"\1"),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),  # it says "Code"
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r' role="doc-biblioentry"'), ""),
    (
        re.compile(r'<summary>(?=<span class="toctree-toggle")'),
        '<summary aria-label="Pages below this one">',
    ),
    (re.compile(r'<th(?: class="head[^"]*")?>(?:<p></p>)?</th>'), "<td></td>"),
    (  # a formula keeps the point or comma behind it on its line
        re.compile(
            r'(<span class="math notranslate nohighlight">(?:(?!</span>).)*</span>[.,;:)]+)'
        ),
        r'<span class="kept">\1</span>',
    ),
    (re.compile(r" × (?=10[⁻⁰¹²³⁴-⁹])(?<=\d...)"), "&nbsp;×&nbsp;"),  # is not torn apart
)

# Figures and tables have numbers in the paper alone; elsewhere a number is that of a document.
NUMBER = re.compile(r'<span class="caption-number">(?:Fig|Table)[^<]*</span>')


class Templates(BuiltinTemplateLoader):
    """The theme's templates, with what they make mended before it is written."""

    def render(self, template: str, context: dict[str, Any]) -> Any:
        """Return a finished page, mended."""
        page = super().render(template, context)
        for fault, cure in MENDINGS:
            page = fault.sub(cure, page)
        return page if context.get("pagename") == "paper" else NUMBER.sub("", page)


def next_chapter(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Have a chapter followed by the next chapter; its results stand below it in the sidebar."""
    chapters = app.env.toctree_includes[app.config.root_doc]
    for name, one, other in (("prev", chapters[1:], chapters), ("next", chapters, chapters[1:])):
        if page in one and one.index(page) < len(other):
            there = other[one.index(page)]
            title = app.builder.render_partial(app.env.titles[there])["title"]
            context[name] = {"link": app.builder.get_relative_uri(page, there), "title": title}


RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")
CHOICE = re.compile(r":[\w-]+\([^()]*\)")  # such as :not(.this), which holds where nothing is this
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")


def pruned(sheet: str, used: set[str]) -> str:
    """Return a style sheet less the selectors with a class that is not used.

    >>> pruned("a.b,a.c{x:y}@media print{.c{x:y}p:not(.c){x:y}}", {"b"})
    'a.b{x:y}@media print{p:not(.c){x:y}}'
    """

    def kept(rule: re.Match[str]) -> str:
        head, body = rule.groups()
        each = [head] if "@" in head else re.split(r",(?![^()]*\))", head)
        stay = [one for one in each if set(CLASS.findall(CHOICE.sub("", one))) <= used]
        return ",".join(stay) + body if stay else ""

    return RULE.sub(kept, re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))


def prune(app: Sphinx) -> None:
    """Shorten the style sheets of a finished site."""
    files = [one for one in Path(app.outdir).rglob("*") if one.suffix in (".html", ".js", ".css")]
    used: set[str] = set()
    for path in files:
        if path.suffix != ".css" and path.name != "index.js":
            used.update(re.findall(r"-?[A-Za-z_][\w-]*", path.read_text(encoding="utf-8")))
    for path in files:
        if path.suffix == ".css" and "_static" in path.parts:
            path.write_text(pruned(path.read_text(encoding="utf-8"), used), encoding="utf-8")
