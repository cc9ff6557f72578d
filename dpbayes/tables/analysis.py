"""What can be said about a release once it is safe, or about a planned one, in bounded
time.

Run as a program it reads a request and writes one JSON object a line for each finished
part. `bounded_analysis` starts it with a limit on time and memory: no release waits or
fails with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from fractions import Fraction
from subprocess import DEVNULL, PIPE, TimeoutExpired, run
from typing import Any

import numpy as np

from dpbayes.tables.count_noise import count_noise_of
from dpbayes.tables.drawn import Release
from dpbayes.tables.forecast import count_error
from dpbayes.tables.published import PublishedRelease, chosen_mechanism
from dpbayes.tables.report import LEVEL
from dpbayes.tables.shares import NOISE, PRIOR, ShareReading

SECONDS = 60.0
MEMORY = 4 << 30
# the last may take long
PARTS = ("plain", "noise_aware", "within", "count_error", "expected_distance")
# of a planned release, from made-up counts, the last may take long
FORECAST = COUNT, DOUBT, ERROR = "count", "doubt", "error"
SHAPES = ("even", "halving")
Part = Callable[[], dict[str, Any]]


def bounded_analysis(
    request: Mapping[str, Any], seconds: float = SECONDS
) -> dict[str, Any]:
    """Return the parts of an analysis, as time and memory allow, {"missing": reason}
    else.

    `request` is a `PaidRelease.record`, or says of a planned release name, options,
    epsilon (of one record, a fraction as text), prior and records. This module is run
    as a program on it.
    """
    parts = names_of(request)
    command, reason = [sys.executable, "-m", __name__], "needs more memory than allowed"
    sent = json.dumps(dict(request)).encode()
    try:
        done = run(
            command,
            input=sent,
            timeout=seconds,
            check=False,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        answered = done.stdout
    except TimeoutExpired as late:
        answered, reason = (
            late.stdout or b"",
            f"not finished within {seconds:g} seconds",
        )
    found: dict[str, Any] = {}
    for line in answered.splitlines():
        if line.endswith(b"}"):
            found.update(json.loads(line))
    return {part: found.get(part, {"missing": reason}) for part in parts}


def names_of(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the parts, in their order."""
    if "counts" not in request:
        return FORECAST
    two = len(request["columns"]) > 1
    return tuple(part for part in PARTS if two or part != "within")


def parts_of(request: Mapping[str, Any]) -> dict[str, Part]:
    """Return the computation of each part, in their order."""
    prior = np.array(request["prior"], dtype=float)
    if "counts" not in request:
        chosen = chosen_mechanism(
            request["name"], Fraction(request["epsilon"]), request["options"]
        )
        made = dict(zip(SHAPES, made_up(prior.size, request["records"]), strict=True))
        effect = float(request.get("design_effect", 1.0))
        return {
            COUNT: lambda: {
                shape: _count_error(chosen, made[shape], prior, effect)
                for shape in SHAPES
            },
            DOUBT: lambda: _doubt(chosen, made, prior, request),
            ERROR: lambda: {
                shape: _distance(chosen, made[shape], prior) for shape in SHAPES
            },
        }
    stored = PublishedRelease.model_validate({**request, "analysis": {}})
    private = stored.release()
    chosen, counts, effect = private.mechanism, private.counts, stored.design_effect
    parts: dict[str, Part] = {
        "plain": lambda: {
            "shares": private.posterior.mean.tolist(),
            "intervals": private.posterior.interval(LEVEL).tolist(),
        },
        "noise_aware": lambda: _shares(private),
        "within": lambda: _within(private, stored.cells),
        "count_error": lambda: _count_error(chosen, counts, prior, effect),
        "expected_distance": lambda: _distance(chosen, counts, prior),
    }
    return {name: parts[name] for name in names_of(request)}


def made_up(k: int, records: int) -> list[Any]:
    """Return evenly spread counts, and counts of which each is half the one before;
    (k,) each.
    """
    halving = 0.5 ** np.arange(1, k + 1)
    found = [
        np.floor(shares * records)
        for shares in (np.full(k, 1 / k), halving / halving.sum())
    ]
    for counts in found:
        counts[0] += records - counts.sum()
    return [counts.astype(np.int64) for counts in found]


