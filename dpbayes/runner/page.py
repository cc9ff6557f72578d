"""An executed notebook as a reader sees it, in the book and after a rerun: what came
out first.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import typeset, without_roles
from dpbayes.record import read_json
from dpbayes.runner.notebooks import CARRIED, Parameter, declared, tags
from dpbayes.runner.run import EXECUTED

TABLE = re.compile(
    r"^(:{3,})\{result-table\} *::([\w-]+)\n.*?^\1\n?", re.MULTILINE | re.DOTALL
)
FENCE = re.compile(
    r"^(?::{3,}|`{3,})(?:\{[\w-]+\}.*)?$\n?(?:^:[\w-]+:.*$\n?)*", re.MULTILINE
)
QUOTE = re.compile(r"\{result\}`::([\w-]+):([^`]+)`")
HERE = Path(__file__).parent
Cell = dict[str, Any]


def page(executed: Mapping[str, Any], name: str, files: list[str]) -> Cell:
    """Return the notebook of a result's page in the book: claims, result, the way
    there, files.
    """
    text = "\n".join(
        one["source"] for one in executed["cells"] if one["cell_type"] == "markdown"
    )
    claims, results, rest = taken_apart(
        executed, [one[2] for one in TABLE.finditer(text)]
    )
    box = [
        ":::{admonition} What comes out",
        ":class: claims",
        *(f"- {c}" for c in claims),
        ":::",
    ]
    head = [markdown("claims", *box)] if claims else []
    known = declared(executed).values()
    rows = [
        f"| `{one.name}` | `{json.dumps(one.default)}` | {one.meaning} |"
        for one in known
    ]
    table = (
        ["| name | value | what it is |", "| :-- | :-- | :-- |", *rows] if rows else []
    )
    proposed = [*re.findall(r"`(-p [^`]+)`", text), ""][0]
    command = shlex.join(
        ["dpbayes", "run", name, *shlex.split(proposed), "--output", "rerun"]
    )
    stem = name.rpartition("/")[2]
    linked = ", ".join(
        f"{{download}}`{file} <{stem}/{file}>`" for file in sorted(files)
    )
    below = ["", "```text", command, "```", "", f"Files: {linked}."]
    again = markdown("again", "## Run it again", *table, *below)
    return {**executed, "cells": [*rest[:1], *head, *results, *rest[1:], again]}


def taken_apart(
    executed: Mapping[str, Any], placed: Collection[str] = ()
) -> tuple[list[str], list[Cell], list[Cell]]:
    """Return the claims, a cell for the first figure or else table, and the cells
    without both.

    Further figures follow the cell that drew them; a table that the text has `placed`
    stands there.
    """
    claims: list[str] = []
    results: list[Cell] = []
    rest: list[Cell] = []
    for cell in executed["cells"]:
        kept: list[Any] = []
        further: list[Cell] = []
        for one in cell.get("outputs", []):
            known = told(one)
            if "claim" in known:
                claims.append(known["claim"])
            elif "figure" in known:
                (further if results else results).append(shown(one, known["figure"]))
            elif "caption-of" not in known and known.get("table") not in placed:
                kept.append(one)
        if cell["cell_type"] == "markdown":
            rest.append(dict(cell))
        elif "parameters" not in " ".join(tags(cell)):
            hidden = {**cell["metadata"], "tags": [*tags(cell), "hide-input"]}
            rest += [{**cell, "outputs": kept, "metadata": hidden}, *further]
    for cell in rest if not results else ():
        directive = TABLE.search(cell["source"]) if placed else None
        tables = [one for one in cell.get("outputs", []) if "table" in told(one)]
        if directive and cell["cell_type"] == "markdown":
            cell["source"] = cell["source"].replace(directive[0], "")
            return claims, [markdown("the-table", directive[0])], rest
        if tables:
            cell["outputs"].remove(tables[0])
            return claims, [shown(tables[0], {})], rest
    return claims, results, rest


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
    return {
        "cell_type": "code", "id": figure.get("label", "the-table"), "source": "# shown",
        "execution_count": None, "metadata": metadata, "outputs": [dict(output)],
    }  # fmt: skip


def rerun_page(folder: Path, name: str, own: Mapping[str, Parameter]) -> str:
    """Return a rerun as one HTML file, beside the notebook's `own` values and the
    reference.
    """
    nbconvert: Any = importlib.import_module("nbconvert")
    notebook: Any = importlib.import_module("nbformat").from_dict
    executed, numbers = read_json(folder / EXECUTED), read_json(folder / "numbers.json")
    book = read_json(CARRIED / "reference" / f"{name}.json").get("numbers", {})
    here = declared(executed).values()
    beside = [
        (one.name, own[one.name].default if book else None, one.default) for one in here
    ]
    beside += [(key, book.get(key), one) for key, one in numbers.items()]
    claims, results, rest = taken_apart(executed)
    resources = {
        "name": name, "claims": claims, "book": book, "beside": beside,
        "style": (HERE / "rerun.css").read_text(encoding="utf-8"),
        "typesetter": (CARRIED / "mathjax" / "tex-svg.js").read_text(encoding="utf-8"),
    }  # fmt: skip
    filters = {"plain": lambda text: plain_markdown(text, numbers), "number": number}
    place = {"extra_template_paths": [str(HERE)], "template_file": "rerun.html.j2"}
    exporter = nbconvert.HTMLExporter(**place, filters=filters)
    cells = [*rest[:1], markdown("claims"), *results, markdown("beside"), *rest[1:]]
    return str(
        exporter.from_notebook_node(notebook({**executed, "cells": cells}), resources)[
            0
        ]
    )


def plain_markdown(text: str, numbers: Mapping[str, float]) -> str:
    """Return the Markdown of a notebook without what only the book knows."""

    def quoted(found: re.Match[str]) -> str:
        return (
            typeset(format(numbers[found[1]], found[2]))
            if found[1] in numbers
            else found[0]
        )

    return without_roles(FENCE.sub("", QUOTE.sub(quoted, TABLE.sub("", text))))


def number(value: Any) -> str:
    """Return a parameter or a number for the table of a rerun, a dash for none."""
    text = (
        f"{value:.6g}"
        if isinstance(value, float)
        else json.dumps(value, ensure_ascii=False)
    )
    return "–" if value is None else typeset(text)
