"""The package's public names on the pages: Sphinx's autodoc, told how our docstrings are written.

Docstrings mark code with single backticks and use no other markup. A backticked label of a
definition or theorem becomes a link to it; everything else is taken literally.

On the other pages a public name in a line of prose links to its entry, and a page whose code uses
public names ends with links to them.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LABEL = re.compile(r"(?:def|thm|lem|cor|alg)-[a-z0-9-]+")
USED = re.compile(r"\b(?:dpbayes\.queries|dpbayes|dp|queries)\.([A-Za-z_]\w*)")
IMPORTED = re.compile(r"^\s*from (dpbayes[\w.]*) import ([\w, ]+)$", re.MULTILINE)
SPECIAL = re.compile(r"([*|_\\])")


def setup(app: Sphinx) -> dict[str, Any]:
    """Load autodoc and connect the rewriting of docstrings."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", short_types)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("missing-reference", plain_type)
    app.connect("doctree-resolved", link_names)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def short_types(app: Sphinx, config: Config) -> None:
    """Show numpy's types by the names they have in the code, not by what they stand for."""
    names = ("ArrayLike", "NDArray", "Epsilon", "Metric", "MetricLike", "Counts")
    config.autodoc_type_aliases = {name: name for name in names}
    config.autodoc_member_order = "bysource"


def plain_type(
    app: Sphinx, environment: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.TextElement | None:
    """Leave a type without a page of its own as text: other libraries' pages are not linked."""
    return content if node.get("refdomain") == "py" else None


def link_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the public names on a page to their entries; code gets one line of links at the end."""
    if app.builder.format != "html" or page.startswith("api/"):
        return
    entries = app.env.domains["py"].objects
    linked = set()
    for node in list(doctree.findall(nodes.literal)):
        name = known(entries, node.astext())
        if name is not None and not within_link(node):
            linked.add(name)
            node.replace_self(linking(app, page, entries[name], node.deepcopy()))
    used: dict[str, str] = {}
    for block in doctree.findall(nodes.literal_block):
        for shown in names_in(block.astext()):
            name = known(entries, shown)
            if name is not None and name not in linked:
                used.setdefault(name, shown)
    sections = list(doctree.findall(nodes.section))[:1]
    if not used or not sections:
        return
    line = nodes.paragraph("", "From the package: ", classes=["from-the-package"])
    for place, (name, shown) in enumerate(sorted(used.items())):
        literal = nodes.literal("", shown)
        line += [nodes.Text(", ")] * bool(place) + [linking(app, page, entries[name], literal)]
    sections[0] += line


def names_in(code: str) -> list[str]:
    """Return the names that code takes from the package.

    >>> names_in("from dpbayes.auditing.exact import Audit, audit")
    ['dpbayes.auditing', 'dpbayes.auditing.exact.Audit', 'dpbayes.auditing.exact.audit']
    """
    used = [match[0] for match in USED.finditer(code)]
    for module, names in IMPORTED.findall(code):
        used += [f"{module}.{name.strip()}" for name in names.split(",")]
    return used


def known(entries: Any, text: str) -> str | None:
    """Return the full name of what a text begins with, if it has an entry.

    >>> known({"dpbayes.release": 1, "dpbayes.queries.blue": 2}, "dp.release(counts)")
    'dpbayes.release'
    >>> known({"dpbayes.release": 1, "dpbayes.queries.blue": 2}, "queries.blue")
    'dpbayes.queries.blue'
    """
    begin = re.match(r"[A-Za-z_][\w.]*\w", text)
    if begin is None:
        return None
    first, _, rest = begin[0].partition(".")
    full = {"dp": "dpbayes", "queries": "dpbayes.queries"}.get(first, first)
    parts = [full, *rest.split(".")]
    for size in range(len(parts), 1, -1):
        if ".".join(parts[:size]) in entries:
            return ".".join(parts[:size])
    return None


def within_link(node: nodes.Node) -> bool:
    """Whether a node is part of a link or a title, where it is not to become one."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, (nodes.reference, pending_xref, nodes.title)):
            return True
    return False


def linking(app: Sphinx, page: str, entry: Any, shown: nodes.Element) -> nodes.reference:
    """Return a link from a page to an entry."""
    return make_refnode(app.builder, page, entry.docname, entry.node_id, shown)


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring, in place, into reStructuredText that means what it shows."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        indented = line.startswith("    ")
        if not example and not indented:
            lines[place] = marked_up(line)


def marked_up(line: str) -> str:
    """Return a line of prose with code as literals, labels as links, and the rest as it is.

    >>> marked_up("P[x_i | r] of `law`, book: `thm-series`.")
    'P[x\\\\_i \\\\| r] of ``law``, book: :prf:ref:`thm-series`.'
    """
    parts = CODE.split(line)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = SPECIAL.sub(r"\\\1", part)
        elif LABEL.fullmatch(part):
            parts[place] = f":prf:ref:`{part}`"
        else:
            parts[place] = f"``{part}``"
    return "".join(parts)
