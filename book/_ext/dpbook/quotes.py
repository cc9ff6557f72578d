"""The role ``{result}`` quotes one recorded number: ``{result}`accuracy/growth::crossover:.1f` ``."""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class ResultRole(SphinxRole):
    """Put a recorded number into the text, in the format given after the last colon."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the formatted number, or warn and return the role's text."""
        try:
            shown = quote(self.text, self.env)
        except ValueError as error:
            logger.warning("result: %s", error, location=self.get_location(), type="dpbook")
            shown = self.text
        return [nodes.inline(shown, shown, classes=["result"])], []


def quote(text: str, env: BuildEnvironment) -> str:
    """Return the number that ``notebook::key:format`` refers to, formatted."""
    name, _, rest = text.partition("::")
    key, colon, form = rest.partition(":")
    if not (name and key and colon and form):
        raise ValueError(f"write notebook::number:format, such as a/b::c:.3f, got {text!r}")
    path = result_file(env, name, "numbers.json")
    numbers = json.loads(path.read_text(encoding="utf-8"))
    if key not in numbers:
        raise ValueError(f"{name} records no {key!r}; it records {', '.join(sorted(numbers))}")
    return formatted(numbers[key], form)


def result_file(env: BuildEnvironment, name: str, file: str) -> Path:
    """Return a recorded file, and have the page read again when it changes."""
    path = Path(env.srcdir) / "results" / name / file
    if not path.is_file():
        raise ValueError(f"no notebook has recorded {name}/{file}")
    env.note_dependency(str(path))
    return path


def formatted(value: float, form: str) -> str:
    """Return a number as print shows it: a true minus sign, powers of ten written out.

    An integer format takes a float that is whole.
    """
    if form[-1] in "dxb" and isinstance(value, float) and value.is_integer():
        value = int(value)
    text = format(value, form)
    if "e" in text and form[-1] in "eg":
        digits, exponent = text.split("e")
        text = f"{digits} × 10{str(int(exponent)).translate(RAISED)}"
    return text.replace("-", "−")
