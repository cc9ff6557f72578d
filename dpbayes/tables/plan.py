"""A plan: everything about a release that is declared before the table is opened.

A TOML file of about ten lines; paths are relative to it. Nothing in it may be read off
the table: categories and their order, bounds and the treatment of missing values would
each tell something about the people in it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, model_validator

from dpbayes.tables.attributes import Attribute, Bins, Categories, check_attributes
from dpbayes.tables.files import (
    Beside,
    Declared,
    Epsilon,
    Named,
    Number,
    Spelling,
    Text,
    wrong,
)
from dpbayes.tables.rules import DROP, MISSING_VALUES, REFUSE, Rules
from dpbayes.tables.units import RELATIONS

MOST_CELLS = 10_000
JOINERS = "\u200c\u200d"  # which labels in Persian and Hindi need


Listed = list[str] | dict[Literal["edges"], list[float]]


def _categories(given: Any) -> Any:
    """Return categories that are texts, or edges, for one column or for several."""
    for one in given.values() if isinstance(given, dict) else [given]:
        edges = one.get("edges") if isinstance(one, dict) else None
        if isinstance(one, dict) and (set(one) != {"edges"} or edges is None):
            raise ValueError(
                "a list of texts or {edges = [18, 40, 65]} for each column"
            )
        if edges is not None and not _all_are(edges, (int, float)):
            raise ValueError(
                "of edges that are numbers; -inf may be the first and inf the last"
            )
        if edges is None and not _all_are(one, (str,)):
            raise ValueError(
                'texts in quotation marks, such as ["1", "2", "3"]; to cut numbers'
                " write categories = {age = {edges = [18, 40, 65]}}"
            )
    return given


def _all_are(values: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, kinds) and not isinstance(value, bool) for value in values
    )


class Plan(Declared):
    """A checked plan; make one with `read_plan`.

    `attributes` are one or two; `rules` say who is protected and what becomes of
    missing values; `records` is "public" or "secret"; `prior` has one parameter a cell,
    shape (k,). `count` names a column with the number of records of each row.
    `correlation` is how alike two records of one person are. Texts in `missing_values`
    stand for a missing answer and for a missing name of a person, by default those that
    a cube file has; what `categories` list is never missing.
    """

    dataset: Named
    account: Beside
    request: Named | None = None
    column: Text | None = None
    columns: list[Text] | None = None
    count: Text | None = None
    categories: Annotated[Listed | dict[str, Listed], PlainValidator(_categories)]
    missing: str = REFUSE
    missing_values: tuple[Spelling, ...] = Field(MISSING_VALUES, strict=False)
    records: Literal["public", "secret"] = "public"
    chosen: Text | None = Field(None, alias="mechanism")
    options: dict[str, Any] = Field(default_factory=dict)
    epsilon: Epsilon
    correlation: Annotated[Number, Field(ge=0, le=1)] = 1.0
    given_prior: Number | list[Number] = Field(1.0, alias="prior")

    @model_validator(mode="after")
    def _fits_together(self) -> Plan:
        cells, given = len(self.labels), self.given_prior
        if not 2 <= cells <= MOST_CELLS:
            raise wrong("categories", f"2 to {MOST_CELLS} cells in all", cells)
        if len(set(self.labels)) < cells:
            raise wrong(
                "categories", "such that no two cells read the same", self.labels[:9]
            )
        if {"name", "epsilon"} & self.options.keys():
            raise wrong("options", "a table without name and epsilon", self.options)
        values = given if isinstance(given, list) else [given] * cells
        # below, the shares of 0 and 1 alone would be left of a reading
        if len(values) != cells or not all(1e-9 <= value <= 1e9 for value in values):
            raise wrong("prior", f"one number, or {cells}, from 1e-9 to 1e9", given)
        self._check_missing()
        self.rules.check(self.attributes)
        if "correlation" in self.file.settings and self.unit.keep == 1:
            raise wrong(
                "correlation",
                "left out where one record of each person counts, or of each record:"
                " it says how alike the records of one person are",
                self.correlation,
            )
        return self

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The one or two columns that are counted, with their categories or bins.

        Raises ValueError for what the plan does not declare, or declares twice.
        """
        declared: Any = self.categories
        if (self.column is None) == (self.columns is None):
            raise ValueError("either column or columns must be given")
        names = [self.column] if self.column is not None else list(self.columns or [])
        if len(set(names)) != len(names) or not 1 <= len(names) <= 2:
            raise wrong("columns", "one or two different columns", names)
        if isinstance(declared, list):
            declared = {names[0]: declared}
        if set(declared) != set(names):
            raise wrong(
                "categories", f"given for {' and '.join(names)}", sorted(declared)
            )
        try:
            return check_attributes([_declared(name, declared[name]) for name in names])
        except (ValueError, TypeError) as error:
            raise ValueError(f"categories: {error}") from None

    def _check_missing(self) -> None:
        value = self.missing
        if value == DROP and self.records == "public":
            allowed = (
                '"refuse" or a category; dropping rows makes the number of records'
                ' depend on who left what out, so it needs records = "secret"'
            )
            raise wrong("missing", allowed, value)
        without = [a.name for a in self.attributes if value not in a.labels]
        if value not in (REFUSE, DROP) and without:
            raise wrong("missing", f'"refuse" or a category of {without[0]}', value)

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """One value of each column for each cell, the last column fastest."""
        return list(product(*(one.labels for one in self.attributes)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One text a cell."""
        return tuple(map(", ".join, self.cells))

    @property
    def mechanism(self) -> str:
        """The name of the mechanism: the chosen one, else lattice noise where the
        number of records is public and independent noise where it is secret.
        """
        return self.chosen or ("lattice" if self.records == "public" else "independent")

    @property
    def prior(self) -> NDArray[np.float64]:
        """The parameters of the prior, one a cell, shape (k,)."""
        return np.broadcast_to(
            np.array(self.given_prior, dtype=np.float64), len(self.labels)
        )

    @property
    def design_effect(self) -> float:
        """Kish's design effect, 1 + (keep - 1) correlation: so many times larger is the
        variance of a share than from as many independent records.

        `correlation` is that of the answers in two records of one person, from 0
        (independent) to 1 (equal), which is assumed unless the plan declares another.
        """
        return 1.0 + (self.unit.keep - 1) * self.correlation

    @property
    def rules(self) -> Rules:
        """What becomes of missing values, and which records of a person count."""
        told = self.unit, REFUSE, self.missing, self.missing_values, self.count
        return Rules(*told, once=self.count is not None)

    @property
    def neighbours(self) -> str:
        """The relation of the promise: replaced with public n, changed with secret
        n."""
        return RELATIONS[self.records == "secret"]

    @property
    def epsilon_of_a_record(self) -> Fraction:
        """The epsilon of one record, so that all records of a person have `epsilon`
        together.
        """
        return self.epsilon / self.unit.keep

    def statement(self, afterwards: tuple[str, ...] | None = None) -> str:
        """Return everything that decides the law of what is drawn, in one line.

        `afterwards` are the options that only the step after the noise reads, which
        reads the prior, too; None where the draw itself needs the prior.
        """
        left_out = afterwards or ()
        options = [o for o in sorted(self.options.items()) if o[0] not in left_out]
        prior = self.prior.tolist() if afterwards is None else []
        return repr(
            [self.dataset, self.attributes, self.rules.statement(), self.records,
             self.mechanism, options, str(self.epsilon), prior]
        )  # fmt: skip

    def request_of(self, fingerprint: str, statement: str) -> str:
        """Return the request's name: the declared one, or one that follows from what is
        drawn and from the table.
        """
        follows = hashlib.sha256(f"{statement}|{fingerprint}".encode()).hexdigest()
        return self.request or follows[:16]


def _declared(
    name: str, given: list[str] | dict[Literal["edges"], list[float]]
) -> Attribute:
    if isinstance(given, dict):
        return Bins(name, tuple(given.get("edges", ())))
    kinds = {unicodedata.category(one) for one in "".join(given) if one not in JOINERS}
    if {kind for kind in kinds if kind[0] == "C"} | kinds & {"Zl", "Zp"}:
        raise ValueError(
            f"values of {name} must be text without control characters, got {given}"
        )
    return Categories(name, tuple(given))


def read_plan(path: str | Path) -> Plan:
    """Return the plan in a TOML file, or raise PlanError before anything else is
    opened.
    """
    return Plan.read(path)
