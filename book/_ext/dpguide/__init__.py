"""The Sphinx extension behind the guide: words that explain themselves, and exercises.

The first use of a glossary's term on a page becomes a link that shows the definition on hover and
focus. The directive ``exercise`` sets an exercise, the directive ``exercise-list`` lists them all.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from dpguide.exercises import (
    Exercise,
    ExerciseList,
    ExercisesBelow,
    collected,
    forget,
    listing_pages,
    merge,
)
from dpguide.words import explain, link_first_uses


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    app.connect("doctree-read", link_first_uses)
    app.connect("doctree-resolved", explain)
    app.connect("doctree-resolved", collected)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", listing_pages)
    app.add_node(ExercisesBelow)
    app.add_directive("exercise", Exercise)
    app.add_directive("exercise-list", ExerciseList)
    app.add_css_file("guide.css")
    app.add_js_file("words.js")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
