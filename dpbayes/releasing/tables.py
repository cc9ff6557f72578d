"""Counting a table of people as its plan declares (`dpbayes.tables.table`)."""

from __future__ import annotations

from pathlib import Path

from dpbayes.releasing.plan import Plan
from dpbayes.tables.attributes import Attribute, Bins, Categories
from dpbayes.tables.table import Counts, Rules, TableError, count
from dpbayes.tables.units import Unit

__all__ = ["TableError", "count_table"]


def count_table(table: str | Path, plan: Plan, show_values: bool = False) -> Counts:
    """Return the counts of the plan's cells, shape (k,), last column fastest."""
    attributes: list[Attribute] = [
        Categories(column.name, column.labels)
        if column.edges is None
        else Bins(column.name, column.edges)
        for column in plan.columns
    ]
    unit = Unit(plan.person, plan.keep)
    rules = Rules(unit, missing=plan.missing, missing_values=plan.missing_values)
    return count(table, attributes, rules, show_values)
