"""Try exact laws on random and edge settings, and say which are refused, drawn, slow or large.

    python tools/try_laws.py [number [seed]]

Each setting, a mechanism with counts and a prior, is tried in a process of its own that is given a
minute: the mean distance, the mean affinity and the probability of the data themselves. What is
not a number within 1e-9, contradicts the others, takes more than ten seconds or more than 300 MB is
printed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import dpbayes as dp

SURE, LONGEST, LARGEST, LIMIT = 1e-9, 10.0, 300.0, 60.0
QUANTITIES = ("mean", "affinity", "probability")
NAMES = ("lattice", "lapMech", "ilapMech", "draft-laplace", "geometric")
SHAPES = ("equal", "halving", "dominant", "some empty", "all but one empty", "ones")

Setting = dict[str, Any]


def counts_of(shape: str, k: int, n: int, rng: np.random.Generator) -> list[int]:
    """Return k counts of this shape; they sum to about n, and to k if all are ones.

    >>> counts_of("halving", 4, 80, np.random.default_rng(0))
    [45, 20, 10, 5]
    """
    counts = np.zeros(k, dtype=np.int64)
    if shape == "ones":
        counts[:] = 1
    elif shape == "equal":
        counts[:] = n // k
        counts[0] += n % k
    elif shape == "halving":
        counts = n // 2 ** np.minimum(np.arange(1, k + 1), 62)
        counts[0] = max(n - int(counts[1:].sum()), 1)
    elif shape == "dominant":
        counts = rng.integers(0, 10, k)
        counts[0] = n
    elif shape == "some empty":
        counts = rng.multinomial(n, rng.dirichlet(np.ones(k)))
        counts[rng.random(k) < 0.5] = 0
        counts[rng.integers(k)] += 1
    else:
        counts[rng.integers(k)] = n
    return [int(count) for count in counts]


def random_setting(rng: np.random.Generator) -> Setting:
    """Return a mechanism of each kind with any number of categories and records."""
    k = int(rng.choice([2, 3, 4, 5, 10, 50, int(rng.integers(2, 51))]))
    n = int(10.0 ** rng.uniform(0.0, 9.0))
    epsilon = float(rng.choice([1e-6, 1.0, 50.0, 10.0 ** rng.uniform(-6.0, np.log10(50.0))]))
    prior = float(rng.choice([1e-3, 1.0, 1e6, 10.0 ** rng.uniform(-3.0, 6.0)]))
    shape, name = str(rng.choice(SHAPES)), str(rng.choice(NAMES))
    k = 2 if name == "geometric" else k  # it is defined for two alone
    return {
        "name": name,
        "epsilon": float(f"{epsilon:.3g}"),
        "counts": counts_of(shape, k, n, rng),
        "prior": float(f"{prior:.3g}"),
    }


def attempt(setting: Setting) -> Setting:
    """Return what this process finds: errors and ways of all three, seconds and peak in MB."""
    start = time.perf_counter()
    counts = setting["counts"]
    found: Setting = {}
    try:
        mechanism = dp.mechanism(setting["name"], setting["epsilon"])
        law = mechanism.law(counts, [setting["prior"]] * len(counts))
        for what, value in (
            ("mean", law.mean_distance()),
            ("affinity", law.mean_affinity()),
            ("probability", law.probability(counts)),
        ):
            error = getattr(value, "error", 0.0)
            found[what] = [float(value), float(error), getattr(value, "how", "listed")]
    except (ValueError, ArithmeticError, MemoryError) as error:
        found["refused"] = f"{type(error).__name__}: {error}"
    found["seconds"] = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()
    found["mb"] = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return found


def contradictions(mean: list[float], affinity: list[float], probability: list[float]) -> list[str]:
    """Return what cannot be, of values and errors: with 0 <= BC <= 1 and H = sqrt(1 - BC).

    >>> contradictions([0.5, 0.0], [0.8, 0.0], [0.3, 0.0])
    ['mean above sqrt(1 - affinity)']
    >>> contradictions([1.0, 0.0], [0.0, 0.0], [0.02, 0.0])
    ['affinity below the probability of no change', 'mean above that of a change']
    """
    (h, h_off), (b, b_off), (p, p_off) = mean, affinity, probability
    ulp = 1e-14
    bounds = {
        "mean below 1 - affinity": h + h_off - (1.0 - b - b_off),
        "mean above sqrt(1 - affinity)": math.sqrt(max(1.0 - b + b_off, 0.0)) - h + h_off,
        "affinity below the probability of no change": b + b_off - p + p_off,
        "mean above that of a change": 1.0 - p + p_off - h + h_off,
    }
    return [name for name, room in bounds.items() if room < -ulp]


def faults(found: Setting) -> list[str]:
    """Return what is wrong with a result of `attempt`.

    >>> faults({"mean": [0.5, 1e-6, "draws"], "seconds": 1.0, "mb": 400.0})
    ['mean drawn', 'mean within 1e-06', '400 MB']
    """
    wrong = [f"refused ({found['refused']})"] if "refused" in found else []
    for what in QUANTITIES:
        if what not in found:
            continue
        value, error, how = found[what]
        if how == "draws":
            wrong.append(f"{what} drawn")
        if not (math.isfinite(value) and abs(value - 0.5) <= 0.5 + SURE):
            wrong.append(f"{what} {value!r}")
        if not error <= SURE:
            wrong.append(f"{what} within {error:.3g}")
    if not wrong:
        wrong += contradictions(*(found.get(what, [0.0, 1.0])[:2] for what in QUANTITIES))
    if found["seconds"] > LONGEST:
        wrong.append(f"{found['seconds']:.0f} s")
    if found["mb"] > LARGEST:
        wrong.append(f"{found['mb']:.0f} MB")
    return wrong


def tried(setting: Setting, limit: float = LIMIT) -> list[str]:
    """Return what is wrong with a setting, in a process of its own."""
    command = [sys.executable, "-m", "tools.try_laws", "one", json.dumps(setting)]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=limit)
    except subprocess.TimeoutExpired:
        return [f"more than {limit:g} s"]
    if done.returncode:
        return [f"ends with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"]
    return faults(json.loads(done.stdout))


def main(number: int = 200, seed: int = 1) -> int:
    """Try `number` settings; return how many went wrong."""
    rng, kinds, wrong = np.random.default_rng(seed), Counter[str](), 0
    for _ in range(number):
        setting = random_setting(rng)
        problems = tried(setting)
        kinds[setting["name"]] += 1
        wrong += bool(problems)
        if problems:
            print("; ".join(problems), json.dumps(setting), flush=True)
    print(f"{number} tried, {dict(sorted(kinds.items()))}, {wrong} wrong", flush=True)
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(attempt(json.loads(sys.argv[2]))))
    else:
        sys.exit(min(main(*(int(value) for value in sys.argv[1:])), 1))
