"""What a planned release will be like, before it: its error, and the width of its intervals.

Everything here is worked out from made-up counts of the expected size, never from a table. Run as a
program it reads a request from standard input and writes one JSON object a line, see `bounded`.
The error is first simulated and then computed exactly, as far as the time goes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpbayes.tables.analysis import (
    DRAWS,
    FEWEST,
    RepeatedBits,
    bounded,
    limit_memory,
    report_parts,
    simulated,
)
from dpbayes.tables.report import LEVEL

ERROR, SIMULATED, WIDTH = "error", "simulated", "width"
SHAPES = ("even", "halving")
SECONDS = 40.0
EXACT_SECONDS = 8.0
WIDTH_SECONDS = 8.0
_SIMULATED_SECONDS = 2.0
_WIDTH_DRAWS, _STEADY = 16, 1e-3


def forecast(request: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return the errors of a planned release and the width of its intervals, as time allows.

    `request` has name, options, epsilon (of one record, a fraction as text), prior and records.
    Each part is a mapping, {"missing": reason} where it was not computed. An error that was not
    computed exactly in time is the simulated one, with standard errors and "draws" beside it.
    """
    found = bounded("dpbayes.tables.forecast", request, tuple(parts_of(request)), seconds)
    instead = found.pop(SIMULATED)
    if "missing" in found[ERROR] and "missing" not in instead:
        found[ERROR] = instead
    return found


def parts_of(request: Mapping[str, Any]) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the computation of each part, what is quick before."""
    return {
        SIMULATED: lambda: _simulated(request),
        WIDTH: lambda: _width(request),
        ERROR: lambda: _exact(request),
    }


def _chosen(request: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return mechanism, prior (k,) and the made-up counts by their shape."""
    import numpy as np

    from dpbayes.tables.release import chosen_mechanism

    chosen = chosen_mechanism(request["name"], Fraction(request["epsilon"]), request["options"])
    prior = np.array(request["prior"], dtype=float)
    made = dict(zip(SHAPES, made_up(prior.size, request["records"]), strict=True))
    return chosen, prior, made


def _simulated(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean errors of made-up releases; the same request draws the same ones."""
    chosen, prior, made = _chosen(request)
    bits = RepeatedBits(json.dumps([request["records"], request["name"]]))
    found: dict[str, Any] = {"draws": DRAWS}
    for shape, counts in made.items():
        one = simulated(chosen, counts, prior, bits, _SIMULATED_SECONDS)
        found[shape], found[f"{shape}_error"] = one["value"], one["error"]
        found["draws"] = min(one["draws"], found["draws"])
    return found


def _exact(request: Mapping[str, Any]) -> dict[str, Any]:
    chosen, prior, made = _chosen(request)
    found: dict[str, Any] = {}
    for shape, counts in made.items():
        mean: Any = chosen.law(counts, prior).mean_distance()
        found[shape] = float(mean)
        if getattr(mean, "how", "") == "draws":  # of a law that is too wide to be added up
            found[f"{shape}_error"] = mean.error
    return found


def made_up(k: int, records: int) -> tuple[Any, Any]:
    """Return evenly spread counts, and counts of which each is half the one before; (k,) each."""
    import numpy as np

    found = []
    halving = 0.5 ** np.arange(1, k + 1)
    for shares in (np.full(k, 1.0 / k), halving / halving.sum()):
        counts = np.floor(shares * records).astype(np.int64)
        counts[0] += records - counts.sum()
        found.append(counts)
    return found[0], found[1]


def _width(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean width of intervals over made-up releases of evenly spread counts.

    They end when the mean is steady to a thousandth: with many records each is like the others.
    """
    import numpy as np

    from dpbayes.tables.drawn import release

    chosen, prior, made = _chosen(request)
    aware: list[float] = []
    plain: list[float] = []
    error = np.inf
    # A few that happen to be equal, as with little noise, do not say how the others are.
    while len(aware) < FEWEST or (
        len(aware) < _WIDTH_DRAWS and not 0.0 < error <= _STEADY * np.mean(aware)
    ):
        one = release(chosen, made["even"], prior)
        aware.append(float(np.diff(one.interval(LEVEL)).mean()))
        plain.append(float(np.diff(one.posterior.interval(LEVEL)).mean()))
        error = np.std(aware, ddof=1) / np.sqrt(len(aware)) if len(aware) > 1 else np.inf
    means = {"aware": float(np.mean(aware)), "plain": float(np.mean(plain))}
    return {**means, "error": float(error), "draws": len(aware)}


def main() -> None:
    """Read a request, compute each part, write each result as it comes."""
    limit_memory()
    limits = {ERROR: EXACT_SECONDS, WIDTH: WIDTH_SECONDS}
    report_parts(parts_of(json.load(sys.stdin)), limits)


if __name__ == "__main__":
    main()
