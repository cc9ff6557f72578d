"""A plan as a file: settings, and the lines on which they stand, for messages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dpbayes._validate import shown

LARGEST = 1 << 20
MOST_DOTS, MOST_DIGITS = 20, 1000
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*(?:"|$)|\'[^\'\n]*(?:\'|$)|#[^\n]*', re.MULTILINE)
_PARTED = re.compile(r"[=,{}\[\]]")
_LONG = re.compile(rf"[0-9a-fA-F_]{{{MOST_DIGITS}}}")
_Value = TypeVar("_Value")


class PlanError(ValueError):
    """A plan has a mistake; the message names file, line, key, value and what is allowed."""


@dataclass(frozen=True)
class PlanFile:
    r"""Settings of a TOML file with its text.

    >>> found = PlanFile(Path("plan.toml"), "# for May\nepsilon = 0", {"epsilon": 0})
    >>> raise found.fail("epsilon", "positive", 0)
    Traceback (most recent call last):
        ...
    dpbayes.releasing.plan_file.PlanError: plan.toml, line 2: epsilon must be positive, got 0
    """

    path: Path
    text: str
    settings: dict[str, Any]

    def where(self, key: str) -> str:
        """Return the file, and the line that begins with a key where there is one."""
        written = {re.escape(key), re.escape(repr(key)[1:-1])}
        pattern = re.compile(rf"\s*[\[\"']*(?:{'|'.join(sorted(written))})(?![\w-])")
        lines = [i for i, line in enumerate(self.text.split("\n"), 1) if pattern.match(line)]
        return f"{self.path}, line {lines[0]}" if lines else str(self.path)

    def fail(self, key: str, allowed: str, value: object) -> PlanError:
        """Return the error for a key: where it stands, what it was, what it may be."""
        return PlanError(f"{self.where(key)}: {key} must be {allowed}, got {shown(value)}")

    def checked(self, key: str, check: Callable[[Any], _Value], value: object) -> _Value:
        """Return what `check` makes of a value; its error is told with the line."""
        try:
            return check(value)
        except (ValueError, TypeError) as error:
            allowed = str(error).partition(" must be ")[2].partition(", got ")[0]
            raise self.fail(key, allowed, value) from None


def read_plan_file(path: str | Path) -> PlanFile:
    """Return the settings of a plan; PlanError where it is no TOML file of at most 1 MB."""
    place = Path(path)
    if place.exists() and not place.is_file():
        raise PlanError(f"plan {place} cannot be read: it is not a file")
    try:
        with place.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise PlanError(f"plan {place} cannot be read: it has more than {LARGEST} bytes")
        # As Python reads a text file: a mark of the byte order is not text, nor is \r before \n.
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        _require_moderate(place, text)
        return PlanFile(place, text, tomllib.loads(text))
    except OSError as error:
        raise PlanError(f"plan {place} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PlanError(f"plan {place} cannot be read: line {line} is not UTF-8") from error
    except RecursionError:
        raise PlanError(f"plan {place} cannot be read: lists stand in lists too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{place}: {error}") from error


def _require_moderate(place: Path, text: str) -> None:
    """Refuse what would keep the TOML reader busy for minutes, or that it cannot say a line for."""
    bare = _QUOTED.sub(" ", text)
    for number, line in enumerate(bare.split("\n"), 1):
        key = line.partition("=")[0].strip()[:40]
        if max(part.count(".") for part in _PARTED.split(line)) > MOST_DOTS:
            raise PlanError(f"{place}, line {number}: keys must have at most {MOST_DOTS} dots")
        if _LONG.search(line):
            raise PlanError(
                f"{place}, line {number}: {key} must be a number of at most {MOST_DIGITS} digits, "
                "got a longer one"
            )
