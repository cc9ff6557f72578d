"""Change one line of the mathematics at a time, and see whether the checks notice.

    python tools/mutate.py --number 150 --jobs 2 --log mutants.jsonl

Mutants are single changes of a constant, an operator, a comparison or a sign in the functions that
make up laws, sensitivities and samplers. A mutant counts when it moves a probability, a
sensitivity or a sampler's reached mass by more than 1e-9 on the probes below. It is caught when the
audits, the enclosures, the high-precision laws or the conformance suite object. Mutants run in
forked children on a copy of the package; nothing in the repository is touched. The log holds one
line a mutant, and what stands in it is not run again.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mutants import CHEAP, CONCERNED, ROOT, SCORED, Mutant, mutants

LIMIT = 1e-9
SECONDS = 120
"""Processor time a mutant may take; one that takes more never ends, and is caught by that."""
DATA = (((2, 5), (1.0, 0.5)), ((0, 4), (1e-9, 3.0)), ((2, 0, 3), (0.5, 1.0, 2.0)))


def _listed(make: Callable[[], Any]) -> list[float]:
    law = make()
    if not hasattr(law, "outputs"):
        return [float(law.mean_distance())]
    return [float(law.mean_distance()), *law.probabilities, *law.outputs.ravel()]


def _bits(mechanism: Any, x: tuple[int, ...]) -> list[float]:
    from dpbayes.auditing.bits import audit_bits

    audit = audit_bits(mechanism, x, [1.0] * len(x), 60)
    return [*audit.outputs.ravel(), *audit.reached, audit.undecided]


def probes(names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    """Return, by name, what to compute to see whether these mechanisms still compute the same."""
    import dpbayes as dp
    from dpbayes.mechanisms.guarantees import own
    from dpbayes.sensitivity import profile

    found: dict[str, Callable[[], Any]] = {}

    def law(name: str, epsilon: float, x: Any, prior: Any, **options: Any) -> Callable[[], Any]:
        return partial(_listed, lambda: dp.mechanism(name, epsilon, **options).law(x, prior))

    for x, prior in DATA:
        for name in names:
            for epsilon in (0.7, 3.0):
                found[f"{name} {epsilon} {x}"] = law(name, epsilon, x, prior)
        if "expMech-smooth" in names:
            found[f"l1 {x}"] = law("expMech-smooth", 1.0, x, prior, distance="l1")
            found[f"gamma {x}"] = law("expMech-smooth", 1.0, x, prior, gamma=0.2)
            for form in ("reciprocal", "exponential"):
                smooth = partial(dp.smooth_sensitivity, x, prior, 0.05, form)
                found[f"S {form} {x}"] = lambda smooth=smooth: smooth().value
        if "ilapMech" in names:
            found[f"nearest {x}"] = law("ilapMech", 1.0, x, prior, rounding="nearest")
    if "expMech-smooth" in names:
        for form in ("reciprocal", "exponential"):
            found[f"profile {form}"] = partial(profile, 9, [0.1, 2.0], True, 0.1, form)
    for name in names:
        if own(dp.mechanism(name, 1.0), "draw") is not None:
            for x in ((1, 2), (1, 0, 1)):
                found[f"{name} {x} bits"] = partial(_bits, dp.mechanism(name, 1.0), x)
    return found


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


def changed(before: dict[str, Probed], mutant: Mutant, names: tuple[str, ...]) -> str:
    """Return a probe that moved by more than the limit, or nothing.

    Only probes that call the changed function are asked, those that take least time first.
    """
    asked = probes(names)
    reach = [name for name in asked if (mutant.file, mutant.function) in before[name].called]
    for name in sorted(reach or asked, key=lambda name: before[name].seconds):
        if not same(before[name].answer, answer(asked[name])):
            return name
    return ""


@dataclass(frozen=True)
class Probed:
    """A probe on the package as it is: answer, time, and functions called (file, first line)."""

    answer: Any
    seconds: float
    called: frozenset[tuple[str, int]]


def probed(compute: Callable[[], Any], folder: str) -> Probed:
    """Run one probe in a child, so that nothing is kept from the one before."""
    root, called = str(Path(folder) / "dpbayes") + "/", set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            called.add((frame.f_code.co_filename[len(root) :], frame.f_code.co_firstlineno))

    def run() -> bytes:
        started = time.process_time()
        sys.setprofile(note)
        found = answer(compute)
        sys.setprofile(None)
        return pickle.dumps(Probed(found, time.process_time() - started, frozenset(called)))

    return pickle.loads(in_child(run))


def caught(names: tuple[str, ...]) -> str:
    """Return the name of the first check that objects, or nothing."""
    import numpy as np

    import dpbayes as dp
    from dpbayes.auditing.bits import audit_bits
    from dpbayes.mechanisms.guarantees import own
    from tests.laws import test_errors
    from tests.mechanisms import conformance, test_conformance, test_parameter_laplace
    from tests.samplers import test_sensitivities

    def laws() -> None:
        rng = np.random.default_rng(5)
        kinds = [kind for kind in test_errors.KINDS if kind.split()[0] in names]
        for kind in [*kinds, *kinds, *kinds]:
            assert test_errors.outside(test_errors.setting(rng, kind)) == []

    def sensitivities() -> None:
        test_sensitivities.test_floats_agree_to_fifteen_digits()

    def enclosures() -> None:
        for name in names:
            mechanism = dp.mechanism(name, 1.0)
            if own(mechanism, "enclosed_law") is not None and name != "draft-laplace":
                audit = dp.audit(mechanism, 6, [0.5, 3.0])
                bounds = audit.enclosure.epsilon
                assert bounds.low - 1e-12 <= audit.epsilon <= bounds.high + 1e-12

    def bits() -> None:
        for name in names:
            mechanism = dp.mechanism(name, 1.0)
            if own(mechanism, "draw") is not None:
                many = 300 if name in (*SCORED, "permute-and-flip") else 2000
                for x, runs in (((1, 2), many), ((0, 1, 1), many // 2)):
                    if name == "geometric" and len(x) == 3:
                        continue
                    if name in ("discrete-gaussian", "optimal"):  # many bits at a time
                        continue
                    law = mechanism.law(x, [1.0] * len(x))
                    found = audit_bits(mechanism, x, [1.0] * len(x), runs)
                    assert len(found.contradictions(law)) == 0

    def conforming() -> None:
        for check in (*conformance.LISTED, *conformance.ALL):
            for name in names:
                for k in (2, 3):
                    if (name == "geometric" and k == 3) or (
                        name == "parameter-laplace"
                        and check in (*conformance.LISTED, conformance.check_samples)
                    ):
                        continue
                    assert (
                        conformance.complaints(test_conformance.settings(name, k), (check,)) == []
                    )

    def atoms() -> None:
        if "parameter-laplace" in names:
            test_parameter_laplace.test_the_atoms_are_those_of_noise_of_scale_two_over_epsilon(0.7)

    for check in (enclosures, atoms, sensitivities, bits, conforming, laws):
        try:
            check()
        except BaseException as error:
            return f"{check.__name__}: {type(error).__name__}"
    return ""


def in_child(run: Callable[[], bytes]) -> bytes:
    """Return what `run` returns in a forked child, or nothing if it does not come to an end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
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


