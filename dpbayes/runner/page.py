"""An executed notebook as a reader sees it: what came out first, then how.

The page of the book and the page of a rerun are put together alike. For the book it stays a
notebook, which Sphinx reads; for a rerun nbconvert makes one HTML file of it.
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
from dpbayes.record import marked
from dpbayes.runner.notebooks import tags
from dpbayes.runner.parameters import Parameter
from dpbayes.runner.run import EXECUTED
from dpbayes.runner.verify import read_json

TABLE = re.compile(r"^(:{3,})\{result-table\} *::([\w-]+)\n.*?^\1\n?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(?::{3,}|`{3,})(?:\{[\w-]+\}.*)?$\n?(?:^:[\w-]+:.*$\n?)*", re.MULTILINE)
QUOTE = re.compile(r"\{result\}`::([\w-]+):([^`]+)`")
TRY = re.compile(r"`(-p [^`]+)`")
HERE = Path(__file__).parent
MATHJAX = HERE.parent / "carried" / "mathjax" / "tex-svg.js"


def markdown(identifier: str, *lines: str) -> dict[str, Any]:
    """Return a Markdown cell."""
    text = "\n".join(lines)
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": text}


def page(
    executed: Mapping[str, Any],
    name: str,
    values: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
    files: list[str],
) -> dict[str, Any]:
    """Return the notebook of a result's page in the book: claims, result, the way there, files."""
    text = "\n".join(one["source"] for one in executed["cells"] if one["cell_type"] == "markdown")
    placed = [found[2] for found in TABLE.finditer(text)]
    claims, results, rest = taken_apart(executed, placed)
    for cell in rest if not results else ():
        found = TABLE.search(cell["source"]) if cell["cell_type"] == "markdown" else None
        if found:
            cell["source"] = cell["source"].replace(found[0], "")
            results = [markdown("the-table", found[0])]
            break
    box = [":::{admonition} What comes out", ":class: claims", *(f"- {c}" for c in claims), ":::"]
    head = [markdown("claims", *box)] if claims else []
    rows = [
        f"| `{key}` | `{json.dumps(value)}` | {parameters[key].meaning} |"
        for key, value in values.items()
    ]
    table = ["| name | value | what it is |", "| :-- | :-- | :-- |", *rows] if rows else []
    command = shlex.join(["dpbayes", "run", name, *tried(text, values), "--output", "rerun"])
    stem = name.rpartition("/")[2]
    linked = ", ".join(f"{{download}}`{file} <{stem}/{file}>`" for file in sorted(files))
    below = ["", "```text", command, "```", "", f"Files: {linked}."]
    again = markdown("again", "## Run it again", *table, *below)
    return {**executed, "cells": [*rest[:1], *head, *results, *rest[1:], again]}


def tried(text: str, values: Mapping[str, Any]) -> list[str]:
    """Return parameters that change something: those the text proposes, or the first one changed.

    >>> tried("Try `-p epsilon=9`.", {"n": 7}), tried("", {"data": "a", "n": 7})
    (['-p', 'epsilon=9'], ['-p', 'n=3'])
    """
    proposed = TRY.search(text)
    if proposed:
        return shlex.split(proposed[1])
    numbers = {key: one for key, one in values.items() if isinstance(one, (int, float))}
    for key, one in (numbers or values).items():
        if isinstance(one, bool):
            return ["-p", f"{key}={json.dumps(not one)}"]
        if isinstance(one, (int, float)):
            return ["-p", f"{key}={one // 2 if isinstance(one, int) else one / 2}"]
        if isinstance(one, list) and len(one) > 1:
            return ["-p", f"{key}={json.dumps(one[:-1])}"]
    return []


