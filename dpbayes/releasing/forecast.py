"""What a planned release will be like, before it: errors of the mechanisms, widths of intervals.

Everything here is worked out from made-up counts of the expected size, never from a table. Run as a
program it reads a request from standard input and writes one JSON object a line, see `bounded`.
Every error is first simulated and then computed exactly, as far as the time goes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpbayes.releasing.analysis import (
    LEVEL,
    RepeatedBits,
    bounded,
    limit_memory,
    report_parts,
)

RIVALS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lattice", {}),
    ("lattice", {"remap": True}),
    ("folded", {}),
    ("geometric", {}),
    ("geometric", {"remap": True}),
    ("ilapMech", {}),
    ("lapMech", {}),
    ("expMech", {}),
    ("expMech-smooth", {}),
    ("permute-and-flip", {}),
)
SECRET: tuple[tuple[str, dict[str, Any]], ...] = (("independent", {}),)
MOST_DATA_SETS = 101
DRAWS = 16
FEWEST_DRAWS = 3
STEADY = 1e-3
SIMULATED_DRAWS = 200
SIMULATED_SECONDS = 0.5
SECONDS = 40.0
EXACT_SECONDS = 3.0
WIDTH_SECONDS = 8.0
WIDTH = "width"
SIMULATED = ", simulated"


def title(name: str, options: Mapping[str, Any]) -> str:
    """Return how a mechanism is called in a comparison.

    >>> title("lattice", {"remap": True})
    'lattice (remap=True)'
    """
    listed = ", ".join(f"{option}={value}" for option, value in options.items())
    return f"{name} ({listed})" if listed else name


def compared(request: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the mechanisms to compare, the plan's own first."""
    own = (request["name"], dict(request["options"]))
    others = SECRET if request["secret"] else RIVALS
    return {title(*one): one for one in (own, *others)}


def forecast(request: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return the errors of each mechanism and the width of intervals, as far as time allows.

    `request` has name, options, epsilon (of one record, a fraction as text), prior, records and
    secret. Each part is a mapping, {"missing": reason} where it was not computed. An error that was
    not computed exactly in time is the simulated one, with "even_error" and "draws" beside it; one
    that a law averages over draws of its own has "even_error" alone, the largest it can be.
    """
    parts = tuple(parts_of(request))
    found = bounded("dpbayes.releasing.forecast", request, parts, seconds)
    for label in compared(request):
        instead = found.pop(label + SIMULATED)
        if "missing" in found[label] and "missing" not in instead:
            found[label] = instead
    return found


def parts_of(request: Mapping[str, Any]) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the computation of each part, what is quick and what is asked first before."""
    computations: dict[str, Callable[[], dict[str, Any]]] = {}
    for label, (name, options) in compared(request).items():
        computations[label + SIMULATED] = _simulated(request, name, options)
    computations[WIDTH] = lambda: _width(request)
    for label, (name, options) in compared(request).items():
        computations[label] = _errors(request, name, options)
    return computations


def _simulated(
    request: Mapping[str, Any], name: str, options: dict[str, Any]
) -> Callable[[], dict[str, Any]]:
    """Return the mean errors of made-up releases; the same request draws the same ones."""

    def compute() -> dict[str, Any]:
        import numpy as np

        from dpbayes.divergences import hellinger
        from dpbayes.releasing.draws import draw
        from dpbayes.releasing.prices import chosen_mechanism

        chosen = chosen_mechanism(name, Fraction(request["epsilon"]), options)
        _require_a_release(chosen, request)
        bits = RepeatedBits(json.dumps([request["records"], name, sorted(options.items())]))
        prior, found = np.array(request["prior"], dtype=float), {}
        for label, counts in zip(
            ("even", "halving"), made_up(prior.size, request["records"]), strict=True
        ):
            drawn: list[Any] = []
            begun = time.monotonic()
            while len(drawn) < SIMULATED_DRAWS and (
                len(drawn) < FEWEST_DRAWS or time.monotonic() - begun < SIMULATED_SECONDS
            ):
                drawn.append(draw(chosen, counts, prior, bits)[1])
            apart = hellinger(prior + counts, prior + np.array(drawn))
            found[label] = float(np.mean(apart))
            found[f"{label}_error"] = float(np.std(apart, ddof=1) / len(drawn) ** 0.5)
            found["draws"] = min(len(drawn), found.get("draws", len(drawn)))
        return found

    return compute


def _errors(
    request: Mapping[str, Any], name: str, options: dict[str, Any]
) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from dpbayes.posteriors import compositions, number_of_candidates
        from dpbayes.releasing.prices import chosen_mechanism

        chosen = chosen_mechanism(name, Fraction(request["epsilon"]), options)
        _require_a_release(chosen, request)
        prior, records = request["prior"], request["records"]
        even, halving = made_up(len(prior), records)
        found: dict[str, float] = {}
        for label, counts in (("even", even), ("halving", halving)):
            mean: Any = chosen.law(counts, prior).mean_distance()
            found[label] = float(mean)
            if getattr(mean, "how", "") == "draws":  # of a law that is too wide to be added up
                found[f"{label}_error"] = mean.error
        if number_of_candidates(records, len(prior)) <= MOST_DATA_SETS:
            every = compositions(records, len(prior))
            means = [float(chosen.law(counts, prior).mean_distance()) for counts in every]
            found["all"] = sum(means) / len(means)
        return found

    return compute


def _require_a_release(chosen: Any, request: Mapping[str, Any]) -> None:
    """Refuse, by ValueError, a mechanism that could not be used for a release of this size."""
    import numpy as np

    from dpbayes.releasing.record import release

    release(
        chosen, made_up(len(request["prior"]), request["records"])[0], np.array(request["prior"])
    )


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

    from dpbayes.releasing.prices import chosen_mechanism
    from dpbayes.releasing.record import release

    chosen = chosen_mechanism(request["name"], Fraction(request["epsilon"]), request["options"])
    prior = np.array(request["prior"], dtype=float)
    counts = made_up(prior.size, request["records"])[0]
    aware: list[float] = []
    plain: list[float] = []
    error = np.inf
    # A few that happen to be equal, as with little noise, do not say how the others are.
    while len(aware) < FEWEST_DRAWS or (
        len(aware) < DRAWS and not 0.0 < error <= STEADY * np.mean(aware)
    ):
        one = release(chosen, counts, prior)
        aware.append(float(np.diff(one.interval(LEVEL)).mean()))
        plain.append(float(np.diff(one.posterior.interval(LEVEL)).mean()))
        error = np.std(aware, ddof=1) / np.sqrt(len(aware)) if len(aware) > 1 else np.inf
    return {
        "aware": float(np.mean(aware)),
        "error": float(error),
        "plain": float(np.mean(plain)),
        "draws": len(aware),
    }


def main() -> None:
    """Read a request, compute each part, write each result as it comes."""
    limit_memory()
    request = json.load(sys.stdin)
    exact = dict.fromkeys(compared(request), EXACT_SECONDS)
    report_parts(parts_of(request), {**exact, WIDTH: WIDTH_SECONDS})


if __name__ == "__main__":
    main()
