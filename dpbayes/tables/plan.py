"""A plan: everything about a release that is declared before the table is opened.

A plan is a TOML file of about ten lines::

    dataset = "clinic-2026"
    account = "clinic.account"
    unit = "record"                  # or: person = "id" and, if wanted, keep = 3
    column = "health"
    categories = ["excellent", "good", "fair", "poor", "unknown"]
    missing = "unknown"
    mechanism = "lattice"
    epsilon = "0.5"

Paths are relative to the plan. Nothing in it may be read off the table: categories and their
order, bounds and the treatment of missing values are said first, since each of them would tell
something about the people in the table.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from dpbayes._validate import shown
from dpbayes.mechanisms.guarantees import exact_epsilon, given_epsilon
from dpbayes.tables.attributes import Attribute, Bins, Categories
from dpbayes.tables.files import File, Number, PlanError, Settings, Text, read_file
from dpbayes.tables.keys import NAME, dataset_name
from dpbayes.tables.table import DROP, REFUSE, Rules
from dpbayes.tables.units import RELATIONS, Unit

__all__ = ["Plan", "PlanError", "read_plan"]

MISSING_VALUES = ["", "NA"]
MOST_CELLS = 10_000


class Edges(BaseModel):
    """A numeric column cut at edges."""

    model_config = ConfigDict(extra="forbid", strict=True)

    edges: list[Number]


class _Keys(Settings):
    dataset: Text
    account: Text
    request: str | None = None
    column: Text | None = None
    columns: list[Text] | None = None
    by: Text | None = None
    categories: list[str] | dict[str, list[str] | Edges]
    missing: str = REFUSE
    missing_values: list[str] = MISSING_VALUES
    records: Literal["public", "secret"] = "public"
    mechanism: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    epsilon: str | int | float
    prior: Number | list[Number] = 1.0


@dataclass(frozen=True)
class Plan:
    r"""A checked plan; make one with `read_plan`.

    `attributes` one or two; `by` names the one that splits the report, if any; `rules` say what
    becomes of missing values and who is protected; `records` is "public" or "secret"; `options` of
    the mechanism; `prior` one parameter a cell, shape (k,).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\nunit = "record"\ncolumn = "health"\n'
    ...         'by = "sex"\nepsilon = "0.5"\n'
    ...         '[categories]\nhealth = ["good", "poor"]\nsex = ["f", "m"]\n'
    ...     )
    ...     plan = read_plan(Path(folder) / "plan.toml")
    >>> plan.labels
    ('f, good', 'f, poor', 'm, good', 'm, poor')
    """

    file: File
    dataset: str
    account: Path
    request: str | None
    attributes: tuple[Attribute, ...]
    by: str | None
    rules: Rules
    records: str
    mechanism: str
    options: dict[str, Any]
    epsilon: Fraction
    prior: NDArray[np.float64]

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.rules.unit

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a cell, the last column fastest."""
        return _joined(self.attributes)

    @property
    def neighbours(self) -> str:
        """The relation of the promise: replaced with public n, changed with secret n."""
        return RELATIONS[self.records == "secret"]

    @property
    def epsilon_of_a_record(self) -> Fraction:
        """The epsilon of one record, so that all records of a person have `epsilon` together."""
        return self.epsilon / self.unit.keep

    def statement(self) -> str:
        """Return everything that decides the law of the release, in one line."""
        return repr(
            [self.dataset, self.attributes, self.by, self.rules, self.records, self.mechanism,
             sorted(self.options.items()), str(self.epsilon), self.prior.tolist()]
        )  # fmt: skip

    def request_of(self, fingerprint: str) -> str:
        """Return the request's name: the declared one, or one that follows from plan and table."""
        if self.request is not None:
            return self.request
        return hashlib.sha256(f"{self.statement()}|{fingerprint}".encode()).hexdigest()[:16]


