"""The book's own Sphinx extension: results of notebooks on pages, the claims board, the explorer.

Before documents are looked for, every notebook below ``notebooks/`` is run, or known to be up to
date, and published below ``book/results/``. Everything else is left to published extensions.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from dpbayes.record import read_json
from dpbook import board, build, docstrings, explorer, figures, mathml, pages, quotes, search

BEFORE_CONTENTS = 100  # the table of contents is read at priority 900
WRITERS = 1 + (os.cpu_count() or 2)  # of pages; one resolves references


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    gc.set_threshold(100_000, 50, 100)  # documents are trees of many nodes that all stay
    app.connect("config-inited", build.run_notebooks, priority=BEFORE_CONTENTS)
    app.connect("env-check-consistency", lambda app, env: setattr(app, "parallel", WRITERS))
    app.connect("html-page-context", pages.next_chapter)
    app.connect("build-finished", finish, priority=900)  # when all others have written theirs
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.add_directive("certificate", build.Certificate)
    app.add_directive("result-table", quotes.ResultTable)
    app.add_directive("explorer", explorer.Explorer)
    app.add_role("result", quotes.Quote())
    app.add_role("claim", quotes.ClaimQuote())
    app.add_role("explore", explorer.Explore())
    for part in (figures, board, docstrings, mathml):
        part.setup(app)
    return {"version": "2", "env_version": 2, "parallel_read_safe": True,
            "parallel_write_safe": True}  # fmt: skip


def finish(app: Sphinx, problem: Exception | None) -> None:
    """Complete a site that could be built, and say how its numbers agree with the reference."""
    if problem is None:
        if app.builder.format == "html":
            Path(app.outdir, "explorer").mkdir(exist_ok=True)
            Path(app.outdir, explorer.PROGRAM).write_text(explorer.bundle(), encoding="utf-8")
            search.write_index(app)
            pages.prune(app)
        build.logger.info(read_json(Path(app.srcdir, "results", build.CERTIFICATE))["agreement"])
