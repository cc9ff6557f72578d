"""What a planned release will be like, before it: errors of the mechanisms, widths of intervals.

Everything here is worked out from made-up counts of the expected size, never from a table. Run as a
program it reads a request from standard input and writes one JSON object a line, see `bounded`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpbayes.releasing.analysis import LEVEL, bounded, limit_memory, report_parts

RIVALS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lattice", {}),
    ("lattice", {"remap": True}),
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
SECONDS = 40.0
WIDTH = "width"


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
    secret. Each part is a mapping, {"missing": reason} where it was not computed.
    """
    parts = (*list(compared(request))[:1], WIDTH, *list(compared(request))[1:])
    return bounded("dpbayes.releasing.forecast", request, parts, seconds)


def parts_of(request: Mapping[str, Any]) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the computation of each part."""
    computations: dict[str, Callable[[], dict[str, Any]]] = {}
    for label, (name, options) in compared(request).items():
        computations[label] = _errors(request, name, options)
        computations.setdefault(WIDTH, lambda: _width(request))
    return computations


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
        found = {
            label: float(chosen.law(counts, prior).mean_distance())
            for label, counts in (("even", even), ("halving", halving))
        }
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
    """Return the mean width of intervals over made-up releases of evenly spread counts."""
    import numpy as np

    from dpbayes.releasing.prices import chosen_mechanism
    from dpbayes.releasing.record import release

    chosen = chosen_mechanism(request["name"], Fraction(request["epsilon"]), request["options"])
    prior = np.array(request["prior"], dtype=float)
    counts = made_up(prior.size, request["records"])[0]
    drawn = [release(chosen, counts, prior) for _ in range(DRAWS)]
    aware = [np.diff(one.interval(LEVEL)).mean() for one in drawn]
    plain = [np.diff(one.posterior.interval(LEVEL)).mean() for one in drawn]
    return {
        "aware": float(np.mean(aware)),
        "error": float(np.std(aware, ddof=1) / np.sqrt(DRAWS)),
        "plain": float(np.mean(plain)),
    }


def main() -> None:
    """Read a request, compute each part, write each result as it comes."""
    limit_memory()
    report_parts(parts_of(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
