"""The book's own Sphinx extension: notebooks through papermill, and results quoted on pages.

Before documents are looked for, every notebook below ``notebooks/`` is run, or known to be up to
date, and published below ``book/results/``. Pages quote its numbers with the role ``result``, its
findings with the role ``finding``, and show its tables and figures with the directives
``result-table`` and ``result-figure``.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from dpbook.build import run_notebooks
from dpbook.figures import ResultFigure
from dpbook.quotes import FindingRole, Quote, ResultRole, depart_quote, visit_quote
from dpbook.tables import ResultTable

BEFORE_CONTENTS = 100  # the table of contents is read at priority 900


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    app.connect("config-inited", run_notebooks, priority=BEFORE_CONTENTS)
    app.add_node(Quote, html=(visit_quote, depart_quote))
    app.add_role("result", ResultRole())
    app.add_role("finding", FindingRole())
    app.add_directive("result-table", ResultTable)
    app.add_directive("result-figure", ResultFigure)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
