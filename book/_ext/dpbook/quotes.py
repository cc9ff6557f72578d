"""The roles ``result`` and ``finding``: one recorded number, one recorded sentence.

``accuracy/growth::crossover:.1f`` is a number with its format, ``accuracy/growth::best`` a finding.
On the page of a notebook its own name may be left out: ``::crossover:.1f``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from dpbayes.press.quotes import own, quoted, sentence, split_finding, split_quote

logger = logging.getLogger(__name__)


class Quote(nodes.inline):
    """A number on a page, which the page marks with what it quotes (see `dpbayes verify`)."""


def visit_quote(writer: Any, node: Quote) -> None:
    """Begin a quoted number in HTML; other writers take it for any text."""
    writer.body.append(writer.starttag(node, "span", "", **{"data-quote": node["quote"]}))


def depart_quote(writer: Any, node: Quote) -> None:
    """End a quoted number in HTML."""
    writer.body.append("</span>")


class ResultRole(SphinxRole):
    """Put a recorded number into the text, in the format given after the last colon."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the formatted number, or warn and return the role's text."""
        try:
            name, key, form = split_quote(own(self.text, own_name(self.env)))
            shown = quoted(result_file(self.env, name, "numbers.json"), key, form)
        except ValueError as error:
            complain(self, error)
            return [nodes.inline(self.text, self.text)], []
        quote = f"{name}::{key}:{form}"
        return [Quote(shown, shown, classes=["result"], quote=quote)], []


class FindingRole(SphinxRole):
    """Put the sentence of a finding into the text, its mathematics and references set."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the sentence, or warn and return the role's text."""
        try:
            name, key = split_finding(own(self.text, own_name(self.env)))
            shown = sentence(result_file(self.env, name, "findings.json"), key)
        except ValueError as error:
            complain(self, error)
            return [nodes.inline(self.text, self.text)], []
        holder = nodes.inline("", "", classes=["finding"])
        inliner: Any = self.inliner
        children, messages = inliner.parse(shown, self.lineno, None, holder)
        holder += children
        return [holder], messages


def complain(role: SphinxRole, error: ValueError) -> None:
    """Warn, which stops a strict build."""
    problem = f"{role.name} {role.text!r}: {error}"
    logger.warning(problem, location=role.get_location(), type="dpbook")


def own_name(env: BuildEnvironment) -> str | None:
    """Return the notebook whose page is being read; None on any other page."""
    return env.docname.removeprefix("results/") if env.docname.startswith("results/") else None


def result_file(env: BuildEnvironment, name: str, file: str) -> Path:
    """Return a recorded file, and have the page read again when it changes."""
    path = Path(env.srcdir) / "results" / name / file
    if not path.is_file():
        raise ValueError(f"no notebook has recorded {name}/{file}")
    env.note_dependency(str(path))
    return path
