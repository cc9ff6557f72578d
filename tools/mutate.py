"""Change one thing in the code at a time, and see whether the tests notice.

    python tools/mutate.py dpbayes/laws --tests tests/laws --number 100 --log
    mutants.jsonl

A mutant changes one constant, operator, comparison or condition of a function. The
tests run on a copy of the checkout, up to the first failure: then the mutant is caught.
One that passes is put to the probes below: where it moves a number of them by more than
1e-9 it was missed, elsewhere nothing is known of it and it does not count. The log has
a line a mutant, which is not run again.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "_build", "results", "__pycache__", ".*_cache"
)
PROBES = """
import numpy as np, dpbayes as dp
settings = ([7, 3], [30, 70]), ([5, 5, 5], [4, 1, 0])
settings += (([500, 300, 200, 0, 0], [90, 80, 70, 60]),)
names = "expMech", "expMech-smooth", "expMech-delta", "lapMech", "ilapMech"
names += "geometric", "lattice"
for counts in [one for group in settings for one in group]:
    prior = np.ones(len(counts))
    for name in names:
        for epsilon in (0.3, 1.0):
            try:
                mechanism = dp.mechanism(name, epsilon=epsilon)
                law = mechanism.law(counts, prior)
                print(name, law.mean_distance(), law.mean_distance().error)
                print(law.quantile(0.9), law.probability(counts))
                print(law.rvs(3, np.random.default_rng(1)).ravel())
                if sum(counts) <= 20:
                    print(dp.audit(mechanism, sum(counts), prior).epsilon)
            except Exception as error:
                print(type(error).__name__)
    print(dp.hellinger(prior + counts, prior))
    print(dp.global_sensitivity(sum(counts), prior))
"""


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from start to end of a file become `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str


SWAPS: dict[type, str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
}


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield the changes of one module: inside functions, and not in what they say of
    errors.
    """
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.AST, end: bool = False) -> int:
        row, column = (
            ("end_lineno", "end_col_offset") if end else ("lineno", "col_offset")
        )
        return starts[getattr(node, row) - 1] + int(getattr(node, column))

    def between(left: ast.AST, right: ast.AST, operator: ast.AST) -> Iterator[Mutant]:
        new = SWAPS.get(type(operator))
        start, end = place(left, end=True), place(right)
        old = text[start:end].decode()
        symbol = old.strip(" ()\n\\")
        if new is not None and "#" not in old and symbol and symbol in old:
            change = old.replace(symbol, new)
            yield Mutant(
                str(path.relative_to(ROOT)), left.lineno, start, end, old, change
            )  # type: ignore[attr-defined]

    def walk(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments):
            return
        if isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            yield from between(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.Compare):
            yield from between(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            value = node.value
            new = str(not value) if isinstance(value, bool) else repr(value + 1)
            old = text[place(node) : place(node, end=True)].decode()
            file = str(path.relative_to(ROOT))
            yield Mutant(
                file, node.lineno, place(node), place(node, end=True), old, new
            )
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from walk(statement)


def run(
    folder: Path, command: list[str], seconds: int
) -> subprocess.CompletedProcess[str] | None:
    """Run Python in a copy of the checkout; None where it takes longer than it may."""

    def limit() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=folder, env=environment, text=True, preexec_fn=limit,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=4 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return subprocess.CompletedProcess(command, process.returncode, said)


def moved(old: str, new: str) -> bool:
    """Return whether two outputs of the probes differ by more than 1e-9 anywhere."""
    first, second = (
        text.replace("[", " ").replace("]", " ").split() for text in (old, new)
    )
    if len(first) != len(second):
        return True
    for one, other in zip(first, second, strict=True):
        try:
            if abs(float(one) - float(other)) > 1e-9:
                return True
        except ValueError:
            if one != other:
                return True
    return False


def judge(
    mutant: Mutant, folder: Path, tests: list[str], before: str, seconds: int
) -> str:
    """Return whether the mutant was caught, missed, or moves nothing that is known."""
    path = folder / mutant.file
    original = path.read_bytes()
    path.write_bytes(
        original[: mutant.start] + mutant.new.encode() + original[mutant.end :]
    )
    try:
        tested = run(
            folder, ["-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests], seconds
        )
        if tested is None or tested.returncode:
            return "caught"
        probed = run(folder, ["-c", PROBES], seconds)
        return "missed" if probed is None or moved(before, probed.stdout) else "unmoved"
    finally:
        path.write_bytes(original)


def worker(chosen: list[Mutant], tests: list[str], log: Path, seconds: int) -> None:
    """Try mutants one after the other in a copy of the checkout."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name) / "checkout"
        shutil.copytree(ROOT, folder, ignore=NOT_COPIED, symlinks=True)
        before = run(folder, ["-c", PROBES], seconds)
        if before is None or not before.stdout:
            raise SystemExit("the probes fail on the package as it is")
        for mutant in chosen:
            outcome = judge(mutant, folder, tests, before.stdout, seconds)
            with log.open("a") as file:
                file.write(json.dumps({**asdict(mutant), "outcome": outcome}) + "\n")


def main() -> None:
    """Try mutants that the log does not hold yet, and print what was caught and what
    was missed.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sources", nargs="+", help="modules or folders to change")
    parser.add_argument(
        "--tests", nargs="+", default=["tests"], help="what pytest runs"
    )
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seconds", type=int, default=120, help="processor time the tests may take"
    )
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"))
    arguments = parser.parse_args()
    places = [ROOT / one for one in arguments.sources]
    files = sorted(f for p in places for f in (p.rglob("*.py") if p.is_dir() else [p]))
    log = arguments.log
    lines = (
        [json.loads(line) for line in log.read_text().splitlines()]
        if log.exists()
        else []
    )
    outcomes = {
        Mutant(**{k: v for k, v in one.items() if k != "outcome"}): one for one in lines
    }
    left = [
        mutant for file in files for mutant in mutants(file) if mutant not in outcomes
    ]
    chosen = random.Random(arguments.seed).sample(
        left, min(arguments.number, len(left))
    )
    for i in range(arguments.jobs):
        if os.fork() == 0:
            worker(
                chosen[i :: arguments.jobs],
                arguments.tests,
                log.absolute(),
                arguments.seconds,
            )
            os._exit(0)
    for _ in range(arguments.jobs):
        os.wait()
    found = [json.loads(line) for line in log.read_text().splitlines()]
    print(dict(Counter(one["outcome"] for one in found)))
    for one in found:
        if one["outcome"] == "missed":
            print(f"  {one['file']}:{one['line']} {one['old']!r} -> {one['new']!r}")


if __name__ == "__main__":
    main()
