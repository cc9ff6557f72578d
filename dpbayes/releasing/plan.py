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
import itertools
import math
import re
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.mechanisms.guarantees import exact_epsilon, given_epsilon
from dpbayes.releasing.witness import NAME, dataset_name

MISSING_VALUES = ("", "NA")
REFUSE, DROP = "refuse", "drop"
RECORDS = ("public", "secret")
MOST_CELLS = 10_000
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


class PlanError(ValueError):
    """A plan has a mistake; the message names file, line, key, value and what is allowed."""


@dataclass(frozen=True)
class Column:
    """One declared column: `labels` in their order; `edges` when it is numeric and cut there."""

    name: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.labels)


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

    path: Path
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
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a cell, the last column fastest."""
        return tuple(
            ", ".join(cell) for cell in itertools.product(*(c.labels for c in self.columns))
        )

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
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"plan {place} cannot be read: {error}") from error
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{place}: {error}") from error
    return _Reader(place, text, settings).plan()


@dataclass(frozen=True)
class _Reader:
    """Settings with the lines they stand on."""

    path: Path
    text: str
    settings: dict[str, Any]

    def plan(self) -> Plan:
        self.check_keys()
        columns = self.columns()
        keep = self.keep()
        person = self.settings.get("person")
        records = self.word("records", RECORDS, "public")
        return Plan(
            self.path,
            self.checked("dataset", dataset_name, self.settings["dataset"]),
            self.path.parent / self.settings["account"],
            self.request(),
            columns,
            self.by(columns),
            self.missing(columns, records),
            tuple(
                self.texts("missing_values", self.settings.get("missing_values", MISSING_VALUES))
            ),
            records,
            person,
            keep,
            self.settings.get("mechanism", "lattice" if records == "public" else "independent"),
            dict(self.settings.get("options", {})),
            self.checked(
                "epsilon",
                lambda value: exact_epsilon(given_epsilon(value)),
                self.settings["epsilon"],
            ),
            self.prior(math.prod(column.size for column in columns)),
        )

    def fail(self, key: str, allowed: str, value: object) -> PlanError:
        """Return the error for a key: where it stands, what it was, what it may be."""
        pattern = re.compile(rf"\s*[\[\"']*{re.escape(key)}\b")
        lines = [i for i, line in enumerate(self.text.splitlines(), 1) if pattern.match(line)]
        where = f"{self.path}, line {lines[0]}" if lines else str(self.path)
        return PlanError(f"{where}: {key} must be {allowed}, got {value!r}")

    def checked(self, key: str, check: Any, value: object) -> Any:
        try:
            return check(value)
        except (ValueError, TypeError) as error:
            allowed = str(error).partition(" must be ")[2].partition(", got ")[0]
            raise self.fail(key, allowed, value) from None

    def check_keys(self) -> None:
        for key, value in self.settings.items():
            if key not in _TYPES:
                raise PlanError(f"{self.path}: no such key {key!r}; a plan has {', '.join(_TYPES)}")
            if isinstance(value, bool) or not isinstance(value, _TYPES[key]):
                words = " or ".join(_WORDS[kind] for kind in _TYPES[key])
                raise self.fail(key, words, value)
        for key in _NEEDED:
            if key not in self.settings:
                raise PlanError(f"{self.path}: {key} must be given")
        if ("column" in self.settings) == ("columns" in self.settings):
            raise PlanError(f"{self.path}: either column or columns must be given")

    def columns(self) -> tuple[Column, ...]:
        names = [self.settings["column"]] if "column" in self.settings else self.names()
        if "by" in self.settings:
            names = [self.settings["by"], *names]
        if len(set(names)) != len(names) or not 1 <= len(names) <= 2 or not all(names):
            raise self.fail("columns", "one or two different columns, by included", names)
        categories = self.settings["categories"]
        if isinstance(categories, list):
            if len(names) != 1:
                raise self.fail("categories", f"a table with {' and '.join(names)}", categories)
            categories = {names[0]: categories}
        if set(categories) != set(names):
            raise self.fail("categories", f"given for {' and '.join(names)}", sorted(categories))
        columns = tuple(self.column(name, categories[name]) for name in names)
        cells = math.prod(column.size for column in columns)
        if not 2 <= cells <= MOST_CELLS:
            raise self.fail("categories", f"2 to {MOST_CELLS} cells in all", cells)
        return columns

    def names(self) -> list[str]:
        return self.texts("columns", self.settings["columns"])

    def texts(self, key: str, values: Any) -> list[str]:
        if not all(isinstance(value, str) for value in values):
            raise self.fail(key, "texts", values)
        return list(values)

    def column(self, name: str, declared: Any) -> Column:
        if isinstance(declared, dict):
            return self.numeric(name, declared)
        texts = self.texts("categories", declared if isinstance(declared, list) else [None])
        if not texts or len(set(texts)) != len(texts):
            raise self.fail("categories", f"at least one, all different, for {name}", declared)
        return Column(name, tuple(texts))

    def numeric(self, name: str, declared: dict[str, Any]) -> Column:
        given = declared.get("edges")
        edges = given if isinstance(given, list) else []
        numbers = all(
            isinstance(e, (int, float)) and not isinstance(e, bool) and math.isfinite(e)
            for e in edges
        )
        if (
            set(declared) != {"edges"}
            or not numbers
            or len(edges) < 2
            or sorted(set(edges)) != edges
        ):
            raise self.fail("categories", f"a list, or edges that increase, for {name}", declared)
        labels = tuple(f"{a:g} to {b:g}" for a, b in itertools.pairwise(edges))
        return Column(name, labels, tuple(float(edge) for edge in edges))

    def by(self, columns: tuple[Column, ...]) -> str | None:
        by: str | None = self.settings.get("by")
        if by is not None and len(columns) != 2:
            raise self.fail("by", "used with column, for one column by another", by)
        return by

    def missing(self, columns: tuple[Column, ...], records: str) -> str:
        value: str = self.settings.get("missing", REFUSE)
        if value == DROP and records == "public":
            raise self.fail(
                "missing",
                '"refuse" or a category; dropping rows makes the number of records depend on who '
                'left what out, so it needs records = "secret"',
                value,
            )
        if value not in (REFUSE, DROP):
            without = [column.name for column in columns if value not in column.labels]
            if without:
                raise self.fail("missing", f'"refuse" or a category of {without[0]}', value)
        return value

    def word(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value: str = self.settings.get(key, default)
        if value not in allowed:
            raise self.fail(key, " or ".join(f'"{word}"' for word in allowed), value)
        return value

    def keep(self) -> int:
        keep: int = self.settings.get("keep", 1)
        if keep < 1:
            raise self.fail("keep", "a whole number of at least 1", keep)
        if "keep" in self.settings and "person" not in self.settings:
            raise self.fail("keep", "used with person, the column that identifies people", keep)
        return keep

    def request(self) -> str | None:
        request: str | None = self.settings.get("request")
        if request is not None and not NAME.fullmatch(request):
            raise self.fail("request", "1 to 64 letters, digits, '.', '_' and '-'", request)
        return request

    def prior(self, cells: int) -> NDArray[np.float64]:
        given = self.settings.get("prior", 1)
        values = given if isinstance(given, list) else [given] * cells
        good = [
            isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v <= 1e9 for v in values
        ]
        if len(values) != cells or not all(good):
            raise self.fail("prior", f"one number, or {cells}, above 0 and at most 1e9", given)
        return np.array(values, dtype=np.float64)
