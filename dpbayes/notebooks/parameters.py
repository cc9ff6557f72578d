"""Notebooks: where they are, what they are called, and their parameters.

A notebook declares these in the cell tagged ``parameters``, one annotated line each::

    n: int = 100  # records, at least 1, at most 1e9
    epsilon: float = 1.0  # privacy parameter, > 0
    sizes: list[float] = [10, 100]  # records on the axis, in [1, 1e6)
    distance: str = "l1"  # one of l1, hamming

Comments may stand before them, and go on in the lines below. The type is int, float,
str, bool, or a list of one of these, which holds at least one value. The comment gives
the range or the choices (to its end or a semicolon), for a list those of every value.
What parameters owe each other are ``assert`` statements with a message in the next
cell.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpbayes._validate import shown

CARRIED = Path(__file__).parents[1] / "carried"  # what a wheel brings
DECLARATION = re.compile(r"(\w+): ([\w\[\]]+) = (.+?)(?:\s+#\s*(.*))?", re.DOTALL)
NUMBER = r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*"
RANGE = re.compile(
    rf"(at least|at most|>=?|<=?){NUMBER}|\bin\s*([\[(]){NUMBER},{NUMBER}([\])])"
)
CHOICES = re.compile(r"\bone of ([^;]+)")
HOLDS = {
    **dict.fromkeys(("at least", ">=", "["), operator.ge),
    **dict.fromkeys(("at most", "<=", "]"), operator.le),
    **dict.fromkeys((">", "("), operator.gt),
    **dict.fromkeys(("<", ")"), operator.lt),
}
LARGEST = 2**63 - 1
TEXTS = ("text", "text/plain", "text/markdown", "text/html", "image/svg+xml")


def folder(start: Path) -> Path:
    """Return the folder ``notebooks`` here or in a folder above, else that of the
    package.
    """
    for one in (start, *start.parents):
        if (one / "notebooks").is_dir() and (one / "_toc.yml").is_file():
            return one / "notebooks"
    return CARRIED / "notebooks"


def all_notebooks(folder: Path) -> dict[str, Path]:
    """Return every notebook below a folder by its name, such as
    ``documents/D-table1``."""
    paths = [
        one for one in sorted(folder.rglob("*.ipynb")) if "-checkpoint" not in one.name
    ]
    return {one.relative_to(folder).with_suffix("").as_posix(): one for one in paths}


def find(given: str, start: Path) -> tuple[str, Path]:
    """Return name and path of the notebook meant by a path, a name or the last part of
    a name.
    """
    path = (start / given).resolve()
    if path.suffix == ".ipynb" and path.is_file():
        _, inside, below = path.with_suffix("").as_posix().rpartition("/notebooks/")
        return below if inside else path.stem, path
    known = all_notebooks(folder(start))
    name = given.removeprefix("notebooks/").removesuffix(".ipynb").lower()
    short = {one: one.rpartition("/")[2].lower() for one in known}
    meant = [one for one in known if name in (one.lower(), short[one])]
    if len(meant) == 1:
        return meant[0], known[meant[0]]
    near = difflib.get_close_matches(name.rpartition("/")[2], short.values(), n=3)
    meant = meant or [one for one in known if short[one] in near]
    hint = f"did you mean {' or '.join(meant)}?" if meant else "try `dpbayes list`"
    raise ValueError(f"{given!r} is not the name of one notebook; {hint}")


def load(path: Path) -> dict[str, Any]:
    """Return a notebook's JSON, each source and each text that it shows in one piece;
    ValueError names a file that is none.
    """
    try:
        notebook = dict(json.loads(path.read_text(encoding="utf-8")))
        for place, cell in enumerate(notebook["cells"]):
            cell["source"] = "".join(cell["source"])
            cell.setdefault("id", f"cell-{place}")
            for one in cell.get("outputs", []):
                for text in (one, one.get("data", {})):
                    lines = {k: v for k, v in text.items() if k in TEXTS}
                    text.update({key: "".join(value) for key, value in lines.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    return notebook


def tags(cell: Mapping[str, Any]) -> list[str]:
    """Return the tags of a cell."""
    return list(cell["metadata"].get("tags", []))


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, type, default, and the words of its comment."""

    name: str
    type: str
    default: Any
    meaning: str = ""

    def __str__(self) -> str:
        value = "" if self.default is None else f" = {self.default!r}"
        note = f"  # {self.meaning}" if self.meaning else ""
        return f"{self.name}: {self.type}{value}{note}"

    def check(self, value: Any) -> Any:
        """Return the value in the parameter's type, or raise for a wrong type or
        range."""
        if self.type.startswith("list[") and isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"{self.name} must hold at least one value, got []")
            names = (f"{self.name}[{place}]" for place in range(len(value)))
            each = (replace(self, name=name, type=self.type[5:-1]) for name in names)
            return [one.check(item) for one, item in zip(each, value, strict=True)]
        if self.type in ("int", "float") and type(value) in (int, float):
            if not abs(value) <= 1e300:  # nor a whole number beyond all floats
                raise ValueError(f"{self.name} must be finite, got {shown(value)}")
            if self.type == "float" or (value == int(value) and abs(value) <= LARGEST):
                value = float(value) if self.type == "float" else int(value)
        if type(value).__name__ != self.type or not str(value).isprintable():
            got = f"{shown(value)} ({type(value).__name__})"
            raise TypeError(f"{self.name} must be {self.type}, got {got}")
        if wanted := _missed(self.meaning, value):
            raise ValueError(f"{self.name} must be {wanted}, got {shown(value)}")
        return value

    def parse(self, text: str) -> Any:
        """Return the value written on the command line, checked; 1e9 is a whole number,
        too.
        """
        if self.type == "str":
            return self.check(text)
        if self.type == "list[str]" and not re.search("[][()\"']", text):
            return self.check([word.strip() for word in text.split(",")])
        try:
            words = re.sub(r"(?<![\w.])0+(?=\d)", "", text.strip())  # 070 is seventy
            value = ast.literal_eval(
                words.capitalize() if self.type == "bool" else words
            )
        except (
            ValueError,
            SyntaxError,
            TypeError,
            RecursionError,
            MemoryError,
        ) as error:
            got = f"{shown(text)}, which cannot be read"
            raise ValueError(f"{self.name} must be {self.type}, got {got}") from error
        alone = self.type.startswith("list[") and not isinstance(value, list | tuple)
        return self.check([value] if alone else value)


