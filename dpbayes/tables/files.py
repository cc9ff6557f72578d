"""TOML files that are written before a table is opened, checked by pydantic: cubes and
services.

A cube file, and a service file for questions about its cube::

    source = "people.csv"            # or .tsv, .parquet
    unit = "record"                  # or: person = "id" and, if wanted, keep = 3
    bound = 1.0                      # most epsilon of the account for this cube
    neighbours = "replace-one"       # optional: the account's relation
    outside = "refuse"               # optional: "drop" leaves out what is not declared
    missing = "refuse"               # optional: "drop", or a value that each lists
    missing_values = ["", "NA"]      # optional: what stands for a missing value
    count = "records"                # optional: column with the records of each row
    [[attribute]]
    name = "age"
    edges = [-inf, 18, 40, 65, inf]  # or: values = ["f", "m"]
    whole = true                     # optional: values are whole numbers

    cube = "people.toml"
    account = "clinic.account"
    tick = 0.1                       # optional: seconds between answers
    smallest_price = "0.001"         # optional: of an answer that is not derived
    most_answers = 1000              # optional
    [[analyst]]
    name = "anna"
    token = "9f86d081884c7d65…"      # the digest, not the token
    budget = "0.4"                   # epsilon of the account

Paths are relative to the file. Mistakes are told with file, line, key and value.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from dpbayes._validate import path as file_path
from dpbayes._validate import shown
from dpbayes.mechanisms.protocol import exact_epsilon, given_epsilon
from dpbayes.tables.attributes import (
    Attribute,
    Bins,
    Categories,
    Cube,
    check_attributes,
)
from dpbayes.tables.keys import NAME, NAMES
from dpbayes.tables.rules import MISSING_VALUES, Rules
from dpbayes.tables.table import count
from dpbayes.tables.units import MOST_KEPT, Unit

MOST_ANSWERS = 1000  # of one cube: the next decision then takes a tenth of a second
TICK = 0.1


class PlanError(ValueError):
    """A file has a mistake; the message names file, line, key, value and what is
    allowed.
    """


@dataclass(frozen=True)
class File:
    """A TOML file with its text."""

    path: Path
    text: str
    settings: dict[str, Any]

    def where(self, key: str) -> str:
        """Return the file, and the line that begins with a key where there is one."""
        found = re.search(
            rf"^\s*[\[\"']*{re.escape(key)}(?![\w-])", self.text, re.MULTILINE
        )
        line = self.text.count("\n", 0, found.end()) + 1 if found else 0
        return f"{self.path}, line {line}" if found else str(self.path)


def wrong(key: str, allowed: str, value: object) -> ValueError:
    """Return the error for the value of a key."""
    return ValueError(f"{key} must be {allowed}, got {shown(value)}")


# Validators; what they raise is "<key> must be <this>", or a whole sentence that says
# "must".
def _epsilon(value: Any) -> Fraction:
    try:
        if isinstance(value, str) and not value.isascii():
            raise ValueError("in another alphabet")
        return exact_epsilon(given_epsilon(value))
    except (ValueError, TypeError):
        raise ValueError("a positive number in the digits 0 to 9") from None


def _name(value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(NAMES)
    return value


def _beside(value: Any, info: Any) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a file")
    return Path(info.data["file"].path.parent / value)


def _record(value: Any) -> str:
    if value != "record":
        raise ValueError(
            '"record"; where a person is protected write person = "id", the column'
            " that names people, in its place"
        )
    return "record"


_ATTRIBUTE = {"name", "edges", "values", "whole"}


def _attributes(given: Any) -> tuple[Attribute, ...]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ValueError("tables, each [[attribute]] with name, and edges or values")
    return check_attributes([_attribute(one) for one in given])


def _attribute(one: dict[str, Any]) -> Attribute:
    """Return an attribute, or raise ValueError with a sentence that says "must"."""
    name = one.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be that of a column, got {shown(name)}")
    for key in one.keys() - _ATTRIBUTE:
        hint = "; categories are listed as values" if key == "categories" else ""
        raise ValueError(
            f"{name} must have no key {shown(key)}: there are name, edges or values,"
            f" and whole{hint}"
        )
    if ("edges" in one) == ("values" in one):
        raise ValueError(
            f"{name} must have either edges = [18, 40, 65] of numbers, or"
            ' values = ["f", "m"]'
        )
    if "whole" in one and "values" in one:
        raise ValueError(f"{name} must have whole with edges, not with values")
    try:
        if "edges" in one:
            return Bins(name, one["edges"], whole=one.get("whole", False))
        return Categories(name, one["values"])
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def _analyst_name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[A-Za-z0-9]{1,64}", value):
        raise ValueError("1 to 64 letters and digits")
    return value


def _token(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError(
            "the digest of a token, 64 of 0 to 9 and a to f: dpbayes serve --new-token"
            " prints both"
        )
    return value


Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Spelling = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Epsilon = Annotated[Fraction, PlainValidator(_epsilon)]
Named = Annotated[str, PlainValidator(_name)]
Beside = Annotated[Path, PlainValidator(_beside)]


class Settings(BaseModel):
    """A file as a model; `file` is where its keys stand."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    kind: ClassVar[str] = "plan"
    file: File = Field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the settings of a file, or raise PlanError for the first mistake."""
        place = file_path("path", path)
        try:
            if place.exists() and not place.is_file():
                raise OSError("it is not a file")
            text = place.read_text(encoding="utf-8-sig")
            file = File(place, text, tomllib.loads(text))
        except (OSError, ValueError, RecursionError) as error:  # no file, UTF-8 or TOML
            why = getattr(error, "strerror", None) or error
            if "Invalid value" in str(why):
                why = f"{why}; texts stand in quotation marks"
            raise PlanError(f"{cls.kind} {place} cannot be read: {why}") from error
        known = [
            f.alias or name for name, f in cls.model_fields.items() if name != "file"
        ]
        for key in file.settings:
            if key not in known:
                listed = ", ".join(known)
                raise PlanError(
                    f"{file.where(key)}: no such key {shown(key)}; there are {listed}"
                )
        try:
            return cls.model_validate({**file.settings, "file": file})
        except ValidationError as error:
            raise PlanError(_first_mistake(error, file)) from None


def _first_mistake(error: ValidationError, file: File) -> str:
    """Return where the first mistake in a file is, and what is allowed there."""
    first = error.errors()[0]
    told = re.sub("^(Input should|Value error,) (be )?", "", first["msg"])
    if not first["loc"]:  # of several keys together
        return f"{file.where(re.split('[ :]', told)[0])}: {told}"
    key, *below = map(str, first["loc"])
    if first["type"] == "missing":
        if not below:
            return f"{file.path}: {key} must be given"
        return f"{file.where(key)}: {_named(file, key, below)} must be given"
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{file.where(below[-1])}: no such key {_named(file, key, below)}"
    if " must " in told:
        return f"{file.where(key)}: {key}: {told}"
    if below and isinstance(file.settings[key], list) and below[-1].isidentifier():
        where = file.where(below[-1])
        return f"{where}: {_named(file, key, below)} must be {told}"
    return f"{file.where(key)}: {wrong(key, told, file.settings[key])}"


def _named(file: File, key: str, below: list[str]) -> str:
    """Return what stands below a key: token of analyst 2 (boris)."""
    try:
        name = str(file.settings[key][int(below[0])]["name"])
        return f"{below[-1]} of {key} {int(below[0]) + 1} ({name})"
    except (LookupError, TypeError, ValueError):
        number = f" {int(below[0]) + 1}" if below[0].isdigit() else ""
        return f"{below[-1]} of {key}{number}"


class Declared(Settings):
    """The keys that say who is protected."""

    record: Annotated[str, PlainValidator(_record)] | None = Field(None, alias="unit")
    person: Text | None = None
    keep: Annotated[int, Field(ge=1, le=MOST_KEPT)] = 1

    @model_validator(mode="after")
    def _one_unit(self) -> Declared:
        if (self.record is None) == (self.person is None):
            raise ValueError(
                'unit = "record", or person = "…", the column that identifies people,'
                " must be given, and not both: it says who is protected"
            )
        _ = self.unit
        return self

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return Unit(self.person, self.keep)


class CubeFile(Declared):
    """A checked cube file; make one with `read_cube`."""

    kind = "cube file"
    source: Beside
    bound: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    neighbours: Literal["add-or-remove", "replace-one"] | None = None
    outside: Literal["refuse", "drop"] = "refuse"
    missing: Text | None = None
    missing_values: tuple[Spelling, ...] = Field(MISSING_VALUES, strict=False)
    count: Text | None = None
    attributes: Annotated[Any, PlainValidator(_attributes), Field(alias="attribute")]

    @model_validator(mode="after")
    def _rules_fit(self) -> CubeFile:
        self.rules.check(self.attributes)
        return self

    @property
    def rules(self) -> Rules:
        """Which rows count, and how."""
        missing = self.missing or self.outside
        return Rules(self.unit, self.outside, missing, self.missing_values, self.count)

    def cube(self) -> Cube:
        """Return the counts of the table."""
        return Cube(self.attributes, count(self.source, self.attributes, self.rules))


@dataclass(frozen=True)
class Analyst:
    """Who may ask: a name, the digest of a token, and a budget of the account's
    epsilon.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: Annotated[str, PlainValidator(_analyst_name)]
    token: Annotated[str, PlainValidator(_token)]
    budget: Epsilon


class ServiceFile(Settings):
    """A checked service file; `ServiceFile.read` makes one."""

    kind = "service file"
    cube: Beside
    account: Beside
    tick: Annotated[float, Field(gt=0, le=60)] = TICK
    smallest_price: Epsilon | None = None
    most_answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] = MOST_ANSWERS
    analysts: tuple[Analyst, ...] = Field(alias="analyst", strict=False, min_length=1)

    @model_validator(mode="after")
    def _different_names(self) -> ServiceFile:
        names = [one.name for one in self.analysts]
        if len(set(names)) != len(names):
            raise wrong("analyst", "of different names", names)
        return self


RAND_HIE = Path(str(files("dpbayes") / "data" / "rand-hie.toml"))
"""20,190 person-years of the RAND Health Insurance Experiment, as statsmodels ships
them.
"""


def read_cube(path: str | Path) -> CubeFile:
    """Return the cube that a TOML file declares, or raise PlanError with its line."""
    return CubeFile.read(path)
