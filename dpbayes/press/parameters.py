"""The parameters of a notebook: read from its first code cell, checked before anything runs.

A notebook declares them in the cell tagged ``parameters``, one annotated line each::

    n: int = 100  # records, at least 1
    epsilon: float = 1.0  # privacy budget, > 0
    delta: float = 0.05  # probability, in (0, 1)
    sizes: list[int] = [10, 100]  # records on the axis, at least 1

The annotation gives the type; a list holds at least one value. ``at least``, ``at most``, ``>``,
``<`` or an interval in the comment gives the range, which for a list holds for every element; ``one
of a, b, c`` (up to the end or a semicolon) gives the choices, ``decimal text`` asks for a number
written out as text, such as "0.1". The comment has no equals sign:
papermill would take the line for two assignments. What parameters owe to each other stands on
comment lines of its own, in the same cell or in a later one that holds nothing else; see
`dpbayes.press.constraints`::

    # together: len(sizes) == len(shares)  # one share for every size
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpbayes.press.constraints import Constraint, only_conditions, read_constraints

NUMBER = r"[-+]?(?:inf|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
COMPARISON = re.compile(rf"(at least|at most|>=|<=|≥|≤|>|<)\s*({NUMBER})")
OPERATORS = {"at least": ">=", "at most": "<=", "≥": ">=", "≤": "<="}
INTERVAL = re.compile(rf"\bin\s*([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])")
CHOICES = re.compile(r"\bone of ([^;]+)")
DECIMAL = "decimal text"
LARGEST_INTEGER = 2**63 - 1
SCALARS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}


@dataclass(frozen=True)
class Bound:
    """One side of a range: the operator and the limit."""

    operator: str
    limit: float

    def holds(self, value: float) -> bool:
        """Say whether a number keeps to this side of the range."""
        return {
            ">": value > self.limit,
            ">=": value >= self.limit,
            "<": value < self.limit,
            "<=": value <= self.limit,
        }[self.operator]

    def __str__(self) -> str:
        return f"{self.operator} {self.limit:g}"


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, type, default, and the words of its comment."""

    name: str
    type: str
    default: Any
    meaning: str = ""
    bounds: tuple[Bound, ...] = ()
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        note = f"  # {self.meaning}" if self.meaning else ""
        return f"{self.name}: {self.type} = {self.default!r}{note}"


class Declarations(dict[str, Parameter]):
    """The parameters of a notebook by name, and what they owe to each other."""

    together: tuple[Constraint, ...] = ()


def load(path: Path) -> dict[str, Any]:
    """Return a notebook's JSON, or raise ValueError that names the file."""
    if not path.is_file():
        raise ValueError(f"no notebook at {path}")
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    return dict(notebook)


def source_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's text, whether the file keeps it as one string or as lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def declared(notebook: Mapping[str, Any]) -> Declarations:
    """Return the parameters of a notebook by name, in the order of its ``parameters`` cell."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        if "parameters" in cell["metadata"].get("tags", []):
            further = [source_of(one) for one in cells if only_conditions(source_of(one))]
            return read_declarations("\n".join([source_of(cell), *further]))
    return Declarations()


def read_declarations(source: str) -> Declarations:
    """Return the parameters declared by the lines of a parameters cell, their defaults checked."""
    found = unchecked_declarations(source)
    for name, parameter in found.items():
        found[name] = replace(parameter, default=check(parameter, parameter.default))
    check_together(found, {name: parameter.default for name, parameter in found.items()})
    return found


def unchecked_declarations(source: str) -> Declarations:
    """Return what the lines of a parameters cell declare, or raise ValueError."""
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = Declarations()
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            line = ast.unparse(statement)
            raise ValueError(f"a parameter is declared as 'name: type = value', got {line!r}")
        name, kind = statement.target.id, ast.unparse(statement.annotation)
        meaning = comments.get(statement.end_lineno or statement.lineno, "")
        default = ast.literal_eval(statement.value) if statement.value else None
        rules = (read_bounds(meaning), read_choices(meaning))
        found[name] = Parameter(name, kind, default, meaning, *rules)
    found.together = read_constraints(source)
    return found


def read_choices(meaning: str) -> tuple[str, ...]:
    """Return the choices that a comment lists; none where every value is allowed."""
    listed = CHOICES.search(meaning)
    return tuple(re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", listed[1].strip())) if listed else ()


def check_together(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise ValueError when values do not fit each other."""
    for constraint in getattr(parameters, "together", ()):
        constraint.check(values)


def read_bounds(meaning: str) -> tuple[Bound, ...]:
    """Return the range that a comment states, as its sides."""
    sides = [
        Bound(OPERATORS.get(operator, operator), float(limit))
        for operator, limit in COMPARISON.findall(meaning)
    ]
    for left, low, high, right in INTERVAL.findall(meaning):
        sides.append(Bound(">=" if left == "[" else ">", float(low)))
        sides.append(Bound("<=" if right == "]" else "<", float(high)))
    return tuple(sides)


