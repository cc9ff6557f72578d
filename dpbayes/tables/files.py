"""TOML files, checked by pydantic; mistakes are told with file, line, key and value."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpbayes._validate import shown
from dpbayes.tables.units import MOST_KEPT, Unit

LARGEST = 1 << 17
_MOST_DOTS = 20
MOST_DIGITS = 1000
_LONG = re.compile(rf"[0-9a-fA-F_]{{{MOST_DIGITS}}}")
_Model = TypeVar("_Model", bound=BaseModel)
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Number = Annotated[float, Field(allow_inf_nan=False)]


class PlanError(ValueError):
    """A file has a mistake; the message names file, line, key, value and what is allowed."""


class Settings(BaseModel):
    """The keys that all files share: who is protected, stated in every one of them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    unit: Literal["record"] | None = None
    person: Text | None = None
    keep: Annotated[int, Field(ge=1, le=MOST_KEPT)] = 1


@dataclass(frozen=True)
class File:
    r"""A TOML file with its text.

    >>> found = File(Path("plan.toml"), "# for May\nepsilon = 0", {"epsilon": 0})
    >>> raise found.fail("epsilon", "positive", 0)
    Traceback (most recent call last):
        ...
    dpbayes.tables.files.PlanError: plan.toml, line 2: epsilon must be positive, got 0
    """

    path: Path
    text: str
    settings: dict[str, Any]

    def where(self, key: str) -> str:
        """Return the file, and the line that begins with a key where there is one."""
        pattern = re.compile(rf"\s*[\[\"']*{re.escape(key)}(?![\w-])")
        lines = [i for i, line in enumerate(self.text.split("\n"), 1) if pattern.match(line)]
        return f"{self.path}, line {lines[0]}" if lines else str(self.path)

    def fail(self, key: str, allowed: str, value: object) -> PlanError:
        """Return the error for a key: where it stands, what it was, what it may be."""
        return PlanError(f"{self.where(key)}: {key} must be {allowed}, got {shown(value)}")

    def model(self, kind: type[_Model]) -> _Model:
        """Return the settings as a model, or raise PlanError for the first mistake."""
        try:
            return kind.model_validate(self.settings)
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0])
            if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
                known = ", ".join(kind.model_fields)
                raise PlanError(
                    f"{self.where(key)}: no such key {shown(key)}; there are {known}"
                ) from None
            if first["type"] == "missing":
                raise PlanError(f"{self.path}: {key} must be given") from None
            told = {one["msg"].removeprefix("Input should be ") for one in error.errors()
                    if str(one["loc"][0]) == key}  # fmt: skip
            raise self.fail(key, " or ".join(sorted(told)), self.settings.get(key)) from None

    def unit(self, settings: Settings) -> Unit:
        """Return who is protected; PlanError where the file does not say so once."""
        if (settings.unit is None) == (settings.person is None):
            raise PlanError(
                f'{self.path}: unit = "record", or person = "…", the column that identifies '
                "people, must be given, and not both: it says who is protected"
            )
        if "keep" in self.settings and settings.person is None:
            raise self.fail("keep", "used with person", settings.keep)
        return Unit(settings.person, settings.keep)


def read_file(path: str | Path) -> File:
    """Return a TOML file of at most 128 kB, or raise PlanError."""
    place = Path(path)
    if place.exists() and not place.is_file():
        raise PlanError(f"plan {place} cannot be read: it is not a file")
    try:
        content = place.read_bytes()
        if len(content) > LARGEST:
            raise PlanError(f"plan {place} cannot be read: it is larger than {LARGEST} bytes")
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        crowded = [i for i, line in enumerate(text.split("\n"), 1)
                   if line.partition("=")[0].count(".") > _MOST_DOTS]  # fmt: skip
        if crowded:  # the time for such a key grows with the square of its parts
            raise PlanError(f"{place}, line {crowded[0]}: keys must have at most {_MOST_DOTS} dots")
        long = [i for i, line in enumerate(text.split("\n"), 1) if _LONG.search(line)]
        if long:
            key = text.split("\n")[long[0] - 1].partition("=")[0].strip()[:40]
            raise PlanError(
                f"{place}, line {long[0]}: {key} must be a number of at most {MOST_DIGITS} digits, "
                "got a longer one"
            )
        return File(place, text, tomllib.loads(text))
    except OSError as error:
        raise PlanError(f"plan {place} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"plan {place} cannot be read: it is not UTF-8") from error
    except RecursionError:
        raise PlanError(f"plan {place} cannot be read: lists stand in lists too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{place}: {error}") from error
