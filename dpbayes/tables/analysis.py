"""What can be said about a release once it is safe: errors and intervals, in bounded time.

Run as a program it reads the fields of a release from standard input and writes one JSON object a
line as soon as a part is finished. `bounded_analysis` starts it with a limit on time and memory and
takes what has arrived by then: a release never waits for its analysis, and never fails with it.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

from dpbayes.tables.report import LEVEL

SECONDS = 60.0
EXACT_SECONDS = 8.0
MEMORY = 4 << 30
DRAWS, FEWEST = 200, 3
# What is quick and what a reader wants most comes first; the exact error is simulated before.
PARTS = ("plain", "noise_aware", "simulated_distance", "expected_distance")
GROUPS = "groups"


def bounded_analysis(record: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return the parts of the analysis that were finished in time, and why others are missing.

    `record` is what `PaidRelease.record` returns. Each part is a mapping, {"missing": reason} where
    it was not computed.
    """
    return bounded("dpbayes.tables.analysis", record, parts_wanted(record), seconds)


def parts_wanted(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the parts, in the order in which they are computed."""
    return PARTS if record["groups"] is None else (*PARTS[:2], GROUPS, *PARTS[2:])


def bounded(
    module: str, request: Mapping[str, Any], parts: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Run a module as a program on a request; return its parts, as far as time and memory allow."""
    worker = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    late = False
    try:
        answered, _ = worker.communicate(json.dumps(dict(request)), timeout=seconds)
    except subprocess.TimeoutExpired:
        worker.kill()
        answered, _ = worker.communicate()
        late = True
        if worker.stdin is not None:
            # What was not read of the request is of no use to anybody now.
            with suppress(OSError):
                worker.stdin.close()
    found: dict[str, Any] = {}
    for line in answered.splitlines():
        if line.endswith("}"):
            found.update(json.loads(line))
    reason = (
        f"not finished within {seconds:g} seconds" if late else "needs more memory than allowed"
    )
    return {part: found.get(part, {"missing": reason}) for part in parts}


def parts_of(record: Mapping[str, Any]) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the computation of each part of the analysis."""
    import numpy as np

    from dpbayes.tables.drawn import Release
    from dpbayes.tables.release import chosen_mechanism

    described = record["mechanism"]
    epsilon = Fraction(record["epsilon"]) / record["records_of_a_person"]
    chosen = chosen_mechanism(described["name"], epsilon, described["options"])
    counts, prior = np.array(record["counts"]), np.array(record["prior"], dtype=float)
    private = Release(chosen, prior, int(counts.sum()), np.array(record["noisy"]), counts)

    def expected_distance() -> dict[str, Any]:
        return {"value": private.expected_distance()}

    def simulated_distance() -> dict[str, Any]:
        bits = RepeatedBits(json.dumps([record["counts"], record["mechanism"]]))
        return simulated(chosen, counts, prior, bits)

    def plain() -> dict[str, Any]:
        ends = private.posterior.interval(LEVEL).tolist()
        return {"mean": private.posterior.mean.tolist(), "intervals": ends}

    def noise_aware() -> dict[str, Any]:
        aware = private.noise_aware()
        return {"mean": aware.mean.tolist(), "intervals": aware.interval(LEVEL).tolist()}

    def groups() -> dict[str, Any]:
        return {"panels": panels(private, record["groups"])}

    computations: dict[str, Callable[[], dict[str, Any]]] = {
        "plain": plain,
        "noise_aware": noise_aware,
        GROUPS: groups,
        "simulated_distance": simulated_distance,
        "expected_distance": expected_distance,
    }
    return {name: computations[name] for name in parts_wanted(record)}


class RepeatedBits:
    """Bits that follow from what was released, so that the same release has the same report.

    For made-up releases around released counts alone: nothing private may be drawn from them.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)


def simulated(
    chosen: Any, counts: Any, prior: Any, bits: RepeatedBits, seconds: float = float("inf")
) -> dict[str, Any]:
    """Return the mean distance of up to `DRAWS` made-up releases, and its standard error."""
    import numpy as np

    from dpbayes.divergences import hellinger
    from dpbayes.tables.drawn import draw

    drawn: list[Any] = []
    begun = time.monotonic()
    while len(drawn) < DRAWS and (len(drawn) < FEWEST or time.monotonic() - begun < seconds):
        drawn.append(draw(chosen, counts, prior, bits)[1])
    found = hellinger(prior + counts, prior + np.array(drawn))
    error = float(np.std(found, ddof=1) / len(drawn) ** 0.5)
    return {"value": float(np.mean(found)), "error": error, "draws": len(drawn)}


def panels(private: Any, groups: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one panel a group: its size and the shares within it, read in both ways.

    `groups` has the labels of the groups and those within; cells of a group stand together.
    """
    import numpy as np

    from dpbayes.posteriors import Posterior

    aware, size, found = private.noise_aware(), len(groups["within"]), []
    for place, label in enumerate(groups["labels"]):
        cells = list(range(place * size, (place + 1) * size))
        inside = aware.group(cells)
        values, weights = inside.counts.total()
        ends = np.searchsorted(np.cumsum(weights), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        plain = Posterior(private.prior[cells] + private.counts[cells])
        found.append(
            {
                "label": label,
                "released": int(private.counts[cells].sum()),
                "records": [int(values[min(end, values.size - 1)]) for end in ends],
                "noise_aware": _reading(inside),
                "plain": _reading(plain),
            }
        )
    return found


def _reading(posterior: Any) -> dict[str, Any]:
    return {"mean": posterior.mean.tolist(), "intervals": posterior.interval(LEVEL).tolist()}


def limit_memory() -> None:
    """Let allocations beyond `MEMORY` fail, where the system can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def report_parts(
    parts: Mapping[str, Callable[[], dict[str, Any]]], seconds: Mapping[str, float] | None = None
) -> None:
    """Compute each part and print it as it comes, or why it is missing.

    `seconds` limits single parts, where the system has an alarm; the others are only limited
    together.
    """
    for name, compute in parts.items():
        try:
            with _alarm((seconds or {}).get(name)):
                result = compute()
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError, _Late) as error:
            result = {"missing": str(error) or type(error).__name__}
        print(json.dumps({name: result}), flush=True)


class _Late(Exception):
    """A part has had its time."""


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise _Late(f"not finished within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Read a release, compute each part, write each result as it comes."""
    limit_memory()
    report_parts(parts_of(json.load(sys.stdin)), {"expected_distance": EXACT_SECONDS})


if __name__ == "__main__":
    main()
