"""The parameters of a notebook: read from its first code cell, checked before anything runs.

A notebook declares them in the cell tagged ``parameters``, one annotated line each::

    n: int = 100  # records, at least 1
    epsilon: float = 1.0  # privacy parameter, > 0
    delta: float = 0.05  # probability, in (0, 1)
    sizes: list[int] = [10, 100]  # records on the axis, at least 1
    distance: str = "l1"  # one of l1, hamming

The annotation gives the type; a list holds at least one value. ``at least``, ``at most``, ``>``,
``<`` or an interval in the comment gives the range, for a list that of every element; ``one of a,
b`` (to the end or a semicolon) gives the choices; ``decimal text`` asks for a number written out as
text. What parameters owe each other are ``assert`` statements with a message in the next cell.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import itertools
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpbayes._validate import shown
from dpbayes.runner.notebooks import tags

NUMBER = r"\s*([-+]?(?:inf|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?))"
COMPARISON = re.compile(rf"(at least|at most|>=|<=|≥|≤|>|<){NUMBER}")
INTERVAL = re.compile(rf"\bin\s*([\[(]){NUMBER}\s*,{NUMBER}\s*([\])])")
CHOICES = re.compile(r"\bone of ([^;]+)")
DECIMAL = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?")
SIGNS = {"at least": ">=", "≥": ">=", "[": ">=", "(": ">", "at most": "<=", "≤": "<=", "]": "<=",
         ")": "<"}  # fmt: skip
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
WORDS = {"true": "True", "false": "False", "null": "None", "none": "None"}
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, type, default, and the words of its comment."""

    name: str
    type: str
    default: Any
    meaning: str = ""

    def __str__(self) -> str:
        note = f"  # {self.meaning}" if self.meaning else ""
        return f"{self.name}: {self.type} = {self.default!r}{note}"

    @property
    def bounds(self) -> list[tuple[str, float]]:
        """Return the sides of the range that the comment states."""
        found = COMPARISON.findall(self.meaning)
        for left, low, high, right in INTERVAL.findall(self.meaning):
            found += [(left, low), (right, high)]
        return [(SIGNS.get(sign, sign), float(limit)) for sign, limit in found]

    @property
    def choices(self) -> list[str]:
        """Return the choices that the comment lists; none where every value is allowed."""
        listed = CHOICES.search(self.meaning)
        return re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", listed[1].strip()) if listed else []


