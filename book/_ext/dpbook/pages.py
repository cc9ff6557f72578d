"""What the theme leaves to do on every page, and docstrings as autodoc wants them.

The style sheets are half a megabyte, most of it for other sites: a selector stays if
each of its classes stands in a page or in a script. Docstrings mark code with single
backticks and use no other markup; a backticked label of a definition or theorem becomes
a link to it.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.util.inspect import stringify_signature

RESULTS = '<div id="search-results"></div>'
SEARCH = "".join(
    f'<script src="search/{name}.js" defer></script>' for name in ("index", "search")
)
MENDINGS = (
    (r'<link rel="preload" as="script"[^>]*>', ""),  # before the style sheets
    (r'<script src="(?=[^"]*_static/(?!documentation_options))', '<script defer src="'),
    (r"<script [^>]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>", ""),
    (RESULTS, RESULTS + SEARCH),
    (r"<!-- So that users can add custom icons -->\s*<script[^>]*></script>", ""),
    (
        r'(?<=<div id="pst-primary-sidebar")',
        ' role="complementary" aria-label="Search and contents"',
    ),
    (r'(<button class="btn search-button-field[^>]*?)\s+aria-label="Search"', r"\1"),
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),  # it says "Code"
    (r'(?<=<div) role="list"(?= class="citation-list">)| role="doc-biblioentry"', ""),
    (
        r'<summary>(?=<span class="toctree-toggle")',
        '<summary aria-label="Pages below this one">',
    ),
    # the notebook in the repository is the one without outputs
    (r'(href="https?://[^"]*/)results/(?=[^"?]*\.ipynb")', r"\1notebooks/"),
    (r'<th(?: class="head[^"]*")?>(?:<p></p>)?</th>', "<td></td>"),
    # a formula keeps the point or comma behind it on its line, and a power of ten its
    # factor
    (
        (
            r'(<span class="math notranslate'
            r' nohighlight">(?:(?!</span>).)*</span>[.,;:)]+)'
        ),
        r'<span class="kept">\1</span>',
    ),
    (r" × (?=10[⁻⁰¹²³⁴-⁹])(?<=\d...)", "&nbsp;×&nbsp;"),
)

# Figures and tables have numbers in the paper alone; elsewhere a number is that of a
# document.
NUMBER = re.compile(r'<span class="caption-number">(?:Fig|Table)[^<]*</span>')


class Templates(BuiltinTemplateLoader):
    """The theme's templates, with what they make mended before it is written."""

    def render(self, template: str, context: dict[str, Any]) -> Any:
        """Return a finished page, mended."""
        page = super().render(template, context)
        for fault, cure in MENDINGS:
            page = re.sub(fault, cure, page)
        return page if context.get("pagename") == "paper" else NUMBER.sub("", page)


def launch(app: Sphinx, config: Any) -> None:
    """Leave out the buttons that open a notebook elsewhere while no address is given:
    the theme stops without one.
    """
    options, themed = (
        config.html_theme_options,
        config.html_theme == "sphinx_book_theme",
    )
    if themed and not options.get("repository_url"):
        options["launch_buttons"] = {}


def next_chapter(
    app: Any, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Have a chapter followed by the next chapter; its results stand below it in the
    sidebar.
    """
    chapters = app.env.toctree_includes[app.config.root_doc]
    for name, one, other in (
        ("prev", chapters[1:], chapters),
        ("next", chapters, chapters[1:]),
    ):
        if page in one and one.index(page) < len(other):
            there = other[one.index(page)]
            title = app.builder.render_partial(app.env.titles[there])["title"]
            context[name] = {
                "link": app.builder.get_relative_uri(page, there),
                "title": title,
            }


CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LABEL = re.compile(r"``((?:def|thm|lem|cor|alg)-[a-z0-9-]+)``")
RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")
CHOICE = re.compile(
    r":[\w-]+\([^()]*\)"
)  # such as :not(.this), which holds where nothing is this
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
    files = [
        one
        for one in Path(app.outdir).rglob("*")
        if one.suffix in (".html", ".js", ".css")
    ]
    used: set[str] = set()
    for path in files:
        if path.suffix != ".css" and path.name != "index.js":
            used.update(
                re.findall(r"-?[A-Za-z_][\w-]*", path.read_text(encoding="utf-8"))
            )
    for path in files:
        if path.suffix == ".css" and "_static" in path.parts:
            path.write_text(
                pruned(path.read_text(encoding="utf-8"), used), encoding="utf-8"
            )


def rewrite(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn a docstring, in place, into reStructuredText that means what it shows."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.startswith("    "):
            lines[place] = marked_up(line)


def written(
    app: Sphinx | None, what: str, name: str, obj: Any, *rest: Any
) -> tuple[str, str] | None:
    """Return a signature with its types as the code writes them: ArrayLike, and not the
    union that it stands for. What pydantic checks shows the names of its fields; a
    protocol is never made, and has none.
    """
    named = getattr(obj, "model_fields", None)
    if named:
        return f"({', '.join(named)})", ""
    if what not in ("class", "function", "method"):
        return None
    if getattr(obj, "_is_protocol", False):
        return "", ""
    try:
        signature = inspect.signature(obj)
    except (TypeError, ValueError):  # of a class that is not called
        return None
    shown = [one for one in signature.parameters.values() if one.name[0] != "_"]
    if what == "method" and shown and shown[0].name in ("self", "cls"):
        shown = shown[1:]
    signature = signature.replace(parameters=shown)
    arguments, _, returned = stringify_signature(signature).partition(" -> ")
    return arguments, "" if what == "class" else returned


def marked_up(line: str) -> str:
    """Return a line of prose with code as literals, labels as links, and the rest as it
    is.

    >>> marked_up("P[x_i | r] of `law`, book: `thm-series`.")
    'P[x\\\\_i \\\\| r] of ``law``, book: :prf:ref:`thm-series`.'
    """
    parts = CODE.split(line)
    parts[::2] = [re.sub(r"([*|_\\])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"``{part}``" for part in parts[1::2]]
    return LABEL.sub(r":prf:ref:`\1`", "".join(parts))
