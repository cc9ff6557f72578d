"""The directive ``{result-table}`` shows a recorded CSV file as a numbered table to download.

::

    :::{result-table} accuracy/growth::means
    :name: tab-growth
    :columns: n, ilapMech
    :header: records, released as integers
    :format: d, .3f
    Mean distance by number of records.
    :::
"""

from __future__ import annotations

import csv
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook.quotes import formatted, result_file

logger = logging.getLogger(__name__)


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated option."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


class ResultTable(SphinxDirective):
    """A table of a notebook, from the file it recorded."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required,
        "columns": listed,
        "header": listed,
        "format": listed,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Return the table and its download link, or warn and return nothing."""
        try:
            header, rows = self.read()
        except ValueError as error:
            logger.warning(
                "result-table: %s", error, location=self.get_location(), type="dpbook"
            )
            return []
        table = nodes.table(classes=["result-table", *self.options.get("class", [])])
        caption, messages = self.state.inline_text(" ".join(self.content), self.lineno)
        table += nodes.title("", "", *caption)
        table += grid(header, rows)
        self.set_source_info(table)
        self.add_name(table)
        return [table, self.download(), *messages]

    def read(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the formatted rows of the columns asked for."""
        name, _, stem = self.arguments[0].partition("::")
        if not name or not stem:
            raise ValueError(f"write notebook::table, such as a/b::c, got {self.arguments[0]!r}")
        path = result_file(self.env, name, f"{stem}.csv")
        with path.open(encoding="utf-8", newline="") as stream:
            first, *rows = csv.reader(stream)
        columns = self.options.get("columns", first)
        unknown = [column for column in columns if column not in first]
        if unknown:
            raise ValueError(f"{path.name} has no column {unknown[0]!r}; it has {', '.join(first)}")
        header = self.options.get("header", columns)
        formats = self.options.get("format", [""])
        formats = formats * len(columns) if len(formats) == 1 else formats
        if not len(header) == len(formats) == len(columns):
            raise ValueError(
                f"{len(columns)} columns, {len(header)} headers, {len(formats)} formats"
            )
        places = [first.index(column) for column in columns]
        return header, [
            [cell(row[place], form) for place, form in zip(places, formats, strict=True)]
            for row in rows
        ]

    def download(self) -> nodes.paragraph:
        """Return the link to the file with all digits."""
        name, _, stem = self.arguments[0].partition("::")
        label = nodes.literal("", f"{stem}.csv", classes=["xref", "download"])
        link = addnodes.download_reference(
            "",
            "",
            label,
            refdoc=self.env.docname,
            refdomain="",
            reftype="download",
            refexplicit=False,
            reftarget=f"/results/{name}/{stem}.csv",
            refwarn=False,
        )
        return nodes.paragraph("", "", nodes.Text("All digits: "), link, classes=["table-download"])


def cell(text: str, form: str) -> str:
    """Return a cell's text: numbers in the given format, everything else as it is."""
    try:
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    if not form:
        return text.replace("-", "−")
    return formatted(value, form)


def is_number(text: str) -> bool:
    """Say whether a formatted cell is a number."""
    return text.replace("−", "")[:1].isdigit()


def grid(header: list[str], rows: list[list[str]]) -> nodes.tgroup:
    """Return the columns, the head and the body of a table."""
    group = nodes.tgroup(cols=len(header))
    for _ in header:
        group += nodes.colspec(colwidth=1)
    head, body = nodes.thead(), nodes.tbody()
    head += line(header, all(map(is_number, rows[0][1:])) if rows else False)
    for row in rows:
        body += line(row)
    group += head
    group += body
    return group


def line(cells: list[str], numeric_head: bool = False) -> nodes.row:
    """Return one row; numbers, and the heads above them, are set to the right."""
    row = nodes.row()
    for text in cells:
        right = is_number(text) or numeric_head
        entry = nodes.entry("", classes=["number"] if right else [])
        entry += nodes.paragraph("", text)
        row += entry
    return row
