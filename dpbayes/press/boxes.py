"""The boxes of a page: parameters, findings, downloads, and how a rerun differs from the book."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbayes.press.parameters import Parameter, check, check_together
from dpbayes.press.quotes import formatted

KINDS = {
    ".csv": "table",
    ".svg": "figure",
    ".narrow.svg": "figure for a narrow screen",
    ".png": "figure as pixels",
    "numbers.json": "numbers quoted on the pages",
    "findings.json": "what came out, in sentences",
    "provenance.json": "how it was made",
}


def markdown(identifier: str, text: str) -> dict[str, Any]:
    """Return a Markdown cell."""
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": text}


def told(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has written into an output for the press."""
    return dict(output.get("metadata", {}).get("dpbayes", {}))


def finding_boxes(cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a cell as Markdown cells, so that the page sets their mathematics."""
    found = [told(one)["finding"] for one in cell.get("outputs", []) if "finding" in told(one)]
    return [
        markdown(
            f"said-{one['name']}",
            f":::{{admonition}} Finding\n:class: finding finding-{one['name']}\n"
            f"{one['sentence']}\n:::",
        )
        for one in found
    ]


def parameters_box(
    name: str, values: Mapping[str, Any], parameters: Mapping[str, Parameter]
) -> str:
    """Return the box that lists the parameters of this run and says how to choose others."""
    rows = [
        f"| `{key}` | {code_span(json.dumps(value, ensure_ascii=False))} "
        f"| {_escaped(parameters[key].meaning)} |"
        for key, value in values.items()
    ]
    return "\n".join(
        [
            ":::{admonition} Parameters of this run",
            ":class: parameters",
            "| name | value | what it is |",
            "| :-- | :-- | :-- |",
            *rows,
            "",
            "Run it with others, for example:",
            "",
            "```text",
            example(name, values, parameters),
            "```",
            "",
            f"The page comes out as `rerun/{name}.html`, its tables and figures in the folder "
            f"`rerun/{name}`. It says at its top how it differs from the book, number by number.",
            ":::",
        ]
    )


def example(name: str, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str:
    """Return a command that runs the notebook with one value changed, into a folder of its own."""
    changed = next(allowed_changes(values, parameters), None)
    words = ["-p", f"{changed[0]}={_as_argument(changed[1])}"] if changed else []
    return shlex.join(["dpbayes", "run", name, *words, "--output", "rerun"])


def allowed_changes(
    values: Mapping[str, Any], parameters: Mapping[str, Parameter]
) -> Iterator[tuple[str, Any]]:
    """Return single changes of the values that the notebook allows."""
    for key, value in values.items():
        for other in others(value, parameters[key]):
            try:
                check(parameters[key], other)
                check_together(parameters, {**values, key: other})
            except (ValueError, TypeError):
                continue
            yield key, other


def others(value: Any, parameter: Parameter) -> list[Any]:
    """Return values that a reader might try instead of this one."""
    if parameter.choices and isinstance(value, str):
        return [choice for choice in parameter.choices if choice != value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return []
    steps = [value + 1, value - 1] if isinstance(value, int) else []
    return [
        one for one in (2 * value, value / 2, *steps) if type(one) is type(value) and one != value
    ]


@dataclass(frozen=True)
class BookRun:
    """What a run was given and what it recorded; ``numbers`` is None where that is not known."""

    parameters: Mapping[str, Any]
    numbers: Mapping[str, float] | None = None
    sentences: Mapping[str, str] | None = None


def run_of(folder: Path, parameters: Mapping[str, Any]) -> BookRun:
    """Return what a run recorded in a folder; nothing is known of a folder that is not there."""
    if not (folder / "provenance.json").is_file():
        return BookRun(parameters)
    findings = {name: one["sentence"] for name, one in _read(folder / "findings.json").items()}
    return BookRun(parameters, _read(folder / "numbers.json"), findings)


def book_run(folder: Path, defaults: Mapping[str, Any]) -> BookRun:
    """Return the book's own run from its results, or its parameters where it is not built."""
    given = _read(folder / "provenance.json").get("parameters", {})
    return run_of(folder, {name: given.get(name, value) for name, value in defaults.items()})


def differences_box(book: BookRun, here: BookRun) -> str:
    """Return the box that says how this run differs from the book; nothing where it does not."""
    rows = [
        f"| `{name}` | {code_span(json.dumps(value, ensure_ascii=False))} "
        f"| {code_span(json.dumps(here.parameters[name], ensure_ascii=False))} |"
        for name, value in book.parameters.items()
        if here.parameters[name] != value
    ]
    rows += [
        f"| {name} | {_number((book.numbers or {}).get(name))} "
        f"| {_number((here.numbers or {}).get(name))} |"
        for name in {**(book.numbers or {}), **(here.numbers or {})}
        if book.numbers is not None
        and (book.numbers or {}).get(name) != (here.numbers or {}).get(name)
    ]
    was, now = book.sentences or {}, here.sentences or {}
    sentences = [
        f"- Finding *{name}*. Book: {was[name]} Here: {now[name]}"
        for name in was.keys() & now.keys()
        if was[name] != now[name]
    ]
    if not rows and not sentences:
        return ""
    known = [] if book.numbers is not None else ["", "The book's numbers are not at hand here."]
    head = ["| | book | here |", "| :-- | :-- | :-- |", *rows] if rows else []
    title = ":::{admonition} This run differs from the book"
    return "\n".join(
        [title, ":class: important differences", *head, *known, "", *sorted(sentences), ":::"]
    )


def code_span(text: str) -> str:
    """Return text as code in a cell of a Markdown table, whatever characters it has.

    >>> print(code_span("a`b|c"))
    `` a`b\\|c ``
    """
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (max(runs, default=0) + 1)
    blank = " " if runs else ""
    return f"{fence}{blank}{text}{blank}{fence}".replace("|", "\\|")


def _number(value: float | None) -> str:
    return "–" if value is None else formatted(value, "d" if isinstance(value, int) else ".6g")


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def downloads(name: str, files: list[str]) -> str:
    """Return the box of download links: the notebook and every file it recorded."""
    stem = name.rsplit("/", 1)[-1]
    lines = [f"- {{download}}`{stem}.ipynb <{stem}.ipynb>`: this page as an executed notebook"]
    for file in sorted(files):
        kind = KINDS.get(file) or KINDS.get("".join(Path(file).suffixes), "file")
        lines.append(f"- {{download}}`{file} <{stem}/{file}>`: {kind}")
    return "\n".join([":::{admonition} Files of this result", ":class: downloads", *lines, ":::"])


def _escaped(text: str) -> str:
    """Return text that is safe in a cell of a Markdown table."""
    for character in ("\\", "|", "*", "_", "$", "<", "[", "`", "{"):
        text = text.replace(character, "\\" + character)
    return text


def _as_argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
