"""Notebooks that compute next to nothing, for tests of the machinery around
notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PARAMETERS = "n: int = 3  # records, at least 1\nlabel: str = 'a'  # a word"
RECORD = """from dpbayes import record

record.number("double", 2 * n, given=f"{n} records")
record.table("squares", {"i": list(range(n)), "square": [i * i / 3 for i in range(n)]})
record.claim("few", f"There are {n} records, fewer than 5.", n < 5)"""


def code(source: str, *tags: str) -> dict[str, Any]:
    """Return a code cell."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"cell-{abs(hash(source)) % 10**8}",
        "metadata": {"tags": list(tags)} if tags else {},
        "outputs": [],
        "source": source,
    }


def markdown(source: str) -> dict[str, Any]:
    """Return a cell of text."""
    name = f"text-{abs(hash(source)) % 10**8}"
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [markdown("# What is twice n?"), *cells],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_tiny(
    folder: Path, name: str, *extra: str, before: str = "", parameters: str = PARAMETERS
) -> Path:
    """Write a notebook that records twice its n, with extra cells before and after
    that.
    """
    first = [code(before)] if before else []
    cells = [code(parameters, "parameters", "remove-cell"), *first, code(RECORD)]
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = notebook(*cells, *(code(source) for source in extra))
    path.write_text(json.dumps(made), encoding="utf-8")
    return path
