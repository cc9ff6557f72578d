"""What notebooks recorded, on pages: one number, one sentence, one table.

``{result}`documents/D-fig5::crossover:.1f` `` is a number with its format, which may end in ``up``
or ``down`` for a bound; ``{claim}`documents/D-fig5::ahead` `` is a sentence. A notebook's own page
may leave out its name. A claim that does not hold with the book's parameters stops a strict build.

The directive ``{result-table}`` shows a recorded CSV file as a numbered table to download.

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
import json
import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbayes.figures.typeset import typeset

logger = logging.getLogger(__name__)
ROUNDED = {"up": ROUND_CEILING, "down": ROUND_FLOOR}
SAME = 1e-12  # of a number: the rounding of its last binary digits
MARKS = re.compile(r"([\\`*_{}\[\]<>|$~^])")
NUMBER = re.compile(r"–|∞|−?\d[^*=<>]*")  # a formatted cell; a formula is none


class ResultRole(SphinxRole):
    """Put a recorded number into the text, in the format given after the last colon."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the formatted number, or warn and return the role's text."""
        try:
            name, key = split(self.text, self.env)
            key, _, form = key.partition(":")
            shown = formatted(recorded(self.env, name, "numbers.json", key), form)
        except ValueError as error:
            return complain(self, error)
        return [nodes.inline(shown, shown, classes=["result"])], []


class ClaimRole(SphinxRole):
    """Put the sentence of a claim into the text, its mathematics and references set."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the sentence, or warn when it is missing or does not hold."""
        try:
            name, key = split(self.text, self.env)
            made = recorded(self.env, name, "claims.json", key)
            if not made["holds"]:
                raise ValueError(f"the claim does not hold: {made['sentence']}")
        except ValueError as error:
            return complain(self, error)
        holder = nodes.inline("", "", classes=["quoted-claim"])
        inliner: Any = self.inliner
        children, messages = inliner.parse(made["sentence"], self.lineno, None, holder)
        holder += children
        return [holder], messages


def complain(role: SphinxRole, error: ValueError) -> tuple[list[nodes.Node], list[Any]]:
    """Warn, which stops a strict build."""
    problem = f"{role.name} {role.text!r}: {error}"
    logger.warning(problem, location=role.get_location(), type="dpbook")
    return [nodes.inline(role.text, role.text)], []


def split(text: str, env: BuildEnvironment) -> tuple[str, str]:
    """Return the notebook and what is quoted of it."""
    name, colons, key = text.strip().partition("::")
    if not name and env.docname.startswith("results/"):
        name = env.docname.removeprefix("results/")
    if not (name and colons and key):
        raise ValueError(f"write notebook::name, such as documents/D-fig5::ahead, got {text!r}")
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
    known = json.loads(result_file(env, name, file).read_text(encoding="utf-8"))
    if key not in known:
        raise ValueError(f"{name} has no {key!r} in {file}; it has {', '.join(sorted(known))}")
    return known[key]


def formatted(value: float, form: str) -> str:
    """Return a number as a page shows it.

    >>> formatted(0.6353, ".2f up"), formatted(0.6353, ".0% down"), formatted(11019.0, ",d")
    ('0.64', '63%', '11,019')
    >>> formatted(-0.000012, ".1e"), formatted(0.1 + 0.2, ".1f up"), formatted(float("inf"), "g")
    ('−1.2 × 10⁻⁵', '0.3', '∞')
    """
    form, _, way = form.partition(" ")
    if form[-1:] == "d" and float(value).is_integer():
        value = int(value)
    if way in ROUNDED and value and math.isfinite(value):
        shown = Decimal(format(value, form.replace(",", "")).rstrip("%"))
        place = Decimal(1).scaleb(int(shown.as_tuple().exponent) - 2 * form.endswith("%"))
        nearest = Decimal(repr(float(value))).quantize(place)
        if abs(float(nearest) - value) > SAME * abs(value):
            value = float(Decimal(repr(float(value))).quantize(place, rounding=ROUNDED[way]))
    return typeset(format(value, form))


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