def taken_apart(
    executed: Mapping[str, Any], placed: Collection[str] = ()
) -> tuple[list[str], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the claims, a cell for the first figure, and the cells without both.

    Where there is no figure with a caption, the first table counts as one; those that the page
    itself has `placed` are left out. A further figure has a cell behind the one that drew it.
    """
    claims: list[str] = []
    results: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for cell in executed["cells"]:
        kept: list[Any] = []
        further: list[Any] = []
        for one in cell.get("outputs", []):
            known = told(one)
            if "claim" in known:
                claims.append(marked(known["claim"]))
            elif "figure" in known:
                (further if results else results).append(shown(one, known["figure"]))
            elif not ("caption-of" in known or known.get("table") in placed):
                kept.append(one)
        if cell["cell_type"] == "code" and "parameters" not in " ".join(tags(cell)):
            hidden = {**cell["metadata"], "tags": [*tags(cell), "hide-input"]}
            rest += [{**cell, "outputs": kept, "metadata": hidden}, *further]
        elif cell["cell_type"] == "markdown":
            rest.append(dict(cell))
    tables = [(c, one) for c in rest for one in c.get("outputs", []) if "table" in told(one)]
    if tables and not results:
        cell, table = tables[0]
        cell["outputs"] = [one for one in cell["outputs"] if one is not table]
        results.append(shown(table, {}))
    return claims, results, rest


def told(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has written into an output."""
    return dict(output.get("metadata", {}).get("dpbayes", {}))


def shown(output: Mapping[str, Any], figure: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell that shows one output, with the caption, label and words of a figure."""
    metadata: dict[str, Any] = {"tags": ["remove-input"]}
    if figure:
        drawn = {"name": figure["label"], "caption": figure["caption"]}
        metadata["mystnb"] = {"figure": drawn, "image": {"alt": figure["alt"]}}
    return {
        "cell_type": "code", "id": figure.get("label", "the-table"), "source": "# shown",
        "execution_count": None, "metadata": metadata, "outputs": [dict(output)],
    }  # fmt: skip


def rerun_page(
    folder: Path, name: str, values: Mapping[str, Any], book: Mapping[str, Any] | None
) -> str:
    """Return a rerun as one HTML file: what came out, the book's numbers beside it, the way there.

    `book` has the book's ``parameters`` and ``numbers``, where they are at hand.
    """
    nbconvert: Any = importlib.import_module("nbconvert")
    notebook: Any = importlib.import_module("nbformat").from_dict
    executed, numbers = read_json(folder / EXECUTED), read_json(folder / "numbers.json")
    known = book or {"parameters": {}, "numbers": {}}
    claims, results, rest = taken_apart(executed)
    resources = {
        "name": name, "claims": claims, "book": book,
        "beside": [(key, known["parameters"].get(key), one) for key, one in values.items()]
        + [(key, known["numbers"].get(key), one) for key, one in numbers.items()],
        "style": (HERE / "rerun.css").read_text(encoding="utf-8"),
        "typesetter": MATHJAX.read_text(encoding="utf-8"),
    }  # fmt: skip
    place = {"extra_template_paths": [str(HERE)], "template_file": "rerun.html.j2"}
    exporter = nbconvert.HTMLExporter(**place)
    exporter.register_filter("plain", lambda text: plain_markdown(text, numbers))
    exporter.register_filter("number", shown_number)
    cells = [*rest[:1], markdown("claims"), *results, markdown("beside"), *rest[1:]]
    return str(exporter.from_notebook_node(notebook({**executed, "cells": cells}), resources)[0])


def plain_markdown(text: str, numbers: Mapping[str, float]) -> str:
    """Return the Markdown of a notebook without what only the book knows."""

    def number(found: re.Match[str]) -> str:
        value = numbers.get(found[1])
        return found[0] if value is None else typeset(format(value, found[2]))

    return without_roles(FENCE.sub("", QUOTE.sub(number, TABLE.sub("", text))))


def shown_number(value: Any) -> str:
    """Return a parameter or a number as the table of a rerun shows it.

    >>> shown_number(None), shown_number(-2e-9), shown_number([1, 2])
    ('–', '−2 × 10⁻⁹', '[1, 2]')
    """
    if value is None or isinstance(value, float):
        return "–" if value is None else typeset(f"{value:.6g}")
    return json.dumps(value, ensure_ascii=False)
