"""Throw-away notebooks that need no numpy, for tests of the machinery around notebooks."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

PARAMETERS = "n: int = 3  # records, at least 1\nlabel: str = 'a'  # a word"
RECORD = (
    "from dpbayes.press import record as results\n"
    "record = results.record({name!r}, parameters={{'n': n}})\n"
    "record.number('double', 2 * n)\n"
    "record.table('squares', {{'i': list(range(n)), 'square': [i * i / 3 for i in range(n)]}})"
)


def code(source: str, *tags: str, **metadata: Any) -> dict[str, Any]:
    """Return a code cell."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"cell-{abs(hash(source)) % 10**8}",
        "metadata": {**({"tags": list(tags)} if tags else {}), **metadata},
        "outputs": [],
        "source": source,
    }


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    title = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# What is twice n?"}
    return {
        "cells": [title, *cells],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_tiny(folder: Path, name: str, *extra: str) -> Path:
    """Write a notebook that records twice its n, with extra cells after that."""
    cells = [
        code(PARAMETERS, "parameters", "remove-cell"),
        code(RECORD.format(name=name)),
        *(code(source) for source in extra),
    ]
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook(*cells)), encoding="utf-8")
    return path


def built(project: Path) -> dict[str, str]:
    """Build the results of a book; return the notebooks that ran, each with the reason."""
    from dpbook.build import build_results  # the path to it is set by pytest

    return build_results(project, project / "book")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def number_of(project: Path) -> int:
    """Return the number that the tiny notebook of a built book has recorded."""
    path = project / "book/results/part/tiny/numbers.json"
    return int(json.loads(path.read_text())["double"])


def rows_of(checkout: Path) -> list[dict[str, str]]:
    """Return the rows of the table of a sweep."""
    with (checkout / "sweep/part/tiny.csv").open() as file:
        return list(csv.DictReader(file))
