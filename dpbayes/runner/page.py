"""An executed notebook as a reader sees it, in the book and after a rerun: what came
out first.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import typeset
from dpbayes.notebooks.parameters import (
    CARRIED,
    Parameter,
    chosen,
    declared,
    load,
    tags,
)
from dpbayes.record import read_json
from dpbayes.runner import run

# A link of a notebook's text to a statement, to another notebook, or to a page.
LINK = re.compile(r"\[([^\[\]]+)\]\((#[\w-]+|[\w./-]+\.(?:ipynb|md))\)")
STATEMENTS = ("thm", "def", "lem", "cor", "prop", "exm", "rem", "alg")
HERE = Path(__file__).parent
LIMITS = "## What it does not show"
Cell = dict[str, Any]
RECORDS = "record."
KEPT = re.compile(r"""["']([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)["']""")  # may be a name


@dataclass
class Parts:
    """An executed notebook taken apart: what a reader meets first, and the way there.

    `claims` are findings with their settings, the one named ``answer`` first; `checks`
    what was tested; `result` the first figure or else the first table; `why` the
    Markdown cells tagged ``why``; `limits` the cell on what the result does not show.
    """

    title: list[Cell] = field(default_factory=list)
    claims: list[tuple[str, str]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    result: list[Cell] = field(default_factory=list)
    why: list[Cell] = field(default_factory=list)
    limits: list[Cell] = field(default_factory=list)
    rest: list[Cell] = field(default_factory=list)

    @property
    def way(self) -> list[Cell]:
        """The way there: headings one level lower, anchors where something is kept."""
        cells = []
        for cell in self.rest:
            source = cell["source"]
            if cell["cell_type"] == "markdown":
                lower = re.sub(r"^(?=#{2,5} )", "#", source, flags=re.MULTILINE)
                cells.append({**cell, "source": lower})
            else:
                names = dict.fromkeys(KEPT.findall(source) if RECORDS in source else [])
                anchors = "".join(f'<span id="at-{one}"></span>' for one in names)
                cells += [markdown(f"at-{len(cells)}", anchors)] if anchors else []
                cells.append(cell)
        return cells


def page(executed: Mapping[str, Any], name: str, files: list[str]) -> Cell:
    """Return the notebook of a result's page in the book, of one screen.

    Question, findings with their settings, figure or table, why, what it does not
    show, how to change it; then, folded, how it was computed and what was checked; and
    the files.
    """
    stem = name.rpartition("/")[2]
    parts = taken_apart(executed, stem)
    box = [
        f"{claim} [({given})]{{.setting}}" if given else claim
        for claim, given in parts.claims
    ]
    answer = (
        [markdown("claims", ":::{container} claims", *items(box), ":::")] if box else []
    )
    rows = [
        f"| `{one.name}` | `{json.dumps(one.default)}` | {one.meaning} |"
        for one in used(executed)
    ]
    words = ["dpbayes", "run", name]
    for key, text in proposed(executed).items():
        words += ["-p", f"{key}={text}"]
    change = ["## Change it", "", "```text", shlex.join(words), "```", ""]
    if rows:
        head = ["| name | value | what it is |", "| :-- | :-- | :-- |"]
        change += ["### Parameters", "", *head, *rows]
    checks = markdown("checks", "## Checks", "", *items(parts.checks))
    links = ", ".join(f"{{download}}`{one} <{stem}/{one}>`" for one in sorted(files))
    cells = [
        *parts.title, *answer, *parts.result, *parts.why, *parts.limits,
        markdown("change", *change),
        markdown("how", "## How it was computed"), *parts.way,
        *([checks] if parts.checks else []),
        markdown("files", "## Files", "", links),
    ]  # fmt: skip
    known = {k: v for k, v in executed["metadata"].items() if k != "papermill"}
    shown = [in_the_book(cell) for cell in cells]
    return {**executed, "metadata": known, "cells": shown}


def items(sentences: list[str]) -> list[str]:
    """Return one sentence as a paragraph, several as a list."""
    return sentences if len(sentences) < 2 else [f"- {one}" for one in sentences]


def used(executed: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters with the values that a run had, which papermill keeps."""
    given = executed["metadata"].get("papermill", {}).get("parameters", {})
    return [
        replace(one, default=given.get(one.name, one.default))
        for one in declared(executed).values()
    ]


def proposed(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters with values that really change something, as texts.

    They are what the last text says to try, such as ``n = 20``, if the notebook allows
    it; else the first number that may be doubled or halved, or a list less its end.
    """
    texts = [one["source"] for one in notebook["cells"] if "outputs" not in one]
    text, known = " ".join(texts[-1].split()), declared(notebook)
    tried = [
        {
            name: value.strip("\"'").replace(", ", ",")
            for name, value in re.findall(r"`(\w+) = ([^`]+)`", text)
            if name in known
        }
    ]
    for name, one in known.items():
        if one.type in ("int", "float"):
            double, half = 2 * one.default, type(one.default)(one.default / 2)
            tried += [{name: str(double)}, {name: str(half)}]
        elif isinstance(one.default, list) and len(one.default) > 1:
            tried += [{name: str(one.default[:-1])}]
    for values in tried:
        with contextlib.suppress(ValueError, TypeError):
            now = chosen("", notebook, values)
            changed = {key: text for key, text in values.items()
                       if now[key] != known[key].default}  # fmt: skip
            if changed:
                return changed
    return {}


def taken_apart(executed: Mapping[str, Any], stem: str = "") -> Parts:
    """Return the parts of an executed notebook.

    Further figures and tables with a caption follow the cell that made them. With the
    `stem` of the page in the book such a table is set there, with a number.
    """
    parts = Parts()
    for cell in executed["cells"]:
        if cell["cell_type"] != "markdown":
            _sort(cell, parts, stem)
        elif not parts.title:
            parts.title = [dict(cell)]
        elif cell["source"].startswith(LIMITS):
            parts.limits.append(dict(cell))
        else:
            (parts.why if "why" in tags(cell) else parts.rest).append(dict(cell))
    if not parts.result:
        parts.result = _first_table(parts.rest)
    return parts


def _sort(cell: Cell, parts: Parts, stem: str) -> None:
    """Put a code cell and what it recorded into their places."""
    kept: list[Any] = []
    further: list[Cell] = []
    for one in cell.get("outputs", []):
        known = told(one)
        if "claim" in known:
            place = 0 if known.get("name") == "answer" else len(parts.claims)
            parts.claims.insert(place, (known["claim"], known.get("given", "")))
        elif "check" in known:
            parts.checks.append(known["check"])
        elif "figure" in known:
            (further if parts.result else parts.result).append(
                shown(one, known["figure"])
            )
        elif "set" in known and stem:
            further.append(markdown(f"tab-{known['table']}", directive(stem, known)))
        elif "caption-of" not in known:
            kept.append(one)
    if "parameters" not in " ".join(tags(cell)):
        parts.rest += [{**cell, "outputs": kept}, *further]


def _first_table(cells: list[Cell]) -> list[Cell]:
    """Take the first table out of cells, and return a cell that shows it."""
    for cell in cells:
        if cell["id"].startswith("tab-"):
            cells.remove(cell)
            return [cell]
        tables = [one for one in cell.get("outputs", []) if "table" in told(one)]
        if tables:
            cell["outputs"].remove(tables[0])
            return [shown(tables[0], {})]
    return []


def directive(stem: str, known: Mapping[str, Any]) -> str:
    """Return the directive that sets a recorded table with its caption."""
    wanted = known["set"]
    options = {
        "name": f"tab-{stem}-{known['table']}",
        "columns": listed(wanted["columns"]),
        "header": listed(wanted["headers"]),
        "format": listed(wanted["format"]),
    }
    lines = [f":{key}: {value}" for key, value in options.items()]
    first = f":::{{result-table}} ::{known['table']}"
    return "\n".join([first, *lines, wanted["caption"], ":::"])


def listed(parts: Iterable[str]) -> str:
    """Return the parts of an option; one that holds a comma is in quotes."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(parts)
    # what begins with a quote is read as quoted to its end
    text = stream.getvalue()
    return json.dumps(text, ensure_ascii=False) if text.startswith('"') else text


def in_the_book(cell: Cell) -> Cell:
    """Return a cell without the times of its run, its links as the book writes them."""
    known = {key: one for key, one in cell["metadata"].items() if key != "papermill"}
    text = cell["source"]
    if cell["cell_type"] == "markdown":
        text = LINK.sub(reference, text)
    return {**cell, "metadata": known, "source": text}


def reference(link: re.Match[str]) -> str:
    """Return a link as the book resolves it, and complains where it leads nowhere."""
    words, target = link[1].replace("`", ""), link[2]
    if target.startswith("#"):
        kind = "prf:ref" if target[1:].split("-")[0] in STATEMENTS else "ref"
        return f"{{{kind}}}`{words} <{target[1:]}>`"
    place = target.replace("../../book/", "../../").rpartition(".")[0]
    return f"{{doc}}`{words} <{place}>`"


def told(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has written into an output."""
    return dict(output.get("metadata", {}).get("dpbayes", {}))


def markdown(identifier: str, *lines: str) -> Cell:
    """Return a Markdown cell."""
    text = "\n".join(lines)
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": text}


def shown(output: Mapping[str, Any], figure: Mapping[str, Any]) -> Cell:
    """Return a cell that shows one output, with the caption, label and words of a
    figure.
    """
    metadata: dict[str, Any] = {"tags": ["remove-input"]}
    if figure:
        drawn = {"name": figure["label"], "caption": figure["caption"]}
        metadata["mystnb"] = {"figure": drawn, "image": {"alt": figure["alt"]}}
    data = {k: v for k, v in output.get("data", {}).items() if k != "text/html"}
    drawing = {"data": data} if figure else {}  # pages give it words of their own
    return {
        "cell_type": "code", "id": figure.get("label", "the-table"),
        "source": "# shown",
        "execution_count": None, "metadata": metadata,
        "outputs": [{**output, **drawing}],
    }  # fmt: skip


def rerun_page(folder: Path, name: str, own: Mapping[str, Parameter]) -> str:
    """Return a rerun as one HTML file, beside the notebook's `own` values and the
    reference.
    """
    nbconvert: Any = importlib.import_module("nbconvert")
    notebook: Any = importlib.import_module("nbformat").from_dict
    executed = load(folder / run.executed(name))
    numbers = read_json(folder / "numbers.json")
    book = read_json(CARRIED / "reference" / f"{name}.json").get("numbers", {})
    here = used(executed)
    beside = [
        (one.name, own[one.name].default if book else None, one.default) for one in here
    ]
    beside += [(key, book.get(key), one) for key, one in numbers.items()]
    parts = taken_apart(executed)
    claims = [f"{one} *({given})*" if given else one for one, given in parts.claims]
    resources = {
        "name": name, "claims": claims, "checks": parts.checks, "book": book,
        "beside": beside,
        "style": (HERE / "rerun.css").read_text(encoding="utf-8"),
        "typesetter": (CARRIED / "mathjax" / "tex-svg.js").read_text(encoding="utf-8"),
    }  # fmt: skip
    filters = {"plain": plain_markdown, "number": number}
    place = {"extra_template_paths": [str(HERE)], "template_file": "rerun.html.j2"}
    exporter = nbconvert.HTMLExporter(**place, filters=filters)
    cells = [
        *parts.title, markdown("claims"), *parts.result, *parts.why, *parts.limits,
        markdown("beside"), markdown("fold"), *parts.way, markdown("checks"),
    ]  # fmt: skip
    return str(
        exporter.from_notebook_node(notebook({**executed, "cells": cells}), resources)[
            0
        ]
    )


def plain_markdown(text: str) -> str:
    """Return the Markdown of a notebook without links that only the book can follow."""
    return LINK.sub(r"\1", text)


def number(value: Any) -> str:
    """Return a parameter or a number for the table of a rerun, a dash for none."""
    text = (
        f"{value:.6g}"
        if isinstance(value, float)
        else json.dumps(value, ensure_ascii=False)
    )
    return "–" if value is None else typeset(text)
