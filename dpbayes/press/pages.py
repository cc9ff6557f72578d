"""From an executed notebook to the page a reader sees: parameters box, alternative text, downloads.

An executed notebook and its results are published together below one folder: ``<name>.ipynb``
beside the folder ``<name>/`` with the files that were recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dpbayes.press.boxes import (
    BookRun,
    differences_box,
    downloads,
    finding_boxes,
    markdown,
    parameters_box,
    run_of,
    told,
)
from dpbayes.press.parameters import Parameter, source_of
from dpbayes.press.record import write_atomically


def page(
    executed: Mapping[str, Any],
    name: str,
    values: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
    files: list[str],
    differences: str = "",
) -> dict[str, Any]:
    """Return the executed notebook with its boxes, alternative texts, captions and links.

    ``differences`` is the box that says how a rerun differs from the book; it stands at the top.
    """
    cells: list[dict[str, Any]] = []
    text = "".join(source_of(one) for one in executed["cells"] if one["cell_type"] == "markdown")
    tables = re.findall(r"\{result-table\} *::([\w-]+)", text)
    for place, cell in enumerate(executed["cells"]):
        if place == 1 and differences:
            cells.append(markdown("differences", differences))
        cells.append(without_findings(with_figure(cell), tables))
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


def without_findings(
    cell: Mapping[str, Any], set_by_the_page: Collection[str] = ()
) -> dict[str, Any]:
    """Return the cell without the outputs that stand as boxes below it, or in the text."""
    if "outputs" not in cell:
        return dict(cell)
    shown = [one for one in cell["outputs"] if not {"finding", "numbers"} & told(one).keys()]
    shown = [one for one in shown if told(one).get("table") not in set_by_the_page]
    return {**cell, "outputs": shown}


def publish(
    stage: Path,
    root: Path,
    name: str,
    values: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
    book: BookRun | None = None,
) -> list[Path]:
    """Bring a finished stage to ``root`` and return the files; equal files are left as they are.

    A rerun is compared with ``book``, the book's own run, and says at the top how it differs.
    """
    recorded = stage / "results" / name
    files = {path.name: path.read_bytes() for path in sorted(recorded.glob("*"))}
    executed = json.loads((stage / "notebook.ipynb").read_text(encoding="utf-8"))
    differences = differences_box(book, run_of(recorded, values)) if book else ""
    made = page(executed, name, values, parameters, list(files), differences)
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
