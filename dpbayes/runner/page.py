"""An executed notebook as a reader sees it: what came out first, then how.

The page of the book and the page of a rerun are put together alike. For the book it stays a
notebook, which Sphinx reads; for a rerun nbconvert makes one HTML file of it.
"""

from __future__ import annotations

import html
import importlib
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbayes.record import html_text, typeset, without_roles
from dpbayes.runner.notebooks import tags
from dpbayes.runner.parameters import Parameter, check
from dpbayes.runner.run import EXECUTED
from dpbayes.runner.verify import read_json

TABLE = re.compile(r"^(:{3,})\{result-table\} *::([\w-]+)\n.*?^\1\n?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(?::{3,}|`{3,})(?:\{[\w-]+\}.*)?$\n?(?:^:[\w-]+:.*$\n?)*", re.MULTILINE)
QUOTE = re.compile(r"\{result\}`::([\w-]+):([^`]+)`")
TEMPLATE = """{%- extends 'basic/index.html.j2' -%}
{%- block input -%}<details><summary>Code</summary>{{ super() }}</details>{%- endblock -%}
{%- block in_prompt -%}{%- endblock -%}{%- block output_prompt -%}{%- endblock -%}"""


def told(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has written into an output."""
    return dict(output.get("metadata", {}).get("dpbayes", {}))


def markdown(identifier: str, text: str) -> dict[str, Any]:
    """Return a Markdown cell."""
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
    tables = [found[2] for found in TABLE.finditer(text)]
    claims, results, rest = taken_apart(executed, tables)
    for cell in rest:
        found = TABLE.search(cell["source"]) if cell["cell_type"] == "markdown" else None
        if found and not results:
            cell["source"] = cell["source"].replace(found[0], "")
            results = [markdown("the-table", found[0])]
    said = [f"- {mark} {sentence}" for mark, sentence in claims]
    box = [":::{admonition} What comes out", ":class: claims", *said, ":::"]
    head = [markdown("claims", "\n".join(box))] if claims else []
    again = f"```text\n{example(name, values, parameters)}\n```"
    return {
        **executed,
        "cells": [
            *rest[:1], *head, *results, *rest[1:],
            markdown("again", "\n".join(["## Run it again", *parameter_rows(values, parameters), "",
                                         again, "", *links(name, files)])),
        ],
    }  # fmt: skip


def taken_apart(
    executed: Mapping[str, Any], set_by_the_page: list[str]
) -> tuple[list[tuple[str, str]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the claims, a cell for the first figure, and the cells without both.

    Where there is no figure with a caption, the first table that the page does not set counts as
    one. Further figures have a cell of their own behind the one that drew them.
    """
    claims: list[tuple[str, str]] = []
    results: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for cell in executed["cells"]:
        kept: list[Any] = []
        further: list[dict[str, Any]] = []
        for one in cell.get("outputs", []):
            known = told(one)
            if "claim" in known:
                mark = "✓" if known["claim"]["holds"] else "✗ Does not hold with these parameters:"
                claims.append((mark, known["claim"]["sentence"]))
            elif "figure" in known:
                (further if results else results).append(shown(one, known["figure"]))
            elif not ("caption-of" in known or known.get("table") in set_by_the_page):
                kept.append(one)
        if "parameters" not in " ".join(tags(cell)):
            hidden = {**cell["metadata"], "tags": [*tags(cell), "hide-input"]}
            output = {"outputs": kept, "metadata": hidden} if cell["cell_type"] == "code" else {}
            rest += [{**cell, **output}, *further]
    for cell in rest if not results else ():
        found = [one for one in cell.get("outputs", []) if "table" in told(one)]
        if found:
            cell["outputs"] = [one for one in cell["outputs"] if one is not found[0]]
            return claims, [shown(found[0], {})], rest
    return claims, results, rest


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


def parameter_rows(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the table of the parameters of this run."""
    rows = [
        f"| `{name}` | {_code(value)} | {_escaped(parameters[name].meaning)} |"
        for name, value in values.items()
    ]
    return ["| name | value | what it is |", "| :-- | :-- | :-- |", *rows] if rows else []


def example(name: str, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str:
    """Return a command that runs the notebook with one value changed, into a folder of its own."""
    words = ["dpbayes", "run", name]
    for key, value in values.items():
        choices = parameters[key].choices if isinstance(value, str) else []
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        for other in [*choices, *([2 * value, value // 2, value / 2] if plain else [])]:
            try:
                if other == value or type(check(parameters[key], other)) is not type(value):
                    continue
            except (ValueError, TypeError):
                continue
            return shlex.join([*words, "-p", f"{key}={other}", "--output", "rerun"])
    return shlex.join([*words, "--output", "rerun"])


def links(name: str, files: list[str]) -> list[str]:
    """Return the links to the files of a result."""
    stem = name.rpartition("/")[2]
    found = [f"{{download}}`{file} <{stem}/{file}>`" for file in sorted(files)]
    return [f"Files: {', '.join(found)}."]


def rerun_page(
    folder: Path, name: str, values: Mapping[str, Any], book: Mapping[str, Any] | None
) -> str:
    """Return a rerun as one HTML file: what came out, the book's numbers beside it, the way there.

    `book` has the book's ``parameters`` and ``numbers``, where they are at hand.
    """
    exporters: Any = importlib.import_module("nbconvert")
    jinja: Any = importlib.import_module("jinja2")
    node: Any = importlib.import_module("nbformat").from_dict
    executed = json.loads((folder / EXECUTED).read_text(encoding="utf-8"))
    here = read_json(folder / "numbers.json")
    claims, results, rest = taken_apart(executed, [])
    for cell in rest:
        if cell["cell_type"] == "markdown":
            cell["source"] = plain_markdown(cell["source"], here)
    words = [f"<p>{mark} {html_text(sentence)}</p>" for mark, sentence in claims]
    box = '<div class="claims">' + "".join(words) + "</div>" if words else ""
    for cell in (*results, *rest):
        figure = cell["metadata"].get("mystnb", {}).get("figure")
        if figure:  # in the page itself, where its words are heard
            drawn = cell["outputs"][0]["data"]["image/svg+xml"]
            words_below = f"<p><em>Figure.</em> {html_text(figure['caption'])}</p>"
            data = {"text/html": drawn[drawn.index("<svg") :] + words_below}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    cells = [
        *rest[:1], markdown("claims", box), *results,
        markdown("differences", beside(values, here, book)), *rest[1:],
    ]  # fmt: skip
    loader = jinja.DictLoader({"rerun.html.j2": TEMPLATE})
    exporter = exporters.HTMLExporter(extra_loaders=[loader], template_file="rerun.html.j2")
    body, _ = exporter.from_notebook_node(node({**executed, "cells": cells}))
    style = Path(__file__).with_name("rerun.css").read_text(encoding="utf-8")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    title = f"{typesetter()}<title>{html.escape(name)}</title><style>{style}</style>"
    return f'<!DOCTYPE html><html lang="en"><head>{head}{title}</head><body>{body}</body></html>'


def beside(
    values: Mapping[str, Any], here: Mapping[str, float], book: Mapping[str, Any] | None
) -> str:
    """Return the parameters and every number of a run beside the book's; what differs is marked."""
    known = book or {}
    pairs = [(f"`{key}`", known.get("parameters", {}).get(key), one) for key, one in values.items()]
    pairs += [(key, known.get("numbers", {}).get(key), one) for key, one in here.items()]
    rows = [
        f'| {name} | {_number(there)} | <span class="changed">{_number(one)}</span> |'
        if there is not None and there != one
        else f"| {name} | {_number(there)} | {_number(one)} |"
        for name, there, one in pairs
    ]
    missing = [] if book else ["The book's numbers are not at hand here.", ""]
    head = ["## This run beside the book", "", *missing, "| | book | here |", "| :-- | --: | --: |"]
    return "\n".join([*head, *rows])


def plain_markdown(text: str, numbers: Mapping[str, float]) -> str:
    """Return the Markdown of a notebook without what only the book knows."""

    def number(found: re.Match[str]) -> str:
        value = numbers.get(found[1])
        return found[0] if value is None else typeset(format(value, found[2]))

    return without_roles(FENCE.sub("", QUOTE.sub(number, TABLE.sub("", text))))


def typesetter() -> str:
    """Return the book's typesetter of formulas, to stand in a page; nothing where it is not."""
    package = Path(__file__).parents[1]
    for place in (package / "runner", package.parent / "book" / "_extra"):
        script = place / "mathjax" / "tex-svg.js"
        if script.is_file():
            source = script.read_text(encoding="utf-8").replace("</script", "<\\/script")
            options = "MathJax = {tex: {inlineMath: [['$', '$'], ['\\\\(', '\\\\)']]}}"
            return f"<script>{options}</script><script>{source}</script>"
    return ""


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return typeset(f"{value:.6g}") if isinstance(value, float) else _code(value)


def _code(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    blank = " " if len(fence) > 1 else ""
    return f"{fence}{blank}{text}{blank}{fence}".replace("|", "\\|")


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_$<\[`{])", r"\\\1", text)