def declared(notebook: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, in the order of its ``parameters`` cell."""
    source = next((one["source"] for one in notebook["cells"] if "parameters" in tags(one)), "")
    lines, found = source.splitlines(), {}
    for line in ast.parse(source).body:
        if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
            got = shown(ast.unparse(line))
            raise ValueError(f"a parameter is declared as 'name: type = value', got {got}")
        name, default = line.target.id, ast.literal_eval(line.value) if line.value else None
        behind = lines[(line.end_lineno or 1) - 1].encode()[line.end_col_offset :].decode()
        one = Parameter(name, ast.unparse(line.annotation), default, behind.lstrip("# ").strip())
        found[name] = Parameter(name, one.type, check(one, default), one.meaning)
    return found


def check(parameter: Parameter, value: Any) -> Any:
    """Return the value in the parameter's type, or raise for a wrong type or range."""
    converted = _converted(value, parameter.type, parameter.name)
    if converted == []:
        raise ValueError(f"{parameter.name} must hold at least one value, got []")
    many = isinstance(converted, list)
    for place, item in enumerate(converted if many else [converted]):
        wanted = item is not None and _missed(parameter, item)
        if wanted:
            name = f"{parameter.name}[{place}]" if many else parameter.name
            raise ValueError(f"{name} must be {wanted}, got {shown(item)}")
    return converted


def _converted(value: Any, kind: str, name: str) -> Any:
    for one in map(str.strip, kind.split("|")):
        if one.startswith("list[") and isinstance(value, (list, tuple)):
            return [_converted(item, one[5:-1], f"{name}[{i}]") for i, item in enumerate(value)]
        if one in ("int", "float") and type(value) in (int, float):
            if not abs(value) <= 1e300:  # nor a whole number beyond all floats
                raise ValueError(f"{name} must be finite, got {shown(value)}")
            if one == "float":
                return float(value)
            if value == int(value) and abs(value) <= LARGEST:
                return int(value)
        if one == type(value).__name__.removesuffix("Type") and str(value).isprintable():
            return value
    raise TypeError(f"{name} must be {kind}, got {shown(value)} ({type(value).__name__})")


def _missed(parameter: Parameter, item: Any) -> str:
    """Say what a value must be, where it is not."""
    bounds, choices = parameter.bounds, parameter.choices
    limits = " and ".join(f"{sign} {limit:g}" for sign, limit in bounds)
    written = "decimal text" in parameter.meaning
    if written and not DECIMAL.fullmatch(item):
        return " and ".join(filter(None, ["decimal text", limits]))
    if written or type(item) in (int, float):
        return "" if all(HOLDS[sign](float(item), limit) for sign, limit in bounds) else limits
    return f"one of {', '.join(choices)}" if choices and item not in choices else ""


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value written on the command line, checked; 1e9 is a whole number, too."""
    if "str" in map(str.strip, parameter.type.split("|")):
        return check(parameter, text)
    if parameter.type == "list[str]" and not re.search("[][()\"']", text):
        return check(parameter, [word.strip() for word in text.split(",")])
    try:
        if "str" not in parameter.type and re.search("[0-9]_|0[xob]", text.lower()):
            raise ValueError("Python reads more in it than digits")
        plain = WORDS.get(text.strip().lower(), text.strip())
        infinite = re.sub(r"(?i)(?<![\w.])\.?(inf|nan)\b", "1e999", plain)
        value = ast.literal_eval(infinite)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        given = f"{shown(text)}, which cannot be read"
        raise ValueError(f"{parameter.name} must be {parameter.type}, got {given}") from error
    one = parameter.type.startswith("list[") and not isinstance(value, (list, tuple))
    return check(parameter, [value] if one else value)


def chosen(name: str, notebook: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter of a notebook, given some as values or as texts.

    Unknown names, values of a wrong type or range, and values that do not fit each other are
    refused with the list of what is allowed.
    """
    known: dict[str, Parameter] = {}
    try:
        known |= declared(notebook)
        values = {key: one.default for key, one in known.items()}
        for key, value in given.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"there is no parameter {key!r}{hint}")
            values[key] = (parse if isinstance(value, str) else check)(known[key], value)
        check_together(notebook, values)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}; {allowed(known)}") from error
    return values


def check_together(notebook: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Try the assertions of the cell after the parameters that speak of nothing else."""
    cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    second = [new["source"] for old, new in itertools.pairwise(cells) if "parameters" in tags(old)]
    with contextlib.suppress(SyntaxError):  # it holds a magic word
        for line in [one for source in second for one in ast.parse(source).body]:
            names = [one for one in ast.walk(line) if isinstance(one, ast.Name)]
            own = {one.id for one in names if isinstance(one.ctx, ast.Store)} | {*dir(builtins)}
            used = {one.id for one in names} - own
            if isinstance(line, ast.Assert) and used <= values.keys():
                try:
                    exec(ast.unparse(line), dict(values))
                except AssertionError as error:
                    got = ", ".join(
                        f"{one} = {shown(values[one])}" for one in values if one in used
                    )
                    raise ValueError(f"{error or ast.unparse(line)}, got {got}") from error


def from_words(assignments: list[str]) -> dict[str, str]:
    """Return the texts given as ``name=value`` words, each name once."""
    found: dict[str, str] = {}
    for key, equals, text in (one.partition("=") for one in assignments):
        if not equals:
            raise ValueError(f"a parameter is given as name=value, got {key!r}")
        if key in found:
            raise ValueError(f"{key} is given more than once")
        found[key] = text
    return found


def allowed(parameters: Mapping[str, Parameter]) -> str:
    """Return the list of what may be given, one parameter a line."""
    lines = "\n".join(f"  {one}" for one in parameters.values())
    return f"its parameters and their defaults are\n{lines}" if lines else "it has no parameters"