def check(parameter: Parameter, value: Any) -> Any:
    """Return the value in the parameter's type, or raise for a wrong type or range."""
    converted = _convert(value, parameter.type, parameter)
    if converted == []:
        raise ValueError(f"{parameter.name} must hold at least one value, got []")
    for item in converted if isinstance(converted, list) else [converted]:
        for bound in parameter.bounds:
            if isinstance(item, (int, float)) and not bound.holds(item):
                allowed = " and ".join(map(str, parameter.bounds))
                raise ValueError(f"{parameter.name} must be {allowed}, got {shortened(item)}")
        if parameter.choices and item is not None and str(item) not in parameter.choices:
            choices = ", ".join(parameter.choices)
            raise ValueError(f"{parameter.name} must be one of {choices}, got {shortened(item)}")
        if DECIMAL in parameter.meaning and not _is_decimal(str(item), parameter.bounds):
            wanted = " and ".join([DECIMAL, *map(str, parameter.bounds)])
            raise ValueError(f"{parameter.name} must be {wanted}, got {shortened(item)}")
    return converted


def _is_decimal(text: str, bounds: tuple[Bound, ...]) -> bool:
    if not re.fullmatch(r"[0-9]{1,40}(\.[0-9]{1,40})?", text):
        return False
    return all(bound.holds(float(text)) for bound in bounds)


def _convert(value: Any, kind: str, parameter: Parameter) -> Any:
    alternatives = [part.strip() for part in kind.split("|")]
    if value is None and "None" in alternatives:
        return None
    for alternative in alternatives:
        if alternative.startswith("list[") and isinstance(value, (list, tuple)):
            return [_convert(item, alternative[5:-1], parameter) for item in value]
        wanted = SCALARS.get(alternative)
        if wanted is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
            return float(value)
        if wanted is int and type(value) is int and abs(value) > LARGEST_INTEGER:
            break
        if wanted is str and isinstance(value, str) and not value.isprintable():
            break
        if wanted is not None and type(value) is wanted and wanted is not float:
            return value
    given = f"{shortened(value)} ({type(value).__name__})"
    raise TypeError(f"{parameter.name} must be {parameter.type}, got {given}")


def shortened(value: Any) -> str:
    """Return a value as a message shows it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "an integer of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def parse(parameter: Parameter, text: str) -> Any:
    """Return the value written on the command line, checked against the parameter."""
    if "str" in [part.strip() for part in parameter.type.split("|")]:
        return check(parameter, text)
    if parameter.type == "list[str]" and not re.search("[][()\"']", text):
        return check(parameter, [word.strip() for word in text.split(",")])
    plain = {"true": "True", "false": "False", "null": "None", "none": "None"}
    try:
        if "str" not in parameter.type and re.search("[0-9]_|0[xob]", text.lower()):
            raise ValueError("Python reads more in it than digits")
        value = ast.literal_eval(plain.get(text.strip().lower(), text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        given = f"{shortened(text)}, which cannot be read"
        raise ValueError(f"{parameter.name} must be {parameter.type}, got {given}") from error
    if parameter.type.startswith("list[") and not isinstance(value, (list, tuple)):
        value = [value]
    return check(parameter, value)


def chosen(
    name: str, parameters: Mapping[str, Parameter], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of every parameter, refusing names that the notebook does not declare."""
    unknown = [given for given in overrides if given not in parameters]
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; {allowed(parameters)}")
    try:
        values = {
            key: check(parameter, overrides[key]) if key in overrides else parameter.default
            for key, parameter in parameters.items()
        }
        check_together(parameters, values)
        return values
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}; {allowed(parameters)}") from error


def chosen_from_text(
    name: str, parameters: Mapping[str, Parameter], assignments: list[str]
) -> dict[str, Any]:
    """Return every parameter's value, given ``name=value`` words from the command line."""
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ValueError(f"a parameter is given as name=value, got {assignment!r}")
        if key not in parameters:
            raise ValueError(f"{name} has no parameter {key!r}; {allowed(parameters)}")
        if key in overrides:
            raise ValueError(f"{name}: {key} is given more than once")
        try:
            overrides[key] = parse(parameters[key], text)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{name}: {error}; {allowed(parameters)}") from error
    return chosen(name, parameters, overrides)


def listing(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return a line for every parameter and for every condition on several of them."""
    together = [f"# together: {one}" for one in getattr(parameters, "together", ())]
    return [*map(str, parameters.values()), *together]


def allowed(parameters: Mapping[str, Parameter]) -> str:
    """Return the list of what may be given, one parameter a line."""
    if not parameters:
        return "it has no parameters"
    lines = "\n".join(f"  {line}" for line in listing(parameters))
    return f"its parameters and their defaults are\n{lines}"
