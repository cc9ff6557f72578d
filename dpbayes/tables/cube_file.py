"""The files behind questions: a cube, declared before its table is opened, and a service.

A cube file::

    source = "people.csv"            # or .parquet; relative to this file
    unit = "record"                  # or: person = "id" and, if wanted, keep = 3
    bound = 1.0
    neighbours = "add-or-remove"     # or "replace-one"; optional
    outside = "refuse"               # or "drop"; optional
    count = "records"                # a column with the number of records of each row; optional

    [[attribute]]
    name = "age"
    edges = [18, 40, 65]
    whole = true                     # optional

    [[attribute]]
    name = "sex"
    values = ["f", "m"]

A service file::

    cube = "people.toml"
    account = "clinic.account"
    tick = 0.1                       # seconds; optional
    smallest_price = "0.001"         # of an answer that is not derived; optional
    most_answers = 1000              # optional

    [[analyst]]
    name = "anna"
    token = "9f86d081884c7d65…"      # the digest, not the token
    budget = "0.4"
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dpbayes.tables.attributes import Attribute, Bins, Categories, check_attributes
from dpbayes.tables.cubes import Cube
from dpbayes.tables.files import File, Number, PlanError, Settings, Text, read_file
from dpbayes.tables.plan import epsilon_of
from dpbayes.tables.table import Rules, count
from dpbayes.tables.units import RELATIONS, Unit

TICK = 0.1
MOST_ANSWERS = 1000


class _Attribute(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: Text
    values: list[str] | list[Number] | None = None
    edges: list[Number] | None = None
    whole: bool = False


class _CubeKeys(Settings):
    source: Text
    bound: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    neighbours: Literal["add-or-remove", "add-remove", "replace-one"] = "add-or-remove"
    outside: Literal["refuse", "drop"] = "refuse"
    count: Text | None = None
    attribute: list[_Attribute]


class _Analyst(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(pattern="^[A-Za-z0-9]{1,64}$")]
    token: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    budget: str | int | float


class _ServiceKeys(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    cube: Text
    account: Text
    tick: Annotated[float, Field(gt=0, le=60)] = TICK
    smallest_price: str | int | float = 0
    most_answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] = MOST_ANSWERS
    analyst: Annotated[list[_Analyst], Field(min_length=1)]


@dataclass(frozen=True)
class CubeFile:
    """A checked cube file; make one with `read_cube`."""

    source: Path
    bound: float
    neighbours: str
    rules: Rules
    attributes: tuple[Attribute, ...]

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.rules.unit

    def cube(self) -> Cube:
        """Return the counts of the table."""
        return Cube(self.attributes, count(self.source, self.attributes, self.rules))


@dataclass(frozen=True)
class Analyst:
    """Who may ask: a name, the digest of a token, and a budget of the account's epsilon."""

    name: str
    token: str
    budget: Fraction


@dataclass(frozen=True)
class ServiceFile:
    """A checked service file; make one with `read_service`."""

    cube: Path
    account: Path
    tick: float
    smallest_price: Fraction
    most_answers: int
    analysts: tuple[Analyst, ...]


def read_cube(path: str | Path) -> CubeFile:
    r"""Return the cube that a TOML file declares, or raise PlanError with its line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.toml"
    ...     _ = file.write_text(
    ...         'source = "people.csv"\nunit = "record"\nbound = 1.0\n'
    ...         '[[attribute]]\nname = "age"\nedges = [18, 40, 65]\n'
    ...     )
    ...     found = read_cube(file)
    >>> found.neighbours, found.attributes[0].labels
    ('add-or-remove', ('18 to 40', '40 to 65'))
    """
    file = read_file(path)
    keys = file.model(_CubeKeys)
    unit = file.unit(keys)
    try:
        attributes = check_attributes([_attribute(one) for one in keys.attribute])
        rules = Rules(unit, keys.outside, count=keys.count)
    except (ValueError, TypeError) as error:
        raise PlanError(f"{file.path}: {error}") from None
    relation = RELATIONS[keys.neighbours != RELATIONS[0]]
    return CubeFile(file.path.parent / keys.source, keys.bound, relation, rules, attributes)


def _attribute(given: _Attribute) -> Attribute:
    if (given.values is None) == (given.edges is None):
        raise ValueError(f"attribute {given.name!r} must have either edges or values")
    if given.edges is not None:
        return Bins(given.name, tuple(given.edges), given.whole)
    return Categories(given.name, tuple(given.values or ()))


def read_service(path: str | Path) -> ServiceFile:
    """Return the service that a TOML file declares, or raise PlanError with its line."""
    file = read_file(path)
    keys = file.model(_ServiceKeys)
    names = [one.name for one in keys.analyst]
    if len(set(names)) != len(names):
        raise file.fail("analyst", "of different names", names)
    return ServiceFile(
        file.path.parent / keys.cube,
        file.path.parent / keys.account,
        keys.tick,
        Fraction(0) if keys.smallest_price in (0, "0") else _price(file, keys.smallest_price),
        keys.most_answers,
        tuple(
            Analyst(one.name, one.token, epsilon_of(file, "budget", one.budget))
            for one in keys.analyst
        ),
    )


def _price(file: File, value: Any) -> Fraction:
    return epsilon_of(file, "smallest_price", value)


RAND_HIE = Path(str(files("dpbayes") / "data" / "rand-hie.toml"))
"""20,190 person-years of the RAND Health Insurance Experiment, a real table to ask.

Counts by self-rated health, physical limitation, chronic diseases and outpatient visits, derived
from the public-domain table that statsmodels ships. One record is one person in one year: a person
can have up to five, so that the guarantee for one record is not one for one person.
"""


def rand_hie_cube() -> Cube:
    """Return the cube of 4 x 2 x 8 x 16 = 1024 cells.

    >>> cube = rand_hie_cube()
    >>> cube.shape, int(cube.counts.sum())
    ((4, 2, 8, 16), 20190)
    """
    return read_cube(RAND_HIE).cube()
