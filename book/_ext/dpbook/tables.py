"""The directive ``{result-table}`` shows a recorded CSV file as a numbered table to download.

::

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
import math
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbayes.record import typeset
from dpbook.quotes import formatted, result_file, split

logger = logging.getLogger(__name__)


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated option; a part in double quotes may hold commas."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


def read_table(path: Path, options: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the formatted rows of the columns that are wanted."""
    with path.open(encoding="utf-8", newline="") as stream:
        first, *rows = csv.reader(stream)
    columns = options.get("columns", first)
    unknown = [one for one in columns if one not in first]
    if unknown:
        raise ValueError(f"{path.name} has no column {unknown[0]!r}; it has {', '.join(first)}")
    header = options.get("header", [one.replace("_", " ") for one in columns])
    formats = options.get("format", [""])
    formats = formats * len(columns) if len(formats) == 1 else formats
    if not len(header) == len(formats) == len(columns):
        sizes = f"{len(columns)} columns, {len(header)} headers, {len(formats)} formats"
        raise ValueError(f"{path.name}: {sizes}")
    places = [first.index(one) for one in columns]
    return header, [
        [cell(row[place], form) for place, form in zip(places, formats, strict=True)]
        for row in rows
    ]


def cell(text: str, form: str) -> str:
    """Return a cell's text: numbers in the given format, all else as it is, a dash for none.

    >>> cell("inf", ".4g"), cell("nan", ""), cell("11555", ".4g"), cell("-2", "s")
    ('∞', '–', '11,555', '−2')
    """
    try:
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    if math.isnan(value):
        return "–"
    if isinstance(value, int) and form.endswith("g") and 10**4 <= abs(value) < 10**9:
        form = ",d"
    return formatted(value, form) if form not in ("", "s") else typeset(text)


class ResultTable(SphinxDirective):
    """A table of a notebook, from the file it recorded."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required, "columns": listed, "header": listed,
        "format": listed, "class": directives.class_option,
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Return the table with its caption and a link to all digits."""
        try:
            name, stem = split(self.arguments[0], self.env)
            header, rows = read_table(result_file(self.env, name, f"{stem}.csv"), self.options)
        except ValueError as error:
            where = self.get_location()
            logger.warning("result-table: %s", error, location=where, type="dpbook")
            return []
        table = nodes.table(classes=["result-table", *self.options.get("class", [])])
        caption, messages = self.state.inline_text(" ".join(self.content), self.lineno)
        table += nodes.title("", "", *caption)
        table += grid(header, rows)
        self.add_name(table)
        link = addnodes.download_reference(
            "", "", nodes.literal("", f"{stem}.csv", classes=["xref", "download"]),
            refdoc=self.env.docname, reftarget=f"/results/{name}/{stem}.csv", refdomain="",
            reftype="download", refexplicit=False, refwarn=False,
        )  # fmt: skip
        words = nodes.paragraph("", "", nodes.Text("All digits: "), link)
        words["classes"] = ["table-download"]
        return [table, words, *messages]


def grid(header: list[str], rows: list[list[str]]) -> nodes.tgroup:
    """Return the columns, the head and the body of a table; columns of numbers stand right."""
    group = nodes.tgroup(cols=len(header))
    group += [nodes.colspec(colwidth=1) for _ in header]
    right = [bool(rows) and all(is_number(row[i]) for row in rows) for i in range(len(header))]
    head: nodes.Element = nodes.thead()
    body: nodes.Element = nodes.tbody()
    for part, lines in ((head, [header]), (body, rows)):
        for cells in lines:
            row = nodes.row()
            for text, number in zip(cells, right, strict=True):
                classes = ["number"] if number or (part is body and is_number(text)) else []
                row += nodes.entry("", nodes.paragraph("", text), classes=classes)
            part += row
    group += [head, body]
    return group


def is_number(text: str) -> bool:
    """Say whether a formatted cell is a number; a formula is not."""
    return text in "–∞" or (text.lstrip("−")[:1].isdigit() and not set(text) & set("*=<>"))
