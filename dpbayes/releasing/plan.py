"""A plan: everything about a release that is declared before the table is opened.

A plan is a TOML file of about ten lines::

    dataset = "clinic-2026"
    account = "clinic.account"
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
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import shown
from dpbayes.mechanisms.guarantees import exact_epsilon, given_epsilon
from dpbayes.releasing.columns import Column, column, joined, texts
from dpbayes.releasing.plan_file import PlanError, PlanFile, read_plan_file
from dpbayes.releasing.witness import NAME, dataset_name

MISSING_VALUES = ("", "NA")
REFUSE, DROP = "refuse", "drop"
RECORDS = ("public", "secret")
MOST_CELLS = 10_000
MOST_KEPT = 1_000_000
_TYPES: dict[str, tuple[type, ...]] = {
    "dataset": (str,),
    "account": (str,),
    "request": (str,),
    "column": (str,),
    "columns": (list,),
    "by": (str,),
    "categories": (list, dict),
    "missing": (str,),
    "missing_values": (list,),
    "records": (str,),
    "person": (str,),
    "keep": (int,),
    "mechanism": (str,),
    "options": (dict,),
    "epsilon": (str, int, float),
    "prior": (int, float, list),
}
_NEEDED = ("dataset", "account", "categories", "epsilon")
_WORDS = {str: "text", list: "a list", dict: "a table", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Plan:
    r"""A checked plan; make one with `read_plan`.

    `columns` one or two; `by` names the one that splits the report, if any; `missing` is "refuse",
    "drop" or a category; `person` the column that identifies people, of whom at most `keep`
    records each are counted; `options` of the mechanism; `prior` one parameter a cell, shape (k,).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\ncolumn = "health"\nby = "sex"\n'
    ...         'epsilon = "0.5"\n[categories]\nhealth = ["good", "poor"]\nsex = ["f", "m"]\n'
    ...     )
    ...     plan = read_plan(Path(folder) / "plan.toml")
    >>> plan.shape, plan.labels
    ((2, 2), ('f, good', 'f, poor', 'm, good', 'm, poor'))
    """

    file: PlanFile
    dataset: str
    account: Path
    request: str | None
    columns: tuple[Column, ...]
    by: str | None
    missing: str
    missing_values: tuple[str, ...]
    records: str
    person: str | None
    keep: int
    mechanism: str
    options: dict[str, Any]
    epsilon: Fraction
    prior: NDArray[np.float64]

    @property
    def path(self) -> Path:
        """The plan's own file."""
        return self.file.path

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a cell, the last column fastest."""
        return joined(self.columns)

    @property
    def epsilon_of_a_record(self) -> Fraction:
        """The epsilon of one record, so that all records of a person have `epsilon` together."""
        return self.epsilon / self.keep

    def statement(self) -> str:
        """Return everything that decides the law of the release, in one line."""
        parts = [
            self.dataset, self.columns, self.by, self.missing, self.missing_values, self.records,
            self.person, self.keep, self.mechanism, sorted(self.options.items()),
            str(self.epsilon), self.prior.tolist(),
        ]  # fmt: skip
        return repr(parts)

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
    ...         'dataset = "clinic"\naccount = "a"\ncolumn = "health"\n'
    ...         'categories = ["good", "fair", "poor"]\nepsilon = "0.5"\n'
    ...     )
    ...     plan = read_plan(Path(folder) / "plan.toml")
    >>> plan.labels, plan.epsilon, plan.mechanism, plan.missing
    (('good', 'fair', 'poor'), Fraction(1, 2), 'lattice', 'refuse')
    """
    found = read_plan_file(path)
    return _Reader(found, found.settings).plan()


