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
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbayes.figures.typeset import typeset
from dpbook.quotes import formatted, result_file, split

logger = logging.getLogger(__name__)
MARKS = re.compile(r"([\\`*_{}\[\]<>|$~^])")
NUMBER = re.compile(r"–|∞|−?\d[^*=<>]*")  # a formatted cell; a formula is none


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated option; a part in double quotes may hold commas."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


def read_table(path: Path, options: dict[str, Any]) -> list[list[str]]:
    """Return the heads and the formatted cells of the columns that are wanted, column by column."""
    with path.open(encoding="utf-8", newline="") as stream:
        first, *rows = csv.reader(stream)
    columns = options.get("columns", first)
    if unknown := [one for one in columns if one not in first]:
        raise ValueError(f"{path.name} has no column {unknown[0]!r}; it has {', '.join(first)}")
    header = options.get("header", [one.replace("_", " ") for one in columns])
    formats = options.get("format", [""])
    formats = formats * len(columns) if len(formats) == 1 else formats
    if not len(header) == len(formats) == len(columns):
        sizes = f"{len(columns)} columns, {len(header)} headers, {len(formats)} formats"
        raise ValueError(f"{path.name}: {sizes}")
    places = map(first.index, columns)
    return [
        [head, *(cell(row[place], form) for row in rows)]
        for head, form, place in zip(header, formats, places, strict=True)
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
        "format": listed, "class": directives.unchanged,
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Return the table with its caption and a link to all digits."""
        try:
            name, stem = split(self.arguments[0], self.env)
            columns = read_table(result_file(self.env, name, f"{stem}.csv"), self.options)
        except ValueError as error:
            where = self.get_location()
            logger.warning("result-table: %s", error, location=where, type="dpbook")
            return []
        right = [all(map(NUMBER.fullmatch, cells)) for _, *cells in columns]
        head, *rows = (
            [MARKS.sub(r"\\\1", one) for one in row] for row in zip(*columns, strict=True)
        )
        lines = [head, ["--:" if one else ":--" for one in right], *rows]
        text = [
            f":::{{table}} {' '.join(self.content)}",
            f":class: result-table {self.options.get('class', '')}",
            *[f":name: {self.options['name']}" for _ in range("name" in self.options)], "",
            *(f"| {' | '.join(line)} |" for line in lines), ":::", "",
            f"All digits: {{download}}`{stem}.csv </results/{name}/{stem}.csv>`",
        ]  # fmt: skip
        inside = nodes.container()
        source = StringList(text, self.get_source_info()[0])
        self.state.nested_parse(source, self.content_offset, inside)
        paragraphs = list(inside.findall(nodes.paragraph))
        paragraphs[-1]["classes"] = ["table-download"]
        return list(inside.children)
