"""Single changes of one line of the mathematics: which functions, and what can be changed in them.

`tools/mutate.py` tries them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WHOLE_FILES = (
    "sensitivity.py", "samplers/whole_numbers.py", "samplers/candidates.py", "samplers/flips.py",
    "samplers/gaussian.py", "samplers/counts.py", "samplers/sum_zero.py", "log_gamma.py",
    "samplers/histograms.py", "samplers/category_steps.py", "samplers/exponential_sums.py",
    "samplers/lazy_number.py", "samplers/sensitivities.py", "samplers/folded.py",
)  # fmt: skip
MECHANISMS = (
    "exponential", "calibrations", "laplace", "geometric", "lattice", "permute_and_flip",
    "discrete_gaussian", "repaired", "parameter_laplace", "folded",
)  # fmt: skip
FUNCTIONS = {
    "law", "factor", "sensitivity", "gamma", "rate", "rates", "exact_rate", "scaled", "enumerated",
    "profile", "draw", "scale", "log_step_probabilities", "_branches", "marginal", "_marginal",
    "_shift", "_log_cumulative", "_log_survival", "_one_sided", "_answers", "_answer",
    "_log_laplace_below", "_exponents", "variance", "noise",
}  # fmt: skip
ARGUMENTS = {"flint", "check_size", "__post_init__"}
"""Functions that refuse arguments: they compute nothing."""
# What is checked for a change in each file.
CONCERNED: dict[str, tuple[str, ...]] = {
    "sensitivity.py": ("expMech", "expMech-smooth", "expMech-delta", "expMech-local"),
    "log_gamma.py": ("expMech",),
    "samplers/whole_numbers.py": (
        "geometric",
        "ilapMech",
        "draft-laplace",
        "lattice",
        "discrete-gaussian",
        "optimal",
    ),
    "samplers/candidates.py": ("expMech",),
    "samplers/flips.py": ("permute-and-flip",),
    "samplers/folded.py": ("folded",),
    "samplers/gaussian.py": ("discrete-gaussian",),
    "samplers/counts.py": ("expMech",),
    "samplers/sum_zero.py": ("lattice",),
    "samplers/histograms.py": ("expMech",),
    "samplers/category_steps.py": ("expMech",),
    "samplers/exponential_sums.py": ("expMech",),
    "samplers/lazy_number.py": ("expMech",),
    "samplers/sensitivities.py": ("expMech", "expMech-smooth", "expMech-delta"),
    "mechanisms/exponential.py": ("expMech", "expMech-smooth", "expMech-delta"),
    "mechanisms/calibrations.py": ("expMech", "expMech-local", "expMech-smooth", "expMech-delta"),
    "mechanisms/laplace.py": ("lapMech", "ilapMech", "draft-laplace"),
    "mechanisms/geometric.py": ("geometric", "lattice"),
    "mechanisms/lattice.py": ("lattice",),
    "mechanisms/permute_and_flip.py": ("permute-and-flip",),
    "mechanisms/folded.py": ("folded",),
    "mechanisms/discrete_gaussian.py": ("discrete-gaussian",),
    "mechanisms/repaired.py": ("expMech-repaired",),
    "mechanisms/parameter_laplace.py": ("parameter-laplace",),
}
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Pow: "*",
}  # fmt: skip
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: in `file`, at byte offsets `start` to `end` of its text, to `new`.

    `function` is the first line of the function it stands in, decorators included.
    """

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    function: int = 0


def mutants() -> list[Mutant]:
    """Return every mutant of the chosen functions, in the order of the files."""
    files = [*WHOLE_FILES, *(f"mechanisms/{name}.py" for name in MECHANISMS)]
    return [mutant for file in files for mutant in _of_file(file)]


def _of_file(file: str) -> Iterator[Mutant]:
    text = (ROOT / "dpbayes" / file).read_text()
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    source = text.encode()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        if file not in WHOLE_FILES and function.name not in FUNCTIONS:
            continue
        if function.name in ARGUMENTS or (file, function.name) == ("sensitivity.py", "_checked"):
            continue
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            for mutant in _of_node(file, source, starts, node):
                yield replace(mutant, function=_first_line(function))


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(mark.lineno for mark in function.decorator_list)])


def _of_node(file: str, source: bytes, starts: list[int], node: ast.AST) -> Iterator[Mutant]:
    def at(part: Any, end: bool = False) -> int:
        line, column = (
            (part.end_lineno, part.end_col_offset) if end else (part.lineno, part.col_offset)
        )
        return starts[line - 1] + int(column)

    def change(start: int, end: int, new: str, line: int) -> Mutant:
        return Mutant(file, line, start, end, source[start:end].decode(), new)

    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        new = (
            repr(node.value + 1) if isinstance(node.value, int) else repr(node.value * 1.25 or 0.25)
        )
        yield change(at(node), at(node, True), new, node.lineno)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        low, high = at(node.left, True), at(node.right)
        between = source[low:high].decode()
        symbol = between.replace("(", "").replace(")", "").strip()
        if symbol:
            new = between.replace(symbol, OPERATORS[type(node.op)])
            yield change(low, high, new, node.lineno)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        low, high = at(node.left, True), at(node.comparators[0])
        between = source[low:high].decode()
        symbol = between.replace("(", "").replace(")", "").strip()
        yield change(
            low, high, between.replace(symbol, COMPARISONS[type(node.ops[0])]), node.lineno
        )
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield change(at(node), at(node) + 1, "", node.lineno)
