"""What the site's search looks through: the words of every page, in one script.

``search/index.js``, which only the page with the results loads, holds for each page its
title, the keywords of its front matter, its headings, its text and the numbers it
records, at four digits.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx

from dpbayes.record import read_json

ARTICLE = re.compile(r'<article class="bd-article">(.*)</article>', re.DOTALL)
UNREAD = re.compile(
    r'<details class="admonition hide.*?</details>|<a class="headerlink".*?</a>|'
    r"<(svg|script|style|button)\b.*?</\1>",
    re.DOTALL,
)
HEADING = re.compile(
    r'<section id="([^"]+)">\s*(?:<span[^>]*></span>\s*)*<h[2-4]>(.*?)</h', re.DOTALL
)
KEYWORDS = re.compile(r'<meta content="([^"]*)" name="keywords"')
TERM = re.compile(r'<dt id="(term-[^"]+)">(.*?)(?:<a |</dt>)', re.DOTALL)
CODE = re.compile(r"<pre>.*?</pre>", re.DOTALL)
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def spoken(formula: ElementTree.Element) -> str:
    """Return a formula in one line, with the signs that its shape stands for.

    >>> spoken(ElementTree.fromstring("<mfrac><mn>1</mn><mn>2</mn></mfrac>"))
    '1/2'
    """
    parts = [spoken(one) for one in formula]
    if formula.tag == "mfrac":
        signs = [f"({one})" if len(one) > 1 else one for one in parts]
        return "/".join(signs)
    if formula.tag in ("msqrt", "mroot"):
        return f"√({parts[0]})"
    if formula.tag in ("msup", "msub", "msubsup"):
        marks = {"msup": "^", "msub": "_", "msubsup": "_^"}[formula.tag]
        return parts[0] + "".join(map("".join, zip(marks, parts[1:], strict=True)))
    return (formula.text or "").strip() + "".join(parts)


def in_a_line(formula: re.Match[str]) -> str:
    """Return a formula of a page as text."""
    markup = formula[0].replace("&ApplyFunction;", "").replace("&nbsp;", " ")
    return html.escape(spoken(ElementTree.fromstring(markup)))


def words(markup: str) -> str:
    """Return the text of some HTML in one line."""
    apart = re.sub(r"<(?=/?(?:p|li|td|th|h\d|div|dt|dd|br)\b)", " <", markup)
    return " ".join(html.unescape(TAG.sub("", apart)).split())


def entry(app: Sphinx, name: str) -> dict[str, object]:
    """Return what is known of a page."""
    page = Path(app.outdir, f"{name}.html").read_text(encoding="utf-8")
    found, recorded = (
        ARTICLE.search(page),
        read_json(Path(app.srcdir, name, "numbers.json")),
    )
    article = UNREAD.sub("", found[1] if found else "")
    article = CODE.sub("", article) if name.startswith("results/") else article
    article = FORMULA.sub(in_a_line, article)
    return {
        "page": f"{name}.html",
        "title": app.env.titles[name].astext(),
        "keywords": html.unescape(" ".join(KEYWORDS.findall(page))),
        "headings": [
            [place, words(heading)]
            for place, heading in HEADING.findall(article) + TERM.findall(article)
        ],
        "numbers": " ".join(
            sorted({f"{one:.4f}" for one in recorded.values() if abs(one) < 1e4})
        ),
        "text": words(article),
    }


def write_index(app: Sphinx) -> None:
    """Write the index where the site has its search."""
    pages = [entry(app, name) for name in sorted(app.env.found_docs)]
    path = Path(app.outdir, "search", "index.js")
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"window.searchIndex = {json.dumps(pages, ensure_ascii=False)};\n", "utf-8"
    )
