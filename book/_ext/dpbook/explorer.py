"""The explorer on a page, and links into it.

``{explorer}`` puts it where it stands; its content is shown to readers whose browser
does not run it. ``:small:`` leaves out all but a few controls, ``:start:`` names the
state it opens in, one of `STATES`. The role ``{explore}`` links to the explorer in one
of these: ``{explore}`try it <few>```. What the explorer needs is loaded on its pages
alone.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import ReferenceRole, SphinxDirective

from dpbayes.figures.language import LOOKS
from dpbayes.figures.night import at_night

PAGE = "explorer/index"
STYLES = ("uplot/uPlot.min.css", "explorer/explorer.css")
LIBRARY, PROGRAM = "uplot/uPlot.iife.min.js", "explorer/explorer.js"
SCRIPTS = Path(__file__).parents[2] / "_extra" / "explorer"
ORDER = (
    "gamma",
    "distances",
    "sensitivities",
    "steps",
    "mechanisms",
    "flips",
    "laws",
    "posteriors",
    "model",
    "state",
    "words",
    "charts",
    "controls",
    "main",
)
MODULAR = re.compile(r"^import \{[^}]*\} from .*;\n|^export (?=\w)", re.MULTILINE)

STATES = {  # as the explorer writes them into an address
    "start": "n=100&ones=30&mechanism=expMech-smooth&epsilon=1&gamma=1",
    "one-person": "n=50&ones=20&mechanism=geometric&epsilon=1&noisy=22",
    "five-ways": "n=100&ones=50&mechanism=ilapMech&epsilon=1",
    "published-distance": (
        "n=300&ones=150&mechanism=expMech-smooth&epsilon=1&distance=published"
    ),
    "promise": "n=300&ones=2&prior=0.01,0.01&mechanism=expMech-local&epsilon=1",
    "all-data": (
        "n=100&ones=10&mechanism=expMech-smooth&epsilon=1&gamma=0.3&promise=audited"
    ),
    "reading": "n=60&ones=6&mechanism=lapMech&epsilon=0.2&noisy=-4",
    "landing": "n=100&ones=30&mechanism=geometric&epsilon=1",
}


def bundle() -> str:
    """Return the modules as one classic script: from disk browsers load no modules."""
    parts = [
        MODULAR.sub("", (SCRIPTS / f"{name}.js").read_text("utf-8")) for name in ORDER
    ]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def looks() -> str:
    """Return plain name and colours, by day and at night, of the mechanisms, as
    JSON."""
    table = {name: {"plain": one.plain, "day": one.color, "night": at_night(one.color)}
             for name, one in LOOKS.items()}  # fmt: skip
    return json.dumps(table, ensure_ascii=False)


def surrounding(root: str, page: str, state: str, small: bool) -> tuple[str, str]:
    """Return what stands before and behind its content; `root` leads to the site's
    first folder.
    """
    styles = "".join(f'<link rel="stylesheet" href="{root}{path}">' for path in STYLES)
    marks = {"data-looks": looks(), "data-state": state, "data-page": f"{root}{page}"}
    written = "".join(f' {name}="{escape(value)}"' for name, value in marks.items())
    before = (
        f'{styles}<div class="dp-explorer"{written}{" data-small" if small else ""}>'
    )
    scripts = "".join(
        f'<script src="{root}{path}" defer></script>' for path in (LIBRARY, PROGRAM)
    )
    return before, f"</div>{scripts}"


class Explorer(SphinxDirective):
    """The explorer, around what stands in for it."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "start": lambda given: directives.choice(given, tuple(STATES)),
        "small": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        root, inside = "../" * self.env.docname.count("/"), nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        state, small = (
            STATES[self.options.get("start", "start")],
            "small" in self.options,
        )
        before, behind = surrounding(root, f"{PAGE}.html", state, small)
        ends = [nodes.raw("", text, format="html") for text in (before, behind)]
        return [ends[0], *inside.children, ends[1]]


class Explore(ReferenceRole):
    """A link to the explorer in a named state."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link; an unknown state is an error."""
        if self.target not in STATES:
            message = (
                f"explore: the state must be one of {', '.join(STATES)}, got"
                f" {self.target!r}"
            )
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        root = "../" * self.env.docname.count("/")
        address = f"{root}{PAGE}.html#{STATES[self.target]}"
        return [
            nodes.reference(self.rawtext, self.title, refuri=address, internal=True)
        ], []
