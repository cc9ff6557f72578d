"""Change one line of the mathematics at a time, and see whether the checks notice.

    python tools/mutate.py --number 150 --jobs 2

Mutants are single changes of a constant, an operator, a comparison or a sign in the functions that
make up laws, sensitivities and samplers. A mutant counts when it moves a probability, a
sensitivity or a sampler's reached mass by more than 1e-9 on the probes below. It is caught when the
audits, the enclosures, the high-precision laws or the conformance suite object. Mutants run in
forked children on a copy of the package; nothing in the repository is touched.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from mutants import CHEAP, CONCERNED, ROOT, SCORED, Mutant, mutants

LIMIT = 1e-9
SECONDS = 90


def probes(names: tuple[str, ...]) -> dict[str, Any]:
    """Return numbers that say what these mechanisms compute, by probe; errors as text."""
    import numpy as np

    import dpbayes as dp
    from dpbayes.auditing.bits import audit_bits
    from dpbayes.mechanisms.guarantees import own
    from dpbayes.sensitivity import profile

    found: dict[str, Any] = {}

    def keep(name: str, compute: Any) -> None:
        try:
            found[name] = np.asarray(compute(), dtype=np.float64)
        except Exception as error:
            found[name] = f"{type(error).__name__}"

    data = (((2, 5), (1.0, 0.5)), ((0, 4), (1e-9, 3.0)), ((2, 0, 3), (0.5, 1.0, 2.0)))

    def law(name: str, epsilon: float, x: Any, prior: Any, **options: Any) -> Any:
        return dp.mechanism(name, epsilon, **options).law(x, prior)

    for name in names:
        for epsilon in (0.7, 3.0):
            for x, prior in data:
                one = partial(law, name, epsilon, x, prior)
                keep(f"{name} {epsilon} {x} mean", lambda one=one: float(one().mean_distance()))
                keep(f"{name} {epsilon} {x} masses", lambda one=one: one().probabilities)
                keep(f"{name} {epsilon} {x} outputs", lambda one=one: one().outputs)
    for x, prior in data:
        for options in ({"distance": "l1"}, {"gamma": 0.2}):
            one = partial(law, "expMech-smooth", 1.0, x, prior, **options)
            keep(f"smooth {options} {x}", lambda one=one: one().probabilities)
        one = partial(law, "ilapMech", 1.0, x, prior, rounding="nearest")
        keep(f"nearest {x}", lambda one=one: one().probabilities)
        for form in ("reciprocal", "exponential"):
            smooth = partial(dp.smooth_sensitivity, x, prior, 0.05, form)
            keep(f"S {form} {x}", lambda smooth=smooth: smooth().value)
    keep(
        "profile",
        lambda: [profile(9, [0.1, 2.0], True, 0.1, f) for f in ("reciprocal", "exponential")],
    )
    for name in names:
        mechanism = dp.mechanism(name, 1.0)
        if own(mechanism, "draw") is None:
            continue
        for x in ((1, 2), (1, 0, 1)):

            def reached(m: Any = mechanism, x: Any = x) -> Any:
                audit = audit_bits(m, x, [1.0] * len(x), 60)
                return [*audit.outputs.ravel(), *audit.reached, audit.undecided]

            keep(f"{name} {x} bits", reached)
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the first probe that moved by more than the limit, or nothing."""
    import numpy as np

    for name, new in after.items():
        old = before[name]
        if isinstance(old, str) or isinstance(new, str):
            if not isinstance(old, str) or not isinstance(new, str) or old != new:
                return name
        elif old.shape != new.shape or not np.allclose(
            old, new, rtol=0.0, atol=LIMIT, equal_nan=True
        ):
            return name
    return ""


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

    for check in (laws, atoms, sensitivities, enclosures, bits, conforming):
        try:
            check()
        except BaseException as error:
            return f"{check.__name__}: {type(error).__name__}"
    return ""


def worker(task: tuple[float, list[Mutant], str, bytes]) -> list[dict[str, Any]]:
    """Try mutants one after the other on a copy of the package, each in a forked child."""
    until, chosen, folder, before = task
    results = []
    for stamp, mutant in enumerate(chosen):
        path = Path(folder) / "dpbayes" / mutant.file
        original = path.read_bytes()
        path.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
        os.utime(path, (2e9 + stamp, 2e9 + stamp))
        if time.time() > until:
            break
        outcome = _in_child(folder, before, CONCERNED.get(mutant.file, ()))
        path.write_bytes(original)
        os.utime(path, (1e9, 1e9))
        results.append({**vars(mutant), **outcome})
        print(json.dumps(results[-1]), flush=True)
    return results


def _in_child(folder: str, before: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(SECONDS)
        try:
            answer = _tried(folder, before, names)
        except BaseException as error:
            answer = {"moved": "import", "caught": f"import: {type(error).__name__}"}
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return dict(json.loads(said)) if said else {"moved": "time", "caught": "time limit"}


def _tried(folder: str, before: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    _use(folder)
    moved = changed(pickle.loads(before), probes(names))
    return {"moved": moved, "caught": caught(names) if moved else ""}


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


def _baseline(queue: Any, folder: str) -> None:
    _use(folder)
    queue.put((pickle.dumps(probes(tuple(__import__("dpbayes").REGISTRY))), caught(tuple(CHEAP))))


def main() -> None:
    """Run a sample of the mutants and print the share that is caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="no new mutant after this")
    parser.add_argument("--only", default="", help="files whose name holds this")
    arguments = parser.parse_args()
    every = [mutant for mutant in mutants() if arguments.only in mutant.file]
    chosen = random.Random(arguments.seed).sample(every, min(arguments.number, len(every)))
    folders = [_copy() for _ in range(arguments.jobs)]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    first = context.Process(target=_baseline, args=(queue, folders[0]))
    first.start()
    before, objection = queue.get()
    first.join()
    if objection:
        raise SystemExit(f"the checks object to the package as it is: {objection}")
    for name in ("mpmath", "numpy", "pytest", "scipy.special", "scipy.stats", "flint"):
        importlib.import_module(name)  # once, before forking

    started = time.time()
    tasks = [
        (started + 60 * arguments.minutes, chosen[i :: arguments.jobs], folders[i], before)
        for i in range(arguments.jobs)
    ]
    with context.Pool(arguments.jobs) as pool:
        results = [one for part in pool.map(worker, tasks) for one in part]
    report(results, len(every), time.time() - started)
    for folder in folders:
        shutil.rmtree(folder)


def report(results: list[dict[str, Any]], every: int, seconds: float) -> None:
    """Print how many mutants there were, moved a number and were caught, and which were not."""
    moved = [one for one in results if one["moved"]]
    missed = [one for one in moved if not one["caught"]]
    print(f"{len(results)} of {every} mutants in {seconds:.0f} s; {len(moved)} moved a number")
    print(Counter(one["caught"].partition(":")[0] for one in moved if one["caught"]))
    print(f"caught {len(moved) - len(missed)} of {len(moved)}")
    for one in missed:
        print(f"  {one['file']}:{one['line']} {one['old']!r} -> {one['new']!r} ({one['moved']})")


if __name__ == "__main__":
    main()
