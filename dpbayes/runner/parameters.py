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
import difflib
import io
import math
import operator
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpbayes.runner.notebooks import tags

NUMBER = r"[-+]?(?:inf|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
COMPARISON = re.compile(rf"(at least|at most|>=|<=|≥|≤|>|<)\s*({NUMBER})")
INTERVAL = re.compile(rf"\bin\s*([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])")
CHOICES = re.compile(r"\bone of ([^;]+)")
INFINITE = re.compile(r"(?<![\w.])(-?)\.?(?:inf|nan)\b", re.IGNORECASE)
SIGNS = {"at least": ">=", "≥": ">=", "[": ">=", "(": ">", "at most": "<=", "≤": "<=", "]": "<=",
         ")": "<"}  # fmt: skip
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
SCALARS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
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
        found = [(SIGNS.get(sign, sign), limit) for sign, limit in COMPARISON.findall(self.meaning)]
        for left, low, high, right in INTERVAL.findall(self.meaning):
            found += [(SIGNS[left], low), (SIGNS[right], high)]
        return [(sign, float(limit)) for sign, limit in found]

    @property
    def choices(self) -> list[str]:
        """Return the choices that the comment lists; none where every value is allowed."""
        listed = CHOICES.search(self.meaning)
        return re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", listed[1].strip()) if listed else []


def declared(notebook: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, in the order of its ``parameters`` cell."""
    cell = next((one for one in notebook["cells"] if "parameters" in tags(one)), None)
    found = read_declarations(cell["source"]) if cell else {}
    return {
        name: Parameter(name, one.type, check(one, one.default), one.meaning)
        for name, one in found.items()
    }


def read_declarations(source: str) -> dict[str, Parameter]:
    """Return what the lines of a parameters cell declare, or raise ValueError."""
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for line in ast.parse(source).body:
        if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
            shown = ast.unparse(line)
            raise ValueError(f"a parameter is declared as 'name: type = value', got {shown!r}")
        name, default = line.target.id, ast.literal_eval(line.value) if line.value else None
        meaning = comments.get(line.end_lineno or line.lineno, "")
        found[name] = Parameter(name, ast.unparse(line.annotation), default, meaning)
    return found


def check(parameter: Parameter, value: Any) -> Any:
    """Return the value in the parameter's type, or raise for a wrong type or range."""
    converted = _converted(value, parameter.type, parameter.name)
    if converted == []:
        raise ValueError(f"{parameter.name} must hold at least one value, got []")
    many = isinstance(converted, list)
    for place, item in enumerate(converted if many else [converted]):
        name = f"{parameter.name}[{place}]" if many else parameter.name
        wanted = _refused(parameter, item)
        if wanted and item is not None:
            raise ValueError(f"{name} must be {wanted}, got {_short(item)}")
    return converted


def _refused(parameter: Parameter, item: Any) -> str | None:
    """Say what a value must be, where it is not."""
    bounds, text = parameter.bounds, str(item)
    allowed = " and ".join(f"{sign} {limit:g}" for sign, limit in bounds)
    written = "decimal text" in parameter.meaning
    if written and not re.fullmatch(r"[0-9]{1,40}(\.[0-9]{1,40})?", text):
        return f"decimal text{' and ' if allowed else ''}{allowed}"
    number = float(item) if written or type(item) in (int, float) else None
    if number is not None and not all(HOLDS[sign](number, limit) for sign, limit in bounds):
        return allowed
    choices = parameter.choices
    return f"one of {', '.join(choices)}" if choices and text not in choices else None


def _converted(value: Any, kind: str, name: str) -> Any:
    alternatives = [part.strip() for part in kind.split("|")]
    if value is None and "None" in alternatives:
        return None
    for one in alternatives:
        if one.startswith("list[") and isinstance(value, (list, tuple)):
            return [_converted(item, one[5:-1], f"{name}[{i}]") for i, item in enumerate(value)]
        wanted = SCALARS.get(one)
        plain = type(value) in (int, float)
        if wanted in (int, float) and plain and not _is_finite(value):
            raise ValueError(f"{name} must be finite, got {_short(value)}")
        if wanted is float and plain:
            return float(value)
        if wanted is int and plain and value == int(value) and abs(value) <= LARGEST:
            return int(value)
        if wanted in (bool, str) and type(value) is wanted and str(value).isprintable():
            return value
    raise TypeError(f"{name} must be {kind}, got {_short(value)} ({type(value).__name__})")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return "a whole number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value written on the command line, checked; 1e9 is a whole number, too."""
    if "str" in [part.strip() for part in parameter.type.split("|")]:
        return check(parameter, text)
    if parameter.type == "list[str]" and not re.search("[][()\"']", text):
        return check(parameter, [word.strip() for word in text.split(",")])
    try:
        if "str" not in parameter.type and re.search("[0-9]_|0[xob]", text.lower()):
            raise ValueError("Python reads more in it than digits")
        plain = WORDS.get(text.strip().lower(), text.strip())
        value = ast.literal_eval(INFINITE.sub(r"\g<1>1e999", plain))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        given = f"{_short(text)}, which cannot be read"
        raise ValueError(f"{parameter.name} must be {parameter.type}, got {given}") from error
    if parameter.type.startswith("list[") and not isinstance(value, (list, tuple)):
        value = [value]
    return check(parameter, value)


def chosen(name: str, notebook: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter of a notebook, given some as values or as texts.

    Unknown names, values of a wrong type or range, and values that do not fit each other are
    refused with the list of what is allowed.
    """
    known = declared(notebook)
    try:
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"there is no parameter {key!r}{hint}")
        values = {
            key: one.default
            if key not in given
            else (parse if isinstance(given[key], str) else check)(one, given[key])
            for key, one in known.items()
        }
        check_together(notebook, values)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}; {allowed(known)}") from error
    return values


def check_together(notebook: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Try the assertions of the cell after the parameters that speak of nothing else."""
    cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    places = [place for place, one in enumerate(cells) if "parameters" in tags(one)]
    try:
        body = ast.parse(cells[places[0] + 1]["source"]).body
    except (IndexError, SyntaxError):  # there is no such cell, or it holds a magic word
        return
    for line in [one for one in body if isinstance(one, ast.Assert)]:
        names = [one for one in ast.walk(line) if isinstance(one, ast.Name)]
        own = {one.id for one in names if isinstance(one.ctx, ast.Store)} | {*dir(builtins)}
        if not {one.id for one in names} <= own | values.keys():
            continue
        try:
            exec(compile(ast.Module([line], []), "<parameters>", "exec"), dict(values))
        except AssertionError as error:
            got = [
                f"{key} = {_short(values[key])}" for key in values if key in {n.id for n in names}
            ]
            raise ValueError(f"{error or ast.unparse(line)}, got {', '.join(got)}") from error


def from_words(assignments: list[str]) -> dict[str, str]:
    """Return the texts given as ``name=value`` words, each name once."""
    found: dict[str, str] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ValueError(f"a parameter is given as name=value, got {assignment!r}")
        if key in found:
            raise ValueError(f"{key} is given more than once")
        found[key] = text
    return found


def allowed(parameters: Mapping[str, Parameter]) -> str:
    """Return the list of what may be given, one parameter a line."""
    if not parameters:
        return "it has no parameters"
    lines = "\n".join(f"  {one}" for one in parameters.values())
    return f"its parameters and their defaults are\n{lines}"
