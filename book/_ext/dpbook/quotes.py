"""What notebooks recorded, on pages: one number, one sentence, one table.

``{result}`documents/D-fig5::crossover:.1f` `` is a number with its format, which may
end in ``up`` or ``down`` for a bound; ``{claim}`documents/D-fig5::ahead` `` is a
sentence, and ``{evidence}`documents/D-fig5::ahead` `` a mark that links to it where the
page says it in its own words. A notebook's own page may leave out its name. What is
missing or does not hold stops a strict build. A table::

    :::{result-table} documents/D-fig5::means
    :name: tab-growth
    :columns: n, ilapMech
    :header: records, released as integers
    :format: d, .3f
    Mean distance by number of records.
    :::
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbayes.figures.typeset import cell, formatted, without_roles
from dpbayes.record import read_json
from dpbook.results import Sourced

GIVEN = "given.json"  # the settings of numbers
MARKS = re.compile(r"([\\`*_{}\[\]<>|$~^])")
NUMBER = re.compile(r"–|∞|−?\d[^*=<>]*")  # a formatted cell; a formula is none


class Quote(SphinxRole):
    """A recorded number in the format after the last colon, the sentence of a claim, or
    a mark that links to the claim that a paragraph rests on."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return what is quoted; what is missing or does not hold is an error."""
        inliner: Any = self.inliner
        try:
            name, key = split(self.text, self.env)
            if self.name == "result":
                return [self.number(name, key)], []
            made = recorded(self.env, name, "claims.json", key)
            if not made["holds"]:
                raise ValueError(f"the claim does not hold: {made['sentence']}")
            given = made.get("given", "")
            if self.name == "evidence":
                setting = f"{without_roles(made['sentence'])} {given}".strip()
                mark = nodes.superscript("", "∴")
                return [sourced(name, "claims", setting, "evidence", mark)], []
            holder = nodes.inline("", "", classes=["quoted-claim"])
            children, messages = inliner.parse(
                made["sentence"], self.lineno, None, holder
            )
            holder += children
            return [holder], messages
        except ValueError as error:
            problem = f"{self.name} {self.text!r}: {error}"
            return [], [inliner.reporter.error(problem, line=self.lineno)]

    def number(self, name: str, key: str) -> nodes.Node:
        """Return a number with its setting, a link to the cell that computed it."""
        key, _, form = key.partition(":")
        shown = formatted(recorded(self.env, name, "numbers.json", key), form)
        given = read_json(result_file(self.env, name, "numbers.json").parent / GIVEN)
        setting = given.get(key, "")
        if not setting and self.env.docname != f"results/{name}":
            raise ValueError("it has no setting: record it with given=… to quote it")
        return sourced(name, f"at-{key}", setting, "result", nodes.Text(shown))


def sourced(
    name: str, anchor: str, setting: str, kind: str, child: nodes.Node
) -> Sourced:
    """Return what stands on a page for something that a notebook recorded."""
    node = Sourced(notebook=name, anchor=anchor, setting=setting, classes=[kind])
    node += child
    return node


def split(text: str, env: BuildEnvironment) -> tuple[str, str]:
    """Return the notebook and what is quoted of it."""
    name, colons, key = text.strip().partition("::")
    if not name and env.docname.startswith("results/"):
        name = env.docname.removeprefix("results/")
    if not (name and colons and key):
        raise ValueError(
            f"write notebook::name, such as documents/D-fig5::ahead, got {text!r}"
        )
    return name, key


def result_file(env: BuildEnvironment, name: str, file: str) -> Path:
    """Return a recorded file, and have the page read again when it changes."""
    path = Path(env.srcdir) / "results" / name / file
    if not path.is_file():
        raise ValueError(f"no notebook has recorded {name}/{file}")
    env.note_dependency(str(path))
    return path


def recorded(env: BuildEnvironment, name: str, file: str, key: str) -> Any:
    """Return one entry of a recorded file."""
    known = read_json(result_file(env, name, file))
    if key not in known:
        raise ValueError(
            f"{name} has no {key!r} in {file}; it has {', '.join(sorted(known))}"
        )
    return known[key]


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated option; a part in double quotes may hold
    commas.
    """
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


def read_table(path: Path, options: dict[str, Any]) -> list[list[str]]:
    """Return the heads and the formatted cells of the columns that are wanted, column
    by column.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        known = {head: cells for head, *cells in zip(*csv.reader(stream), strict=True)}
    names = options.get("columns", list(known))
    heads = options.get("header", [one.replace("_", " ") for one in names])
    forms = options.get("format", [""])
    forms = forms * len(names) if len(forms) == 1 else forms
    if unknown := [one for one in names if one not in known]:
        raise ValueError(
            f"{path.name} has no column {unknown[0]!r}; it has {', '.join(known)}"
        )
    if not len(heads) == len(forms) == len(names):
        sizes = f"{len(names)} columns, {len(heads)} headers, {len(forms)} formats"
        raise ValueError(f"{path.name}: {sizes}")
    parts = zip(heads, forms, names, strict=True)
    return [
        [head, *(cell(one, form) for one in known[name])] for head, form, name in parts
    ]


class ResultTable(SphinxDirective):
    """A table of a notebook, from the file it recorded."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required, "columns": listed, "header": listed,
        "format": listed, "class": directives.unchanged,
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Return the table with its caption and a link to all digits."""
        try:
            name, stem = split(self.arguments[0], self.env)
            columns = read_table(
                result_file(self.env, name, f"{stem}.csv"), self.options
            )
        except ValueError as error:
            raise self.error(str(error)) from error
        right = [all(map(NUMBER.fullmatch, cells)) for _, *cells in columns]
        rows = [
            [MARKS.sub(r"\\\1", one) for one in row]
            for row in zip(*columns, strict=True)
        ]
        lines = [rows[0], ["--:" if one else ":--" for one in right], *rows[1:]]
        text = [
            f":::{{table}} {' '.join(self.content)}",
            f":class: result-table {self.options.get('class', '')}",
            *[f":name: {self.options['name']}" for _ in range("name" in self.options)],
            "",
            *(f"| {' | '.join(line)} |" for line in lines), ":::", "",
            f"All digits: {{download}}`{stem}.csv </results/{name}/{stem}.csv>`",
        ]  # fmt: skip
        inside = nodes.container()
        source = StringList(text, self.get_source_info()[0])
        self.state.nested_parse(source, self.content_offset, inside)
        list(inside.findall(nodes.paragraph))[-1]["classes"] = ["table-download"]
        return list(inside.children)
