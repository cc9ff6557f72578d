"""The role ``result`` quotes one recorded number, as ``accuracy/growth::crossover:.1f``."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from dpbayes.press.quotes import quoted, split_quote

logger = logging.getLogger(__name__)


class ResultRole(SphinxRole):
    """Put a recorded number into the text, in the format given after the last colon."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the formatted number, or warn and return the role's text."""
        try:
            name, key, form = split_quote(self.text)
            shown = quoted(result_file(self.env, name, "numbers.json"), key, form)
        except ValueError as error:
            problem = f"result {self.text!r}: {error}"
            logger.warning(problem, location=self.get_location(), type="dpbook")
            shown = self.text
        return [nodes.inline(shown, shown, classes=["result"])], []


def result_file(env: BuildEnvironment, name: str, file: str) -> Path:
    """Return a recorded file, and have the page read again when it changes."""
    path = Path(env.srcdir) / "results" / name / file
    if not path.is_file():
        raise ValueError(f"no notebook has recorded {name}/{file}")
    env.note_dependency(str(path))
    return path