def read_plan(path: str | Path) -> Plan:
    r"""Return the plan in a TOML file, or raise PlanError before anything else is opened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\nunit = "record"\ncolumn = "health"\n'
    ...         'categories = ["good", "fair", "poor"]\nepsilon = "0.5"\n'
    ...     )
    ...     plan = read_plan(Path(folder) / "plan.toml")
    >>> plan.labels, plan.epsilon, plan.mechanism, str(plan.unit)
    (('good', 'fair', 'poor'), Fraction(1, 2), 'lattice', 'one record')
    """
    file = read_file(path)
    keys = file.model(_Keys)
    attributes = _attributes(file, keys)
    if keys.by is not None and len(attributes) != 2:
        raise file.fail("by", "used with column, for one column by another", keys.by)
    if keys.request is not None and not NAME.fullmatch(keys.request):
        raise file.fail("request", "1 to 64 letters, digits, '.', '_' and '-'", keys.request)
    if {"name", "epsilon"} & keys.options.keys():
        raise file.fail("options", "a table without name and epsilon", keys.options)
    rules = Rules(
        file.unit(keys), REFUSE, _missing(file, keys, attributes), tuple(keys.missing_values)
    )
    return Plan(
        file,
        _dataset(file, keys.dataset),
        file.path.parent / keys.account,
        keys.request,
        attributes,
        keys.by,
        rules,
        keys.records,
        keys.mechanism or ("lattice" if keys.records == "public" else "independent"),
        keys.options,
        epsilon_of(file, "epsilon", keys.epsilon),
        _prior(file, keys.prior, math.prod(attribute.size for attribute in attributes)),
    )


def epsilon_of(file: File, key: str, value: Any) -> Fraction:
    """Return an exact epsilon, or raise PlanError with its line."""
    try:
        if isinstance(value, str) and not value.isascii():
            raise ValueError("in another alphabet")
        return exact_epsilon(given_epsilon(value))
    except (ValueError, TypeError):
        raise file.fail(key, "a positive number in the digits 0 to 9", value) from None


def _joined(attributes: Sequence[Attribute]) -> tuple[str, ...]:
    return tuple(", ".join(cell) for cell in product(*(one.labels for one in attributes)))


def _dataset(file: File, value: str) -> str:
    try:
        return dataset_name(value)
    except ValueError:
        allowed = "1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit"
        raise file.fail("dataset", allowed, value) from None


def _attributes(file: File, keys: _Keys) -> tuple[Attribute, ...]:
    if (keys.column is None) == (keys.columns is None):
        raise PlanError(f"{file.path}: either column or columns must be given")
    key = "column" if keys.columns is None else "columns"
    names = [keys.column] if keys.column is not None else list(keys.columns or [])
    names = [*([] if keys.by is None else [keys.by]), *names]
    if len(set(names)) != len(names) or not 1 <= len(names) <= 2:
        raise file.fail(key, "one or two different columns, by included", names)
    declared = keys.categories
    if isinstance(declared, list):
        if len(names) != 1:
            raise file.fail("categories", f"a table with {' and '.join(names)}", declared)
        declared = {names[0]: declared}
    if set(declared) != set(names):
        raise file.fail("categories", f"given for {' and '.join(names)}", sorted(declared))
    attributes = tuple(_attribute(file, name, declared[name]) for name in names)
    cells = math.prod(attribute.size for attribute in attributes)
    if not 2 <= cells <= MOST_CELLS:
        raise file.fail("categories", f"2 to {MOST_CELLS} cells in all", cells)
    if len(set(_joined(attributes))) < cells:
        raise file.fail("categories", "such that no two cells read the same", sorted(declared))
    return attributes


def _attribute(file: File, name: str, declared: list[str] | Edges) -> Attribute:
    try:
        if isinstance(declared, Edges):
            return Bins(name, tuple(declared.edges))
        if not all(label.isprintable() for label in declared):
            raise ValueError(f"values of {name} must be letters that can be printed")
        return Categories(name, tuple(declared))
    except (ValueError, TypeError) as error:
        raise PlanError(f"{file.where('categories')}: categories: {error}") from None


def _missing(file: File, keys: _Keys, attributes: tuple[Attribute, ...]) -> str:
    value, absent = keys.missing, keys.missing_values
    if any("\0" in text for text in absent):
        raise file.fail("missing_values", "texts without null characters", absent)
    listed = [v for a in attributes if a.of_texts for v in a.labels if v in absent and v != value]
    if listed:
        raise file.fail(
            "categories",
            f"different from what stands for a missing value ({shown(absent)}); "
            "missing_values = [...] says what does",
            listed[0],
        )
    if value == DROP and keys.records == "public":
        raise file.fail(
            "missing",
            '"refuse" or a category; dropping rows makes the number of records depend on who '
            'left what out, so it needs records = "secret"',
            value,
        )
    without = [a.name for a in attributes if value not in a.labels]
    if value not in (REFUSE, DROP) and without:
        raise file.fail("missing", f'"refuse" or a category of {without[0]}', value)
    return value


def _prior(file: File, given: float | list[float], cells: int) -> NDArray[np.float64]:
    values = given if isinstance(given, list) else [given] * cells
    if len(values) != cells or not all(0 < value <= 1e9 for value in values):
        raise file.fail("prior", f"one number, or {cells}, above 0 and at most 1e9", given)
    return np.array(values, dtype=np.float64)
