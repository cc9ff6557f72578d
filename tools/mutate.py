"""Change one line of the mathematics at a time, and see whether the checks notice.

    python tools/mutate.py --number 150 --jobs 2 --log mutants.jsonl

Mutants are single changes of a constant, an operator, a comparison or a sign in the functions that
make up laws, sensitivities and samplers. A mutant counts when it moves a probability, a
sensitivity or a sampler's reached mass by more than 1e-9 on the probes of `tools/mutant_checks.py`.
It is caught when one of the checks there objects, or the tests of its file. Only probes and checks
that call the changed function are asked, those that take least time first.

The package is imported once, from a copy. Each mutant lives in a forked child, where the code of
the changed function takes the place of the old one; nothing in the repository is touched. The log
holds one line a mutant, and what stands in it is not run again.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import pickle
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from mutants import CONCERNED, ROOT, Mutant, mutants

LIMIT = 1e-9
PATIENCE = 2.0, 10.0
"""Seconds of processor time a probe or check may take: the first, and the second times its own."""


def answer(compute: Callable[[], Any]) -> Any:
    """Return what a probe computes as an array, or the name of its error."""
    import numpy as np

    try:
        return np.asarray(compute(), dtype=np.float64)
    except Exception as error:
        return type(error).__name__


def same(old: Any, new: Any) -> bool:
    """Return whether two answers differ by no more than the limit."""
    import numpy as np

    if isinstance(old, str) or isinstance(new, str):
        return isinstance(old, str) and isinstance(new, str) and old == new
    return old.shape == new.shape and np.allclose(old, new, rtol=0.0, atol=LIMIT, equal_nan=True)


@dataclass(frozen=True)
class Asked:
    """A probe or check on the package as it is.

    The answer, the processor time, the functions called (file, first line), the lines run (file,
    line) and what was imported.
    """

    answer: Any
    seconds: float
    called: frozenset[tuple[str, int]]
    lines: frozenset[tuple[str, int]]
    modules: tuple[str, ...]


def asked(compute: Callable[[], Any], folder: str) -> Asked:
    """Run one probe or check in a child, so that nothing is kept from the one before."""

    def run() -> bytes:
        started = time.process_time()
        with Calls(folder) as calls:
            found = answer(compute)
        seconds = time.process_time() - started
        called, lines = frozenset(calls.called), frozenset(calls.lines)
        return pickle.dumps(Asked(found, seconds, called, lines, tuple(sys.modules)))

    return pickle.loads(in_child(run))


class Calls:
    """Notes which functions of the copied package are called, and which of their lines run."""

    def __init__(self, folder: str) -> None:
        self.root = str(Path(folder) / "dpbayes") + "/"
        self.called, self.lines = set[tuple[str, int]](), set[tuple[str, int]]()

    def __enter__(self) -> Calls:
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.root):
            return None
        file = code.co_filename[len(self.root) :]
        self.called.add((file, code.co_firstlineno))

        def line(frame: Any, event: str, _: Any) -> Any:
            self.lines.add((file, frame.f_lineno))
            return line

        return line


def in_child(run: Callable[[], bytes]) -> bytes:
    """Return what `run` returns in a forked child, or nothing if it does not come to an end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with os.fdopen(write, "wb") as pipe:
                pipe.write(run())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def _patience(seconds: float) -> None:
    least, times = PATIENCE
    limit = int(time.process_time() + least + times * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def put_in(mutant: Mutant, folder: str) -> None:
    """Give every live function of the mutant's file the code of the changed text."""
    path = Path(folder) / "dpbayes" / mutant.file
    original = path.read_bytes()
    changed = original[: mutant.start] + mutant.new.encode() + original[mutant.end :]
    codes = {_place(code): code for code in _codes(compile(changed, str(path), "exec"))}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename == str(path):
            thing.__code__ = codes[_place(thing.__code__)]


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@dataclass(frozen=True)
class Baseline:
    """Probes and checks by file, each with what it did on the package as it is."""

    probes: dict[str, dict[str, tuple[Callable[[], Any], Asked]]]
    checks: dict[str, dict[str, tuple[Callable[[], Any], Asked]]]

    @staticmethod
    def calling(
        those: dict[str, tuple[Callable[[], Any], Asked]], mutant: Mutant
    ) -> list[tuple[str, Callable[[], Any], Asked]]:
        """Return the probes or checks that call the changed function, the shortest first."""
        place = mutant.file, mutant.function
        calling = [(name, *one) for name, one in those.items() if place in one[1].called]
        return sorted(calling, key=lambda one: one[2].seconds)


def baseline(folder: str, files: list[str]) -> Baseline:
    """Ask every probe and check once; raise SystemExit where one objects already."""
    from mutant_checks import checks, probes

    known: dict[str, Asked] = {}

    def measured(those: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
        for name, compute in those.items():
            if name not in known:
                known[name] = asked(compute, folder)
            yield name, (compute, known[name])

    found = Baseline({}, {})
    for file in files:
        found.probes[file] = dict(measured(probes(CONCERNED[file])))
        found.checks[file] = dict(measured(checks(CONCERNED[file])))
        for name, (_, one) in found.checks[file].items():
            if isinstance(one.answer, str):
                raise SystemExit(f"the checks object to the package as it is: {name}: {one.answer}")
    for name in sorted({module for one in known.values() for module in one.modules}):
        if name.startswith(("dpbayes", "tests.")):
            importlib.import_module(name)
    return found


def tried(folder: str, before: Baseline, mutant: Mutant) -> bytes:
    """Return which probe moved under the mutant, and which check objected."""
    put_in(mutant, folder)
    probes = before.calling(before.probes[mutant.file], mutant)
    run = any((mutant.file, mutant.line) in one.lines for _, _, one in probes)
    found = {"moved": "", "caught": "", "reached": run}
    for name, compute, one in probes:
        _patience(one.seconds)
        if not same(one.answer, answer(compute)):
            found["moved"] = name
            break
    else:
        return json.dumps(found).encode()
    for name, compute, one in before.calling(before.checks[mutant.file], mutant):
        _patience(one.seconds)
        try:
            compute()
        except BaseException as error:
            found["caught"] = f"{name}: {type(error).__name__}"
            break
    return json.dumps(found).encode()


def tested(folder: str, mutant: Mutant) -> str:
    """Return what the tests of the mutant's file object to, if they pass without it."""
    from mutant_checks import passing, tests_of

    path = tests_of(mutant.file)
    seconds = tests_take(path)

    def run() -> bytes:
        put_in(mutant, folder)
        _patience(seconds)
        try:
            passing(path)
        except BaseException as error:
            return f"tests {path.name}: {type(error).__name__}".encode()
        return b"none"

    said = in_child(run).decode()
    return "time: limit" if not said else "" if said == "none" else said


@cache
def tests_take(path: Path) -> float:
    """Return the processor time of the tests of a file; raise SystemExit where one fails."""
    from mutant_checks import passing

    def run() -> bytes:
        started = time.process_time()
        passing(path)
        return str(time.process_time() - started).encode()

    said = in_child(run)
    if not said:
        raise SystemExit(f"the tests object to the package as it is: {path}")
    return float(said)


def worker(until: float, chosen: list[Mutant], folder: str, before: Baseline, log: Path) -> None:
    """Try mutants one after the other; add a line to the log for each.

    Those that no check objects to are put to the tests of their file at the end.
    """
    missed = []
    for mutant in chosen:
        if time.time() > until:
            break
        started = time.time()
        said = in_child(partial(tried, folder, before, mutant))
        outcome = json.loads(said) if said else {"moved": "time", "caught": "time: limit"}
        outcome["seconds"] = round(time.time() - started, 1)
        if outcome["moved"] and not outcome["caught"]:
            missed.append((mutant, outcome))
        _write(log, {**vars(mutant), **outcome})
    for mutant, outcome in missed:
        _write(log, {**vars(mutant), **outcome, "caught": tested(folder, mutant)})


def _write(log: Path, line: dict[str, Any]) -> None:
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _use(folder: str) -> None:
    # The copy first, then the repository for the tests.
    sys.path[:0] = [folder, str(ROOT)]
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    with Calls(folder) as calls:
        import mutant_checks

        import dpbayes

    assert Path(dpbayes.__file__).is_relative_to(folder), mutant_checks
    early = [one for one in mutants() if (one.file, one.function) in calls.called]
    if early:
        raise SystemExit(f"functions that run at import cannot be changed later: {early}")


def main() -> None:
    """Try the mutants that the log does not hold yet, and print the share that is caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=150, help="so many more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="no new mutant after this")
    parser.add_argument("--only", default="", help="files whose name holds this")
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"), help="one line a mutant")
    arguments = parser.parse_args()
    done = {_key(one) for one in _logged(arguments.log)}
    every = [mutant for mutant in mutants() if arguments.only in mutant.file]
    left = [mutant for mutant in every if _key(vars(mutant)) not in done]
    chosen = random.Random(arguments.seed).sample(left, min(arguments.number, len(left)))
    folder = tempfile.mkdtemp(prefix="mutants-")
    shutil.copytree(ROOT / "dpbayes", Path(folder) / "dpbayes")
    _use(folder)
    before = baseline(folder, sorted({mutant.file for mutant in chosen}))
    until = time.time() + 60 * arguments.minutes
    for i in range(arguments.jobs):
        if os.fork() == 0:
            worker(until, chosen[i :: arguments.jobs], folder, before, arguments.log)
            os._exit(0)
    for _ in range(arguments.jobs):
        os.wait()
    keys = {_key(vars(mutant)) for mutant in every}
    report([one for one in _logged(arguments.log) if _key(one) in keys], len(every))
    shutil.rmtree(folder)


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[name] for name in ("file", "line", "start", "old", "new"))


def _logged(log: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return list({_key(one): one for one in lines}.values())


def report(results: list[dict[str, Any]], every: int) -> None:
    """Print how many mutants there were, moved a number and were caught, and which were not."""
    moved = [one for one in results if one["moved"]]
    missed = [one for one in moved if not one["caught"]]
    print(f"{len(results)} of {every} mutants; {len(moved)} moved a number")
    print(Counter(one["caught"].partition(":")[0] for one in moved if one["caught"]))
    print(f"caught {len(moved) - len(missed)} of {len(moved)}")
    for one in missed:
        print(f"  {one['file']}:{one['line']} {one['old']!r} -> {one['new']!r} ({one['moved']})")


if __name__ == "__main__":
    main()
