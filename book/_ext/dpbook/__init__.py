"""The book's own Sphinx extension: notebooks through papermill, and results quoted on pages.

Before documents are looked for, every notebook below ``notebooks/`` is run, or known to be up to
date, and published below ``book/results/``. Pages quote its numbers with the role ``result``, its
findings with the role ``finding``, and show its tables and figures with the directives
``result-table`` and ``result-figure``. A notebook's own page begins with what came out; pages that
draw a published figure again carry its badge, and the directive ``gallery`` shows all of them.
"""

from __future__ import annotations

import gc
from typing import Any

from docutils import nodes
from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from sphinx.application import Sphinx

from dpbook import drawings, folds
from dpbook.badges import Gallery, mark_page
from dpbook.build import run_notebooks
from dpbook.drawings import Drawings
from dpbook.figures import ResultFigure, Shown, depart_shown, visit_shown
from dpbook.finding_again import Entries, Site
from dpbook.folds import Fold, Scrolled
from dpbook.proof_index import keep_titles, take_the_place
from dpbook.quotes import FindingRole, Quote, ResultRole, depart_quote, visit_quote
from dpbook.related import ClaimLink, find_claims
from dpbook.result_first import ResultFirst
from dpbook.side_by_side import write_side_by_side
from dpbook.tables import ResultTable

BEFORE_CONTENTS = 100  # the table of contents is read at priority 900


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    gc.set_threshold(100_000, 50, 100)  # documents are trees of many nodes that all stay
    # Each citation asks for it, and without this looks through all installed packages.
    register_plugin("pybtex.backends", "plaintext", Backend, force=True)
    app.connect("config-inited", run_notebooks, priority=BEFORE_CONTENTS)
    app.connect("env-updated", write_side_by_side)
    app.add_node(Quote, html=(visit_quote, depart_quote))
    app.add_node(Fold, html=(folds.visit_fold, folds.depart_fold))
    app.add_node(Scrolled, html=(folds.visit_scrolled, folds.depart_scrolled))
    app.add_node(nodes.image, override=True, html=(drawings.visit_image, drawings.depart_image))
    app.add_node(ClaimLink)
    app.add_builder(Site, override=True)
    for transform in (Drawings, ResultFirst, Entries):
        app.add_transform(transform)
    app.connect("doctree-resolved", find_claims)
    app.add_role("result", ResultRole())
    app.add_role("finding", FindingRole())
    app.add_directive("result-table", ResultTable)
    app.add_node(Shown, html=(visit_shown, depart_shown))
    app.add_directive("result-figure", ResultFigure)
    app.add_directive("gallery", Gallery)
    app.connect("doctree-read", mark_page)
    app.connect("doctree-read", keep_titles)
    app.connect("builder-inited", take_the_place)
    return {
        "version": "1",
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
