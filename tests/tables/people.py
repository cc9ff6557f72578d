"""A table of people with an account, as answering and service are tried on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpbayes.tables.account import Account
from dpbayes.tables.answering import Answering
from dpbayes.tables.attributes import Bins, Categories, Cube
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import Unit

ATTRIBUTES = (Bins("income", (0, 10, 20, 30)), Categories("sex", ("f", "m")))
COUNTS = [10, 20, 10, 20, 10, 20]


def written(folder: Path) -> Path:
    """Write the table and return its path."""
    rows = [f"{income},{sex}" for income in range(30) for sex in ("f", "m", "m")]
    table = folder / "people.csv"
    table.write_text("income,sex\n" + "\n".join(rows) + "\n")
    return table


def opened(folder: Path, epsilon: str = "4", unit: Unit | None = None) -> Account:
    """Return the account of the table, made where there is none."""
    path = folder / "people.account"
    if not path.exists():
        table = folder / "people.csv"
        table = table if table.exists() else written(folder)
        create_account(path, "people", epsilon, table, unit or Unit(), "add-or-remove")
    return open_account(path)


def asking(folder: Path, bound: float = 4.0, **others: Any) -> Answering:
    """Return what answers questions about the table, with the account opened anew."""
    account = opened(folder)
    fingerprint = account.check_table(folder / "people.csv")
    return Answering(
        Cube(ATTRIBUTES, np.array(COUNTS)), account, bound, table=fingerprint, **others
    )