@dataclass(frozen=True)
class _Reader:
    """Settings on their way to a plan."""

    file: PlanFile
    settings: dict[str, Any]

    def plan(self) -> Plan:
        self.check_keys()
        columns = self.columns()
        keep = self.keep()
        person = self.name("person", "the name of a column") if "person" in self.settings else None
        records = self.word("records", RECORDS, "public")
        return Plan(
            self.file,
            self.file.checked("dataset", dataset_name, self.settings["dataset"]),
            self.file.path.parent / self.name("account", "the path of a file"),
            self.request(),
            columns,
            self.by(columns),
            self.missing(columns, records),
            self.missing_values(columns),
            records,
            person,
            keep,
            self.settings.get("mechanism", "lattice" if records == "public" else "independent"),
            self.options(),
            self.file.checked("epsilon", _epsilon, self.settings["epsilon"]),
            self.prior(math.prod(column.size for column in columns)),
        )

    def check_keys(self) -> None:
        for key, value in self.settings.items():
            if key not in _TYPES:
                known = ", ".join(_TYPES)
                raise PlanError(
                    f"{self.file.where(key)}: no such key {shown(key)}; a plan has {known}"
                )
            if isinstance(value, bool) or not isinstance(value, _TYPES[key]):
                words = " or ".join(_WORDS[kind] for kind in _TYPES[key])
                raise self.file.fail(key, words, value)
        for key in _NEEDED:
            if key not in self.settings:
                raise PlanError(f"{self.file.path}: {key} must be given")
        if ("column" in self.settings) == ("columns" in self.settings):
            raise PlanError(f"{self.file.path}: either column or columns must be given")

    def columns(self) -> tuple[Column, ...]:
        several = "columns" in self.settings
        key = "columns" if several else "column"
        given = self.settings[key] if several else [self.settings[key]]
        names = texts(self.file, key, given)
        if "by" in self.settings:
            names = [*texts(self.file, "by", [self.settings["by"]]), *names]
        named = all(name.strip() for name in names)
        if len(set(names)) != len(names) or not 1 <= len(names) <= 2 or not named:
            raise self.file.fail(key, "one or two different columns, by included", names)
        categories = self.settings["categories"]
        if isinstance(categories, list):
            if len(names) != 1:
                raise self.file.fail(
                    "categories", f"a table with {' and '.join(names)}", categories
                )
            categories = {names[0]: categories}
        if set(categories) != set(names):
            raise self.file.fail(
                "categories", f"given for {' and '.join(names)}", sorted(categories)
            )
        columns = tuple(column(self.file, name, categories[name]) for name in names)
        cells = math.prod(column.size for column in columns)
        if not 2 <= cells <= MOST_CELLS:
            raise self.file.fail("categories", f"2 to {MOST_CELLS} cells in all", cells)
        names_of_cells = joined(columns)
        if len(set(names_of_cells)) < cells:
            raise self.file.fail("categories", "such that no two cells read the same", categories)
        return columns

    def name(self, key: str, allowed: str) -> str:
        value: str = self.settings[key]
        if not value.strip() or "\0" in value:
            raise self.file.fail(key, allowed, value)
        return value

    def options(self) -> dict[str, Any]:
        options = dict(self.settings.get("options", {}))
        if {"name", "epsilon"} & options.keys():
            raise self.file.fail("options", "a table without name and epsilon", options)
        return options

    def missing_values(self, columns: tuple[Column, ...]) -> tuple[str, ...]:
        values = texts(
            self.file, "missing_values", self.settings.get("missing_values", MISSING_VALUES)
        )
        counted = {self.settings.get("missing")}
        both = [v for c in columns for v in c.labels if v in values and v not in counted]
        if both and any(column.edges is None for column in columns):
            raise self.file.fail(
                "categories",
                f"different from what stands for a missing value ({shown(values)}); "
                "missing_values = [...] says what does",
                both[0],
            )
        return tuple(values)

    def by(self, columns: tuple[Column, ...]) -> str | None:
        by: str | None = self.settings.get("by")
        if by is not None and len(columns) != 2:
            raise self.file.fail("by", "used with column, for one column by another", by)
        return by

    def missing(self, columns: tuple[Column, ...], records: str) -> str:
        value: str = self.settings.get("missing", REFUSE)
        if value == DROP and records == "public":
            raise self.file.fail(
                "missing",
                '"refuse" or a category; dropping rows makes the number of records depend on who '
                'left what out, so it needs records = "secret"',
                value,
            )
        if value not in (REFUSE, DROP):
            without = [column.name for column in columns if value not in column.labels]
            if without:
                raise self.file.fail("missing", f'"refuse" or a category of {without[0]}', value)
        return value

    def word(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value: str = self.settings.get(key, default)
        if value not in allowed:
            raise self.file.fail(key, " or ".join(f'"{word}"' for word in allowed), value)
        return value

    def keep(self) -> int:
        keep: int = self.settings.get("keep", 1)
        if keep < 1:
            raise self.file.fail("keep", "a whole number of at least 1", keep)
        if keep > MOST_KEPT:
            raise self.file.fail("keep", f"a whole number of at most {MOST_KEPT}", keep)
        if "keep" in self.settings and "person" not in self.settings:
            raise self.file.fail(
                "keep", "used with person, the column that identifies people", keep
            )
        return keep

    def request(self) -> str | None:
        request: str | None = self.settings.get("request")
        if request is not None and not NAME.fullmatch(request):
            raise self.file.fail("request", "1 to 64 letters, digits, '.', '_' and '-'", request)
        return request

    def prior(self, cells: int) -> NDArray[np.float64]:
        given = self.settings.get("prior", 1)
        values = given if isinstance(given, list) else [given] * cells
        good = [
            isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v <= 1e9 for v in values
        ]
        if len(values) != cells or not all(good):
            raise self.file.fail("prior", f"one number, or {cells}, above 0 and at most 1e9", given)
        return np.array(values, dtype=np.float64)


def _epsilon(value: Any) -> Fraction:
    if isinstance(value, str) and not value.isascii():
        raise ValueError("epsilon must be a positive number in the digits 0 to 9, got another")
    return exact_epsilon(given_epsilon(value))
