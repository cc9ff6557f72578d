"""Rows of a table of times that stay when only some of its benchmarks are run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path


def keep(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    key: int,
    whole: bool,
) -> None:
    """Write `rows` beside those that are there; the first `key` entries say which is
    which.

    A row that was timed again takes the place of the old one, and a new one comes last.
    After a whole run only its own rows are left.
    """
    table = {} if whole else {row[:key]: row for row in read(path, columns)}
    for row in rows:
        text = tuple(str(entry) for entry in row)
        table[text[:key]] = text
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([columns, *table.values()])


def read(path: Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows that are there, none where the columns are others."""
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    return [tuple(row) for row in rows] if tuple(head) == tuple(columns) else []
