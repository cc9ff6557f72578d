"""Records of long runs that are kept with the package: a table with a row for each dataclass."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")

_KINDS = {"str": str, "int": int, "float": float}
_ORDERED_BY = 3


def read_rows(kind: type[Row], name: str, path: Path | None = None) -> list[Row]:
    """Return the rows of the table `name` that ships with the package, or of the file `path`.

    `kind` is a dataclass whose fields are declared as str, int or float; they name the columns.
    """
    source = files("dpbayes").joinpath("data", name) if path is None else path
    made = {field.name: _KINDS[str(field.type)] for field in fields(kind)}
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    return [kind(**{column: made[column](text) for column, text in row.items()}) for row in rows]


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write the rows, at least one, to `path`, ordered by their first three fields."""
    tables = sorted(map(asdict, rows), key=lambda table: tuple(table.values())[:_ORDERED_BY])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(tables[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(tables)