def _missed(meaning: str, value: Any) -> str:
    """Return the range or the choices of a comment that a value is not in."""
    if isinstance(value, str):
        listed = CHOICES.search(meaning)
        return (
            listed[0]
            if listed and value not in re.split(r",\s*", listed[1].strip())
            else ""
        )
    found = list(RANGE.finditer(meaning))
    for sign, limit, left, low, high, right in (one.groups() for one in found):
        sides = [(sign, limit)] if sign else [(left, low), (right, high)]
        if not all(HOLDS[side](value, float(end)) for side, end in sides):
            return " and ".join(one[0].strip() for one in found)
    return ""


def declared(notebook: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a notebook by name, in the order of its ``parameters``
    cell, with their own values.
    """
    cells = [one["source"] for one in notebook["cells"] if "parameters" in tags(one)]
    found = declarations(cells[0]) if cells else {}
    for name, one in found.items():
        value = ast.literal_eval(str(one.default))
        found[name] = replace(one, default=one.check(value))
    return found


def declarations(source: str) -> dict[str, Parameter]:
    """Return the parameters that a cell declares, with the text of their values."""
    found = {}
    source = re.sub(r"\A(#.*\n)+", "", source).strip()  # what is said before
    for line in re.split(r"\n(?=\w)", source) if source else ():
        declaration = DECLARATION.fullmatch(line)
        if declaration is None:
            raise ValueError(
                f"a parameter is declared as 'name: type = value', got {shown(line)}"
            )
        name, kind, value, meaning = declaration.groups("")
        found[name] = Parameter(name, kind, value, re.sub(r"\s*\n#\s*", " ", meaning))
    return found


def chosen(
    name: str, notebook: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of every parameter, given some as values or texts; refuse what
    is wrong.
    """
    try:
        known = declared(notebook)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}") from error
    values = {key: one.default for key, one in known.items()}
    values |= checked(name, known, given)
    try:
        check_together(notebook, values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}; {allowed(known)}") from error
    return values


def checked(
    name: str, known: Mapping[str, Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the given values or texts in their declared types; refuse what is wrong
    and say what is allowed.
    """
    values = {}
    try:
        for key, value in given.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"there is no parameter {key!r}{hint}")
            one = known[key]
            if isinstance(value, list) and one.type not in ("str", "list[str]"):
                written = all(isinstance(item, str) for item in value)
                value = ",".join(value) if value and written else value
            text = isinstance(value, str) and one.type != "str"
            values[key] = one.parse(value) if text else one.check(value)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}; {allowed(known)}") from error
    return values


def check_together(notebook: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Try the assertions of the second code cell, in loops too, that speak of
    parameters alone.
    """
    code = [one["source"] for one in notebook["cells"] if one["cell_type"] == "code"]
    with contextlib.suppress(SyntaxError):  # it holds a magic word
        for line in ast.parse("".join(code[1:2])).body:
            inside = line.body if isinstance(line, ast.For) else [line]
            if not all(isinstance(one, ast.Assert) for one in inside):
                continue
            try:
                exec(ast.unparse(line), dict(values))
            except NameError:
                continue  # it speaks of something else
            except AssertionError as error:
                raise ValueError(str(error) or ast.unparse(line)) from error


def from_words(assignments: list[str]) -> dict[str, str]:
    """Return the texts given as ``name=value`` words, each name once."""
    found: dict[str, str] = {}
    for key, equals, text in (one.partition("=") for one in assignments):
        if key in found or not equals:
            raise ValueError(f"{key} must be given once, as name=value")
        found[key] = text
    return found


def allowed(parameters: Mapping[str, Parameter]) -> str:
    """Return the list of what may be given, one parameter a line."""
    lines = "\n".join(f"  {one}" for one in parameters.values())
    known = any(one.default is not None for one in parameters.values())
    own = " and their defaults" if known else ""
    return f"its parameters{own} are\n{lines}" if lines else "it has no parameters"
