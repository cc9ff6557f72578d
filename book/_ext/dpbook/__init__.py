"""The book's own Sphinx extension: results of notebooks on pages, the claims board, the
explorer.

Before documents are looked for, every notebook below ``notebooks/`` is run, or known to
be up to date, and published below ``book/results/``. Everything else is left to
published extensions.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

from dpbayes.record import read_json
from dpbook import (
    board,
    build,
    explorer,
    figures,
    glossary,
    mathml,
    options,
    pages,
    quotes,
    results,
    search,
    source,
)

DIRECTIVES = {
    "certificate": build.Certificate, "result-table": quotes.ResultTable,
    "result-figure": figures.ResultFigure, "explorer": explorer.Explorer,
    "source": source.Listed, "mechanism-options": options.MechanismOptions,
    **dict.fromkeys(board.NAMES, board.FromClaims),
}  # fmt: skip
ROLES = {"result": quotes.Quote, "claim": quotes.Quote, "evidence": quotes.Quote,
         "explore": explorer.Explore}  # fmt: skip
FIGURE = (HTML5Translator.visit_figure, HTML5Translator.depart_figure)
WRITERS = 1 + (os.cpu_count() or 2)  # of pages; one resolves references


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    gc.set_threshold(
        100_000, 50, 100
    )  # documents are trees of many nodes that all stay
    app.connect(
        "config-inited", build.run_notebooks, priority=100
    )  # contents are read at 900
    app.connect(
        "env-check-consistency", lambda app, env: setattr(app, "parallel", WRITERS)
    )
    app.connect("config-inited", pages.launch)
    app.connect("html-page-context", pages.next_chapter)
    app.add_config_value("dpbook_source", [], "html", [list])
    app.connect("config-inited", source.prepare)
    app.connect("html-page-context", source.footer, priority=900)
    app.connect(
        "build-finished", finish, priority=900
    )  # when all others have written theirs
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("builder-inited", board.check)
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", pages.rewrite)
    app.connect("autodoc-process-signature", pages.written)
    app.add_html_math_renderer("mathml", (mathml.visit, None), (mathml.visit, None))
    app.add_node(figures.Unnumbered, html=FIGURE)
    app.add_post_transform(figures.InlineFigures)
    app.add_node(results.Fold, html=(results.open_fold, results.close_fold))
    app.add_node(results.Sourced, html=(results.open_source, results.close_source))
    app.add_post_transform(results.Folds)
    app.add_post_transform(glossary.Terms)
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    for name, role in ROLES.items():
        app.add_role(name, role())
    return {"version": "2", "env_version": 2, "parallel_write_safe": True}


def finish(app: Sphinx, problem: Exception | None) -> None:
    """Complete a site that could be built, and say how its numbers agree with the
    reference.
    """
    if problem is None:
        if app.builder.format == "html":
            lost = [one for one in sorted(app.env.found_docs)
                    if not Path(app.outdir, f"{one}.html").is_file()]  # fmt: skip
            if lost:  # Sphinx may lose what a process of writers has to say
                raise ExtensionError(
                    f"{len(lost)} pages were not written: {lost[0]}, …"
                )
            Path(app.outdir, "explorer").mkdir(exist_ok=True)
            Path(app.outdir, explorer.PROGRAM).write_text(
                explorer.bundle(), encoding="utf-8"
            )
            search.write_index(app)
            pages.prune(app)
            source.publish(app)
        build.logger.info(
            read_json(Path(app.srcdir, "results", build.CERTIFICATE))["agreement"]
        )
