"""The table of every mechanism's options, as their files declare them."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.spec import Spec


def rows(spec: Spec) -> list[str]:
    """Return a line of a table for each option of a mechanism: name, default, words."""
    default = spec.defaults
    return [
        f"| {spec.name} | `{name}` | `{default[name]!r}` | {option.words} |"
        for name, option in spec.options.items()
    ]


class MechanismOptions(SphinxDirective):
    """A table with a row for each option of each mechanism."""

    def run(self) -> list[nodes.Node]:
        """Return it parsed."""
        lines = ["| mechanism | option | default | meaning |", "|---|---|---|---|"]
        lines += [line for spec in REGISTRY.values() for line in rows(spec)]
        container = nodes.container()
        source = StringList(lines, source="declared options")
        self.state.nested_parse(source, self.content_offset, container)
        return container.children
