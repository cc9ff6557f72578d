"""A notebook's cells run in this process, far quicker than in a kernel of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpbayes.press.opening import ORDER
from dpbayes.press.parameters import chosen, declared, load, source_of


def run_cells(notebook: Path, name: str, values: Mapping[str, Any], folder: Path) -> Path:
    """Run the code cells with checked parameters; return the folder with what was recorded."""
    cells = [cell for cell in load(notebook)["cells"] if cell["cell_type"] == "code"]
    parameters = chosen(name, declared(load(notebook)), values)
    space: dict[str, Any] = {"__name__": "__main__"}
    with ordered(name, parameters, folder):
        for cell in cells:
            exec(compile(source_of(cell), f"{name}[{cell['id']}]", "exec"), space)
            if "parameters" in cell["metadata"].get("tags", []):
                space.update(parameters)
    return folder / name


@contextmanager
def ordered(name: str, parameters: Mapping[str, Any], folder: Path) -> Iterator[None]:
    """Tell the record what the runners of the press tell it."""
    folder.mkdir(parents=True, exist_ok=True)
    order = folder / "order.json"
    order.write_text(json.dumps({"notebook": name, "parameters": dict(parameters)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ORDER, str(order))
        patch.setenv("DPBAYES_RESULTS", str(folder))
        yield


def findings(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what was found, by name; nothing where there is no finding."""
    path = folder / "findings.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
