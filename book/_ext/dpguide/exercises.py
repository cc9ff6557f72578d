"""Exercises with folded solutions, and the page that lists them in the order of reading.

::

    ::::{exercise} How sure is a guesser?
    :label: ex-guesser
    The question.

    :::{dropdown} Solution
    The answer.
    :::
    ::::
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
Listed = dict[str, list[tuple[str, str]]]


def known(env: BuildEnvironment) -> Listed:
    """Return label and title of every exercise, by page."""
    listed: Listed = vars(env).setdefault("dpguide_exercises", {})
    return listed


class Exercise(SphinxDirective):
    """One exercise: a title, a label, the question, and the solution in a dropdown."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"label": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the exercise, or warn when its label or its solution is missing."""
        label, title = self.options.get("label", ""), self.arguments[0]
        block = nodes.admonition(ids=[label], classes=["exercise"])
        words, messages = self.state.inline_text(f"Exercise: {title}", self.lineno)
        block += nodes.title("", "", *words)
        self.state.nested_parse(self.content, self.content_offset, block)
        if not label.startswith("ex-") or "{dropdown} Solution" not in "\n".join(self.content):
            where = self.get_location()
            problem = "exercise %r needs a label that begins with ex- and a dropdown Solution"
            logger.warning(problem, title, location=where, type="dpguide")
        known(self.env).setdefault(self.env.docname, []).append((label, title))
        return [block, *messages]


class ExercisesBelow(nodes.General, nodes.Element):
    """Where the list of all exercises will stand, when every page has been read."""


class ExerciseList(SphinxDirective):
    """All exercises of the book."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the list."""
        return [ExercisesBelow()]


def reading_order(env: BuildEnvironment, page: str | None = None) -> Iterator[str]:
    """Yield the pages in the order of the contents."""
    page = page or str(env.config.root_doc)
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from reading_order(env, below)


def collected(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the list where it belongs, a heading line and a list for each page with exercises."""
    for place in list(doctree.findall(ExercisesBelow)):
        lists: list[nodes.Node] = []
        for source in reading_order(app.env):
            exercises = known(app.env).get(source, [])
            if exercises and source != page:
                lists += listing(app, page, source, exercises)
        place.replace_self(lists)


def listing(
    app: Sphinx, page: str, source: str, exercises: list[tuple[str, str]]
) -> list[nodes.Node]:
    """Return the exercises of one page as links below that page's title."""
    address = app.builder.get_relative_uri(page, source)
    title = app.env.titles[source].astext()
    head = nodes.paragraph()
    head += nodes.reference("", title, refuri=address, internal=True, classes=["exercise-page"])
    items = nodes.bullet_list()
    for label, words in exercises:
        line = nodes.paragraph()
        line += nodes.reference("", words, refuri=f"{address}#{label}", internal=True)
        items += nodes.list_item("", line)
    return [head, items]


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the exercises of a page that is read again."""
    known(env).pop(page, None)


def merge(app: Sphinx, env: BuildEnvironment, pages: set[str], other: BuildEnvironment) -> None:
    """Take over what another process has read."""
    known(env).update({page: found for page, found in known(other).items() if page in pages})


def listing_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages to be written anew, because they list what other pages hold."""
    return [page for page in ("appendix/exercises",) if page in env.found_docs]
