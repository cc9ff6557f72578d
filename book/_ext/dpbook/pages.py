"""What the theme leaves to do on every page: landmarks, roles that are allowed, no idle script."""

from __future__ import annotations

import re
from typing import Any

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
    if page not in chapters:
        return
    place = chapters.index(page)
    for name, other in (("prev", place - 1), ("next", place + 1)):
        if 0 <= other < len(chapters):
            link = app.builder.get_relative_uri(page, chapters[other])
            title = app.builder.render_partial(app.env.titles[chapters[other]])["title"]
            context[name] = {"link": link, "title": title}
