"""From an executed notebook to the page a reader sees: parameters box, alternative text, downloads.

An executed notebook and its results are published together below one folder: ``<name>.ipynb``
beside the folder ``<name>/`` with the files that were recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbayes.press.parameters import Parameter
from dpbayes.press.record import write_atomically

KINDS = {
    ".csv": "table",
    ".svg": "figure",
    ".png": "figure as pixels",
    "numbers.json": "numbers quoted on the pages",
    "findings.json": "what came out, in sentences",
    "provenance.json": "how it was made",
}


def page(
    executed: Mapping[str, Any],
    name: str,
    values: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
    files: list[str],
) -> dict[str, Any]:
    """Return the executed notebook with parameters box, alternative texts and download links."""
    cells: list[dict[str, Any]] = []
    for cell in executed["cells"]:
        cells.append(without_findings(with_figure(cell)))
        if "injected-parameters" in cell["metadata"].get("tags", []):
            cells[-1] = with_tag(cells[-1], "remove-cell")
            cells.append(markdown("parameters-box", parameters_box(name, values, parameters)))
        cells += finding_boxes(cell)
    cells.append(markdown("downloads", downloads(name, files)))
    return {**executed, "cells": cells}


def with_tag(cell: Mapping[str, Any], tag: str) -> dict[str, Any]:
    """Return the cell with one tag more."""
    tags = [*cell["metadata"].get("tags", []), tag]
    return {**cell, "metadata": {**cell["metadata"], "tags": tags}}


def with_figure(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cell with the alternative text, caption and label its figure was recorded with."""
    mystnb = dict(cell["metadata"].get("mystnb", {}))
    outputs = [one for one in cell.get("outputs", []) if "caption-of" not in told(one)]
    for output in outputs:
        alt = output.get("metadata", {}).get("image/svg+xml", {}).get("alt")
        if alt:
            mystnb["image"] = {**mystnb.get("image", {}), "alt": alt}
        if "figure" in told(output):
            figure = told(output)["figure"]
            recorded = {"name": figure["label"], **mystnb.get("figure", {})}
            mystnb["figure"] = {**recorded, "caption": figure["caption"]}
    if not mystnb:
        return dict(cell)
    return {**cell, "outputs": outputs, "metadata": {**cell["metadata"], "mystnb": mystnb}}


def told(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has written into an output for the press."""
    return dict(output.get("metadata", {}).get("dpbayes", {}))


def without_findings(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cell without the outputs that stand as boxes below it."""
    if not any("finding" in told(output) for output in cell.get("outputs", [])):
        return dict(cell)
    return {**cell, "outputs": [one for one in cell["outputs"] if "finding" not in told(one)]}


def finding_boxes(cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a cell as Markdown cells, so that the page sets their mathematics."""
    found = [told(one)["finding"] for one in cell.get("outputs", []) if "finding" in told(one)]
    return [
        markdown(
            f"finding-{one['name']}",
            f":::{{admonition}} Finding\n:class: finding\n{one['sentence']}\n:::",
        )
        for one in found
    ]


def markdown(identifier: str, text: str) -> dict[str, Any]:
    """Return a Markdown cell."""
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": text}


def parameters_box(
    name: str, values: Mapping[str, Any], parameters: Mapping[str, Parameter]
) -> str:
    """Return the box that lists the parameters of this run and says how to choose others."""
    rows = [
        f"| `{key}` | `{json.dumps(value)}` | {_escaped(parameters[key].meaning)} |"
        for key, value in values.items()
    ]
    first = next(iter(values), None)
    example = f" -p {first}={_as_argument(values[first])}" if first else ""
    return "\n".join(
        [
            ":::{admonition} Parameters of this run",
            ":class: parameters",
            "| name | value | what it is |",
            "| :-- | :-- | :-- |",
            *rows,
            "",
            f"Run it with others: `dpbayes run notebooks/{name}.ipynb{example}`",
            ":::",
        ]
    )


def downloads(name: str, files: list[str]) -> str:
    """Return the box of download links: the notebook and every file it recorded."""
    stem = name.rsplit("/", 1)[-1]
    lines = [f"- {{download}}`{stem}.ipynb <{stem}.ipynb>`: this page as an executed notebook"]
    for file in sorted(files):
        kind = KINDS.get(file) or KINDS.get(Path(file).suffix, "file")
        lines.append(f"- {{download}}`{file} <{stem}/{file}>`: {kind}")
    return "\n".join([":::{admonition} Files of this result", ":class: downloads", *lines, ":::"])


def publish(
    stage: Path,
    root: Path,
    name: str,
    values: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
) -> list[Path]:
    """Bring a finished stage to ``root`` and return the files; equal files are left as they are."""
    recorded = stage / "results" / name
    files = {path.name: path.read_bytes() for path in sorted(recorded.glob("*"))}
    executed = json.loads((stage / "notebook.ipynb").read_text(encoding="utf-8"))
    made = page(executed, name, values, parameters, list(files))
    wanted = {root / name / file: content for file, content in files.items()}
    wanted[root / f"{name}.ipynb"] = notebook_bytes(made)
    for path, content in wanted.items():
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
    for path in (root / name).glob("*"):
        if path not in wanted:
            path.unlink()
    return list(wanted)


def notebook_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Return the one way a notebook is written: sorted keys, one blank of indent, UTF-8."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    return (text + "\n").encode()


def _escaped(text: str) -> str:
    """Return text that is safe in a cell of a Markdown table."""
    for character in ("\\", "|", "*", "_", "$", "<", "[", "`", "{"):
        text = text.replace(character, "\\" + character)
    return text


def _as_argument(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"'{text}'" if set(text) & set(" []") else text
