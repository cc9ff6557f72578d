"""An executed notebook as a reader sees it, in the book and after a rerun: what came
out first.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import typeset
from dpbayes.record import read_json
from dpbayes.runner import run
from dpbayes.runner.notebooks import CARRIED, Parameter, declared, load, tags

# A link of a notebook's text to a statement, to another notebook, or to a page.
LINK = re.compile(r"\[([^\[\]]+)\]\((#[\w-]+|[\w./-]+\.(?:ipynb|md))\)")
STATEMENTS = ("thm", "def", "lem", "cor", "prop", "exm", "rem", "alg")
HERE = Path(__file__).parent
Cell = dict[str, Any]


def page(executed: Mapping[str, Any], name: str, files: list[str]) -> Cell:
    """Return the notebook of a result's page in the book: claims, result, the way
    there, files.
    """
    stem = name.rpartition("/")[2]
    claims, results, rest = taken_apart(executed, stem)
    box = [
        ":::{admonition} What comes out",
        ":class: claims",
        *(f"- {c}" for c in claims),
        ":::",
    ]
    head = [markdown("claims", *box)] if claims else []
    rows = [
        f"| `{one.name}` | `{json.dumps(one.default)}` | {one.meaning} |"
        for one in used(executed)
    ]
    table = (
        ["| name | value | what it is |", "| :-- | :-- | :-- |", *rows] if rows else []
    )
    words = ["dpbayes", "run", name]
    for key, text in proposed(executed).items():
        words += ["-p", f"{key}={text}"]
    command = shlex.join([*words, "--output", "rerun"])
    linked = ", ".join(
        f"{{download}}`{file} <{stem}/{file}>`" for file in sorted(files)
    )
    below = ["", "```text", command, "```", "", f"Files: {linked}."]
    again = markdown("again", "## Run it again", *table, *below)
    cells = [*rest[:1], *head, *results, *rest[1:], again]
    known = {k: v for k, v in executed["metadata"].items() if k != "papermill"}
    shown = [in_the_book(cell) for cell in cells]
    return {**executed, "metadata": known, "cells": shown}


def used(executed: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters with the values that a run had, which papermill keeps."""
    given = executed["metadata"].get("papermill", {}).get("parameters", {})
    return [
        replace(one, default=given.get(one.name, one.default))
        for one in declared(executed).values()
    ]


def proposed(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return what the last text says to try, such as ``n = 20``: parameters with values
    that differ from the notebook's own.
    """
    texts = [one["source"] for one in notebook["cells"] if "outputs" not in one]
    text = " ".join(texts[-1].split())
    known, found = declared(notebook), dict[str, str]()
    for name, value in re.findall(r"`(\w+) = ([^`]+)`", text):
        if (
            name in known
            and known[name].parse(value.strip("\"'")) != known[name].default
        ):
            found[name] = value.strip("\"'").replace(", ", ",")
    return found


def taken_apart(
    executed: Mapping[str, Any], stem: str = ""
) -> tuple[list[str], list[Cell], list[Cell]]:
    """Return the claims, a cell for the first figure or else table, and the cells
    without both.

    Further figures and tables with a caption follow the cell that made them. With the
    `stem` of the page in the book such a table is set there, with a number.
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
            elif "set" in known and stem:
                further.append(
                    markdown(f"tab-{known['table']}", directive(stem, known))
                )
            elif "caption-of" not in known:
                kept.append(one)
        if cell["cell_type"] == "markdown":
            rest.append(dict(cell))
        elif "parameters" not in " ".join(tags(cell)):
            hidden = {**cell["metadata"], "tags": [*tags(cell), "hide-input"]}
            rest += [{**cell, "outputs": kept, "metadata": hidden}, *further]
    for cell in rest if not results else ():
        if cell["id"].startswith("tab-"):
            rest.remove(cell)
            return claims, [cell], rest
        tables = [one for one in cell.get("outputs", []) if "table" in told(one)]
        if tables:
            cell["outputs"].remove(tables[0])
            return claims, [shown(tables[0], {})], rest
    return claims, results, rest


def directive(stem: str, known: Mapping[str, Any]) -> str:
    """Return the directive that sets a recorded table with its caption."""
    heads, forms = known["set"]["headers"], known["set"]["format"]
    options = {
        "name": f"tab-{stem}-{known['table']}",
        "columns": listed(heads),
        "header": listed(heads.values()),
        "format": listed(forms.get(label, "s") for label in heads),
    }
    lines = [f":{key}: {value}" for key, value in options.items()]
    first = f":::{{result-table}} ::{known['table']}"
    return "\n".join([first, *lines, known["set"]["caption"], ":::"])


def listed(parts: Iterable[str]) -> str:
    """Return the parts of an option; one that holds a comma is in quotes."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(parts)
    return stream.getvalue()


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
    executed = load(folder / run.executed(name))
    numbers = read_json(folder / "numbers.json")
    book = read_json(CARRIED / "reference" / f"{name}.json").get("numbers", {})
    here = used(executed)
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
    filters = {"plain": plain_markdown, "number": number}
    place = {"extra_template_paths": [str(HERE)], "template_file": "rerun.html.j2"}
    exporter = nbconvert.HTMLExporter(**place, filters=filters)
    cells = [*rest[:1], markdown("claims"), *results, markdown("beside"), *rest[1:]]
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
