"""The directive ``result-table`` without Sphinx, and the table that both kinds of page share."""

from __future__ import annotations

import csv
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from dpbayes.press.quotes import is_number, own, read_table

Grid = tuple[list[str], list[list[str]]]


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated option; a part in double quotes may hold commas."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


class TableDirective(Directive):
    """What a table directive needs: where its file is, and what stands below the table."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required,
        "columns": listed,
        "header": listed,
        "format": listed,
        "class": directives.class_option,
    }

    def file(self, name: str, stem: str) -> Any:
        """Return the path of a recorded table, or raise ValueError."""
        raise ValueError(f"no folder of results to look for {name}/{stem}.csv")

    def own_name(self) -> str | None:
        """Return the notebook whose page this is; None on any other page."""
        return None

    def below(self, name: str, stem: str) -> list[nodes.Node]:
        """Return what follows the table."""
        return []

    def complain(self, problem: str) -> list[nodes.Node]:
        """Return what stands in place of a table that cannot be shown."""
        return [self.state.document.reporter.warning(f"result-table: {problem}", line=self.lineno)]

    def run(self) -> list[nodes.Node]:
        """Return the table with its caption and what follows it."""
        try:
            name, _, stem = own(self.arguments[0], self.own_name()).partition("::")
            if not name or not stem:
                raise ValueError(f"write notebook::table, got {self.arguments[0]!r}")
            header, rows = read_table(
                self.file(name, stem),
                self.options.get("columns"),
                self.options.get("header"),
                self.options.get("format", [""]),
            )
        except ValueError as error:
            return self.complain(str(error))
        table = nodes.table(classes=["result-table", *self.options.get("class", [])])
        caption, messages = self.state.inline_text(" ".join(self.content), self.lineno)
        table += nodes.title("", "", *caption)
        table += grid(header, rows)
        self.add_name(table)
        return [table, *self.below(name, stem), *messages]


def grid(header: list[str], rows: list[list[str]]) -> nodes.tgroup:
    """Return the columns, the head and the body of a table."""
    group = nodes.tgroup(cols=len(header))
    for _ in header:
        group += nodes.colspec(colwidth=1)
    numeric = [
        bool(rows) and all(is_number(row[place]) for row in rows) for place in range(len(header))
    ]
    head, body = nodes.thead(), nodes.tbody()
    head += line(header, numeric)
    for row in rows:
        body += line(row, [is_number(text) for text in row])
    group += head
    group += body
    return group


def line(cells: list[str], right: list[bool]) -> nodes.row:
    """Return one row; numbers, and the heads above columns of them, are set to the right."""
    row = nodes.row()
    for text, to_the_right in zip(cells, right, strict=True):
        entry = nodes.entry("", classes=["number"] if to_the_right else [])
        entry += nodes.paragraph("", text)
        row += entry
    return row
