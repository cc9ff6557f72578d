"""Leave of notebooks what is committed: no outputs, no counts, nothing of a session.

``make strip`` does it for all notebooks and tells git to do it for each that is added
(`.gitattributes` names the filter). Without arguments the notebook is read from the
standard input and written to the standard output, as a filter of git.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def stripped(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook as it is committed."""
    cells = []
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            continue  # which papermill added
        code = {"execution_count": None, "outputs": []}
        cells.append(
            {
                **cell,
                "metadata": {"tags": tags} if tags else {},
                **(code if cell["cell_type"] == "code" else {}),
            }
        )
    known = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return {**notebook, "cells": cells, "metadata": known}


def text(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook: the same whoever wrote it."""
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(paths: list[str]) -> None:
    """Strip files, or the standard input."""
    if not paths:
        source = sys.stdin.buffer.read().decode()
        sys.stdout.buffer.write(text(stripped(json.loads(source))).encode())
    for path in map(Path, paths):
        before = path.read_text(encoding="utf-8")
        after = text(stripped(json.loads(before)))
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
