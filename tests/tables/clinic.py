"""A small table, its plan and its account, for the tests of releases."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dpbayes.tables.opening import create_account
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.published import SCHEMA
from dpbayes.tables.release import PaidRelease, release_table
from dpbayes.tables.units import RECORD

COUNTS = {"good": 40, "fair": 25, "poor": 5}
OF_NOBODY = """dataset = "clinic"
account = "clinic.account"
column = "health"
categories = ["good", "fair", "poor"]
epsilon = "0.5"
"""
PLAN = OF_NOBODY + 'unit = "record"\n'


def stored(labels: list[str], **given: Any) -> dict[str, Any]:
    """Return what `release.json` holds of a release by lattice noise at 0.5."""
    k = len(labels)
    found: dict[str, Any] = {
        "schema": SCHEMA, "dataset": "clinic", "request": "r", "columns": ["health"],
        "cells": [label.split(", ") for label in labels], "labels": labels,
        "prior": [1.0] * k, "prior_stated": False, "posterior": [1.0] * k,
        "mechanism": {"name": "lattice", "epsilon": "1/2", "options": {}},
        "noise": {"law": "geometric", "scale": 4.0, "standard_deviation": 5.0},
        "epsilon": "0.5", "unit": "one record", "records_of_a_person": 1,
        "design_effect": 1.0, "neighbours": "replace-one", "guarantee": "P[M(x) in S]",
        "meaning": "odds", "cost": "0.5", "balance": "0.5", "bound": "1",
        "receipt": "clinic 1 ab",
    }  # fmt: skip
    found |= given
    return {"records": sum(found["counts"]), **found}


def opened(place: Path) -> Path:
    """Write table and plan, make the account; the variable DPBAYES_KEYS is set
    before."""
    rows = [[label] for label, count in COUNTS.items() for _ in range(count)]
    with (place / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["health"], *rows])
    (place / "plan.toml").write_text(PLAN)
    create_account(
        place / "clinic.account", "clinic", "1.2", place / "people.csv", RECORD
    )
    return place


def planned(folder: Path, text: str) -> Plan:
    """Write a plan and read it."""
    (folder / "plan.toml").write_text(text)
    return read_plan(folder / "plan.toml")


def released(folder: Path, text: str = PLAN) -> PaidRelease:
    """Release the table under a plan."""
    return release_table(folder / "people.csv", planned(folder, text))