def worker(until: float, chosen: list[Mutant], folder: str, before: bytes, log: Path) -> None:
    """Try mutants one after the other on a copy of the package; add a line to the log for each."""
    for stamp, mutant in enumerate(chosen):
        if time.time() > until:
            break
        path = Path(folder) / "dpbayes" / mutant.file
        original = path.read_bytes()
        path.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
        os.utime(path, (2e9 + stamp, 2e9 + stamp))
        said = in_child(partial(_tried, folder, before, mutant))
        path.write_bytes(original)
        os.utime(path, (1e9, 1e9))
        outcome = json.loads(said) if said else {"moved": "time", "caught": "time: limit"}
        with log.open("a") as file:
            file.write(json.dumps({**vars(mutant), **outcome}) + "\n")


def _tried(folder: str, before: bytes, mutant: Mutant) -> bytes:
    try:
        _use(folder)
        names = CONCERNED[mutant.file]
        moved = changed(pickle.loads(before), mutant, names)
        found = {"moved": moved, "caught": caught(names) if moved else ""}
    except BaseException as error:
        found = {"moved": "import", "caught": f"import: {type(error).__name__}"}
    return json.dumps(found).encode()


def _use(folder: str) -> None:
    # The copy first, then the repository for the tests.
    sys.path[:0] = [folder, str(ROOT)]
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    import dpbayes

    assert Path(dpbayes.__file__).is_relative_to(folder)


def _copy() -> str:
    folder = tempfile.mkdtemp(prefix="mutants-")
    shutil.copytree(ROOT / "dpbayes", Path(folder) / "dpbayes")
    return folder


def _baseline(folder: str) -> bytes:
    _use(folder)
    names = tuple(__import__("dpbayes").REGISTRY)
    before = {name: probed(compute, folder) for name, compute in probes(names).items()}
    objection = caught(CHEAP)
    if objection:
        raise SystemExit(f"the checks object to the package as it is: {objection}")
    return pickle.dumps(before)


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
    for name in ("mpmath", "numpy", "pytest", "scipy.special", "scipy.stats", "flint"):
        importlib.import_module(name)  # once, before forking
    done = {_key(one) for one in _logged(arguments.log)}
    every = [mutant for mutant in mutants() if arguments.only in mutant.file]
    left = [mutant for mutant in every if _key(vars(mutant)) not in done]
    chosen = random.Random(arguments.seed).sample(left, min(arguments.number, len(left)))
    folders = [_copy() for _ in range(arguments.jobs)]
    before = in_child(partial(_baseline, folders[0]))
    if not before:
        raise SystemExit("the checks object to the package as it is")
    until = time.time() + 60 * arguments.minutes
    for i, folder in enumerate(folders):
        part = chosen[i :: arguments.jobs]
        if os.fork() == 0:
            worker(until, part, folder, before, arguments.log)
            os._exit(0)
    for _ in folders:
        os.wait()
    keys = {_key(vars(mutant)) for mutant in every}
    report([one for one in _logged(arguments.log) if _key(one) in keys], len(every))
    for folder in folders:
        shutil.rmtree(folder)


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[name] for name in ("file", "line", "start", "old", "new"))


def _logged(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


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
