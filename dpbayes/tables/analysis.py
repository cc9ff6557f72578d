"""What can be said about a release once it is safe, or about a planned one, in bounded time.

Run as a program it reads a request and writes one JSON object a line for each finished part.
`bounded_analysis` and `forecast` start it with a limit on time and memory and take what has arrived
by then: a release never waits for its analysis, and never fails with it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from subprocess import DEVNULL, PIPE, TimeoutExpired, run
from typing import Any

import numpy as np

from dpbayes.divergences import hellinger
from dpbayes.tables.report import LEVEL

SECONDS = 60.0
EXACT_SECONDS = 8.0
WIDTH_SECONDS = 8.0
MEMORY = 4 << 30
DRAWS, FEWEST = 200, 3
ERROR, SIMULATED, WIDTH = "error", "simulated", "width"
# What is quick and what a reader wants most comes first; the exact error comes last.
PARTS = ("plain", "noise_aware", "simulated_distance", "expected_distance")
SHAPES = ("even", "halving")
_LATE = 3  # exit status of a program whose last part took too long
Part = Callable[[], dict[str, Any]]


def bounded_analysis(record: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return the parts of the analysis of a `PaidRelease.record`, {"missing": reason} else."""
    return bounded(record, PARTS, seconds)


def forecast(request: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return the errors of a planned release and the width of its intervals, from made-up counts.

    `request` has name, options, epsilon (of one record, a fraction as text), prior and records.
    An error not computed exactly in time is the simulated one, with standard errors and "draws".
    """
    found = bounded(request, (SIMULATED, WIDTH, ERROR), seconds)
    instead = found.pop(SIMULATED)
    if "missing" in found[ERROR] and "missing" not in instead:
        found[ERROR] = instead
    return found


def bounded(request: Mapping[str, Any], parts: Sequence[str], seconds: float) -> dict[str, Any]:
    """Run this module as a program on a request; return its parts, as time and memory allow."""
    command, reason = [sys.executable, "-m", __name__], "needs more memory than allowed"
    sent = json.dumps(dict(request)).encode()
    try:
        done = run(command, input=sent, timeout=seconds, check=False, stdout=PIPE, stderr=DEVNULL)
        answered = done.stdout
        if done.returncode == _LATE:
            reason = f"not finished within {EXACT_SECONDS:g} seconds"
    except TimeoutExpired as late:
        answered, reason = late.stdout or b"", f"not finished within {seconds:g} seconds"
    found: dict[str, Any] = {}
    for line in answered.splitlines():
        if line.endswith(b"}"):
            found.update(json.loads(line))
    return {part: found.get(part, {"missing": reason}) for part in parts}


def parts_of(request: Mapping[str, Any]) -> dict[str, Part]:
    """Return the computation of each part, of a release that has counts or of a planned one."""
    return _of_release(request) if "counts" in request else _of_plan(request)


def _of_release(record: Mapping[str, Any]) -> dict[str, Part]:
    from dpbayes.tables.drawn import Release
    from dpbayes.tables.release import chosen_mechanism

    described = record["mechanism"]
    epsilon = Fraction(record["epsilon"]) / record["records_of_a_person"]
    chosen = chosen_mechanism(described["name"], epsilon, described["options"])
    counts, prior = np.array(record["counts"]), np.array(record["prior"], dtype=float)
    private = Release(chosen, prior, int(counts.sum()), np.array(record["noisy"]), counts)
    bits = RepeatedBits(json.dumps([record["counts"], record["mechanism"]]))
    return {
        "plain": lambda: _reading(private.posterior),
        "noise_aware": lambda: _reading(private.noise_aware()),
        "simulated_distance": lambda: simulated(chosen, counts, prior, bits),
        "expected_distance": lambda: {"value": private.expected_distance()},
    }


def _of_plan(request: Mapping[str, Any]) -> dict[str, Part]:
    from dpbayes.tables.release import chosen_mechanism

    chosen = chosen_mechanism(request["name"], Fraction(request["epsilon"]), request["options"])
    prior = np.array(request["prior"], dtype=float)
    bits = RepeatedBits(json.dumps([request["records"], request["name"]]))
    made = dict(zip(SHAPES, made_up(prior.size, request["records"]), strict=True))

    def error(of: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for shape, counts in made.items():
            one = of(counts)
            found[shape] = one.pop("value")
            found |= {f"{shape}_error" if name == "error" else name: one[name] for name in one}
        return found

    def exact(counts: Any) -> dict[str, Any]:
        mean: Any = chosen.law(counts, prior).mean_distance()
        drawn = getattr(mean, "how", "") == "drawn"  # of a law that is too wide to be added up
        return {"value": float(mean)} | ({"error": mean.error} if drawn else {})

    return {
        SIMULATED: lambda: error(lambda counts: simulated(chosen, counts, prior, bits, 2.0)),
        WIDTH: lambda: _width(chosen, made["even"], prior),
        ERROR: lambda: error(exact),
    }


class RepeatedBits:
    """Bits for made-up releases alone: the same release has the same report."""

    def __init__(self, seed: str) -> None:
        self.bits = random.Random(seed).getrandbits


def simulated(
    chosen: Any, counts: Any, prior: Any, bits: RepeatedBits, seconds: float = float("inf")
) -> dict[str, Any]:
    """Return the mean distance of up to `DRAWS` made-up releases, and its standard error."""
    from dpbayes.tables.drawn import draw

    drawn, begun = list[Any](), time.monotonic()
    while len(drawn) < DRAWS and (len(drawn) < FEWEST or time.monotonic() - begun < seconds):
        drawn.append(draw(chosen, counts, prior, bits)[1])
    found = hellinger(prior + counts, prior + np.array(drawn))
    error = float(np.std(found, ddof=1) / len(drawn) ** 0.5)
    return {"value": float(np.mean(found)), "error": error, "draws": len(drawn)}


def made_up(k: int, records: int) -> list[Any]:
    """Return evenly spread counts, and counts of which each is half the one before; (k,) each."""
    halving = 0.5 ** np.arange(1, k + 1)
    found = [np.floor(shares * records) for shares in (np.full(k, 1 / k), halving / halving.sum())]
    for counts in found:
        counts[0] += records - counts.sum()
    return [counts.astype(np.int64) for counts in found]


def _width(chosen: Any, counts: Any, prior: Any) -> dict[str, Any]:
    """Return the mean width of intervals over at most 16 made-up releases, or until it is steady.

    A few that happen to be equal, as with little noise, do not say how the others are.
    """
    from dpbayes.tables.drawn import release

    widths, error, begun = list[list[float]](), np.inf, time.monotonic()
    while len(widths) < FEWEST or (
        len(widths) < 16
        and time.monotonic() - begun < WIDTH_SECONDS
        and not 0.0 < error <= 1e-3 * np.mean(widths, axis=0)[0]
    ):
        one = release(chosen, counts, prior)
        readings = one.interval(LEVEL), one.posterior.interval(LEVEL)
        widths.append([float(np.diff(ends).mean()) for ends in readings])
        if len(widths) > 1:
            error = float(np.std(widths, axis=0, ddof=1)[0] / len(widths) ** 0.5)
    aware, plain = np.mean(widths, axis=0).tolist()
    return {"aware": aware, "plain": plain, "error": error, "draws": len(widths)}


def _reading(posterior: Any) -> dict[str, Any]:
    return {"mean": posterior.mean.tolist(), "intervals": posterior.interval(LEVEL).tolist()}


def report_parts(parts: Mapping[str, Part]) -> None:
    """Compute each part and print it as it comes, or why it is missing."""
    for name, compute in parts.items():
        if name in (ERROR, PARTS[-1]):  # the last ends the program where it takes too long
            limit = threading.Timer(EXACT_SECONDS, os._exit, [_LATE])
            limit.daemon = True
            limit.start()
        try:
            result = compute()
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
            result = {"missing": str(error) or type(error).__name__}
        print(json.dumps({name: result}), flush=True)


def main() -> None:
    """Answer the request in the standard input."""
    with suppress(ImportError):  # where the system has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    report_parts(parts_of(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
