"""The site's style sheets without rules for what no page of it has.

Theme and extensions bring half a megabyte, most of it for other sites. A selector stays if each of
its classes stands in a page or in a script.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CHOICE = re.compile(r":[\w-]+\([^()]*\)")  # such as :not(.this), which holds where nothing is this
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
COMMA = re.compile(r",(?![^()]*\))")


def pruned(sheet: str, used: set[str]) -> str:
    """Return a style sheet less the selectors with a class that is not used.

    >>> pruned("a.b,a.c{x:y}@media print{.c{x:y}p:not(.c){x:y}}", {"b"})
    'a.b{x:y}@media print{p:not(.c){x:y}}'
    """

    def kept(rule: re.Match[str]) -> str:
        head, body = rule.groups()
        if "@" in head:
            return rule[0]
        stay = [one for one in COMMA.split(head) if set(CLASS.findall(CHOICE.sub("", one))) <= used]
        return ",".join(stay) + body if stay else ""

    return RULE.sub(kept, COMMENT.sub("", sheet))


def prune(app: Sphinx, problem: Exception | None) -> None:
    """Shorten the style sheets of a finished site."""
    if problem is None and app.builder.format == "html":
        site = Path(app.outdir)
        used: set[str] = set()
        for path in site.rglob("*"):
            if path.suffix in (".html", ".js") and path.name != "index.js":
                used.update(re.findall(r"-?[A-Za-z_][\w-]*", path.read_text(encoding="utf-8")))
        for path in site.joinpath("_static").rglob("*.css"):
            path.write_text(pruned(path.read_text(encoding="utf-8"), used), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("build-finished", prune, priority=900)  # when all others have written theirs
