"""The package's public names on the pages: Sphinx's autodoc, told how our docstrings are written.

Docstrings mark code with single backticks and use no other markup. A backticked label of a
definition or theorem becomes a link to it; everything else is taken literally.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LABEL = re.compile(r"``((?:def|thm|lem|cor|alg)-[a-z0-9-]+)``")


def setup(app: Sphinx) -> None:
    """Load autodoc and connect the rewriting of docstrings."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("autodoc-process-docstring", rewrite)


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring, in place, into reStructuredText that means what it shows."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.startswith("    "):
            lines[place] = marked_up(line)


def marked_up(line: str) -> str:
    """Return a line of prose with code as literals, labels as links, and the rest as it is.

    >>> marked_up("P[x_i | r] of `law`, book: `thm-series`.")
    'P[x\\\\_i \\\\| r] of ``law``, book: :prf:ref:`thm-series`.'
    """
    parts = CODE.split(line)
    parts[::2] = [re.sub(r"([*|_\\])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"``{part}``" for part in parts[1::2]]
    return LABEL.sub(r":prf:ref:`\1`", "".join(parts))