def _distance(chosen: Any, counts: Any, prior: Any) -> dict[str, Any]:
    """Return the mean Hellinger distance of a release of these counts.

    Where the law is too wide to be added up the mean is drawn, and its "error" is four
    standard errors.
    """
    mean = chosen.law(counts, prior).mean_distance()
    drawn = getattr(mean, "how", "") == "drawn"
    return {"value": float(mean)} | ({"error": mean.error} if drawn else {})


def _count_error(chosen: Any, counts: Any, prior: Any, effect: float) -> dict[str, Any]:
    """Return the error of the largest of these counts in records."""
    largest = int(np.argmax(counts))
    found = count_error(chosen, counts, largest, prior=prior, design_effect=effect)
    return {**asdict(found), "sentence": found.sentence, "advice": found.advice}


def _shares(private: Release) -> dict[str, Any]:
    """Return the noise-aware reading: each share with both its intervals."""
    free = list(replace(private, prior_stated=False).shares().each)
    read = list(private.shares().each) if private.prior_stated else free
    pairs = list(zip(read, free, strict=True))
    found = _intervals(read)
    found["doubts"] = _doubts(pairs)
    k = private.prior.size
    found["on_average"] = count_noise_of(private.mechanism, k) is None
    if private.prior_stated:
        found["intervals_without_prior"] = _of_each(
            free, lambda one: one.interval(LEVEL)
        )
    return found


def _within(private: Release, cells: list[list[str]]) -> dict[str, Any]:
    """Return the shares within each value of the first column, from the same draw."""
    groups: dict[str, list[int]] = {first: [] for first, _ in cells}
    for i, (first, _) in enumerate(cells):
        groups[first].append(i)
    if len(groups[cells[0][0]]) < 2:
        raise ValueError("each value of the first column has one cell only")
    shares = private.shares()
    read = [shares.read([i], groups[first]) for i, (first, _) in enumerate(cells)]
    return _intervals(read)


def _intervals(read: list[ShareReading]) -> dict[str, Any]:
    return {
        "shares": [one.estimate for one in read],
        "intervals": _of_each(read, lambda one: one.interval(LEVEL)),
        "table_intervals": _of_each(read, lambda one: one.table_interval(LEVEL)),
    }


def _of_each(read: Sequence[Any], compute: Callable[[Any], Any]) -> list[Any]:
    """Return what is computed from each reading; where two are one object, once."""
    kept: dict[int, Any] = {}
    for one in read:
        if id(one) not in kept:
            kept[id(one)] = compute(one)
    return [kept[id(one)] for one in read]


def _doubts(pairs: Sequence[tuple[ShareReading, ShareReading]]) -> list[str]:
    """Return why each reading is doubted beside the one without a stated prior."""
    kept: dict[tuple[int, int], str] = {}
    for one, other in pairs:
        key = id(one), id(other)
        if key not in kept:
            kept[key] = one.doubt(other, LEVEL)
    return [kept[id(one), id(other)] for one, other in pairs]


def _doubt(
    chosen: Any, made: Mapping[str, Any], prior: Any, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Return for how many shares of made-up counts, without an error, the intervals
    would be doubted, and why.
    """
    found = {}
    for shape, counts in made.items():
        noise = count_noise_of(chosen, counts.size)
        noisy = counts if noise is None else counts[: noise.noisy]
        stated = request.get("design_effect", 1.0), request.get("prior_stated", False)
        private = Release(chosen, prior, int(counts.sum()), noisy, counts, *stated)
        free = list(replace(private, prior_stated=False).shares().each)
        read = list(private.shares().each) if private.prior_stated else free
        doubts = _doubts(list(zip(read, free, strict=True)))
        found[shape] = {why: doubts.count(why) for why in (NOISE, PRIOR)}
    return found


def report_parts(parts: Mapping[str, Part]) -> None:
    """Compute each part and print it as it comes, or why it is missing."""
    for name, compute in parts.items():
        try:
            result = compute()
        except (
            ValueError,
            TypeError,
            ArithmeticError,
            MemoryError,
            ImportError,
        ) as error:
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
