"""What the theme leaves to do on every page: landmarks, roles that are allowed, no idle script.

The theme loads a script of half a megabyte so that authors can add icons; its own are in its font.
The sidebar with the search is no landmark, the button of the search is called otherwise than it
reads, and entries of the bibliography have roles that assistive technology does not know any
longer. The finished page is mended in text, before it is written.
A page is long, so expressions begin with plain letters: those are found fast.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from sphinx.builders import Builder
from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.theming import Theme

from dpbook.sidebar import Sidebars

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
)
# The text of a page with formulas is shown when they are set, or after some seconds in any case, so
# that it does not move under the reader's eyes. Without scripts nothing is held back.
CONFIGURED = re.compile(r"(<script>window\.MathJax = .*?)(</script>)")
SHOWN_WHEN_SET = (
    r"\1;document.documentElement.classList.add('typesetting');"
    r"setTimeout(() => document.documentElement.classList.remove('typesetting'), 4000);"
    r"window.MathJax.startup = {pageReady: () => MathJax.startup.defaultPageReady().then("
    r"() => document.documentElement.classList.remove('typesetting'))};\2"
)
# A chapter loads the typesetter for the formulas of the pages below it; its own may have none.
TYPESETTER = (
    re.compile(r"<script[^>]*mathjax/tex-svg\.js[^>]*></script>"),
    re.compile(r"<script>window\.MathJax = .*?</script>"),
)

# A power of ten is not torn from its number; what stands in a quote is compared with the record.
QUOTED = re.compile(r'(<span class="result"[^>]*>[^<]*)')
POWER = re.compile(r" × (?=10[⁻⁰¹²³⁴-⁹])(?<=\d...)")


class Templates(BuiltinTemplateLoader):
    """The theme's templates, with what they make mended."""

    def init(
        self, builder: Builder, theme: Theme | None = None, dirs: list[str] | None = None
    ) -> None:
        """Begin a build."""
        super().init(builder, theme, dirs)
        self._sidebars = Sidebars(builder)

    def render(self, template: str, context: dict[str, Any]) -> Any:
        """Return a finished page, mended; the table of contents beside it is made once for all."""
        theirs = context.get("generate_toctree_html")
        if theirs is not None:
            beside = partial(self._sidebars.beside, context["pagename"], theirs)
            context = context | {"generate_toctree_html": beside}
        return mended(super().render(template, context))


def mended(page: str) -> str:
    """Return a page without the theme's faults.

    >>> mended('<div class="citation" id="id1" role="doc-biblioentry">')
    '<div class="citation" id="id1">'
    >>> print(mended('<span class="math notranslate nohighlight">x</span>, and'))
    <span class="kept"><span class="math notranslate nohighlight">x</span>,</span> and
    >>> mended("<p>at most 2.8 × 10⁻¹⁷</p>")
    '<p>at most 2.8&nbsp;×&nbsp;10⁻¹⁷</p>'
    """
    parts = QUOTED.split(page)  # a quote stands at each odd place
    parts[::2] = (POWER.sub("&nbsp;×&nbsp;", part) for part in parts[::2])
    page = "".join(parts)
    for fault, cure in MENDINGS:
        page = fault.sub(cure, page)
    if 'class="math' in page:
        return CONFIGURED.sub(SHOWN_WHEN_SET, page, count=1)
    for script in TYPESETTER:
        page = script.sub("", page)
    return page
