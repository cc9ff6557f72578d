"""Benchmarks with a target leave a row in `book/scale/targets.csv`; others keep
theirs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[1] / "book" / "scale" / "targets.csv"
COLUMNS = ("benchmark", "seconds of one core", "of the target", "times OpenDP")
SHARE = "share of target"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the median of each benchmark that knows its target."""
    found = getattr(session.config, "_benchmarksession", None)
    rows = {}
    for done in found.benchmarks if found else ():
        beside = [
            v for name, v in done.extra_info.items() if name.startswith("times OpenDP")
        ]
        if SHARE not in done.extra_info and not beside:
            continue
        share = done.extra_info.get(SHARE)
        core = done.extra_info.get(COLUMNS[1], done.stats.median)
        rows[sentence(done.name)] = (
            f"{core:.3g}",
            "" if share is None else f"{share:.3g}",
            f"{beside[0]:.3g}" if beside else "",
        )
    if rows:
        write({**read(), **rows})


def sentence(name: str) -> str:
    """Return a benchmark's name as words, its parameters after a comma."""
    words, _, values = name.removeprefix("test_").partition("[")
    return words.replace("_", " ") + (f", {values[:-1]}" if values else "")


def read() -> dict[str, tuple[str, ...]]:
    """Return the rows that are there."""
    if not TABLE.is_file():
        return {}
    with TABLE.open(newline="") as stream:
        return {row[0]: tuple(row[1:]) for row in list(csv.reader(stream))[1:]}


def write(rows: dict[str, tuple[str, ...]]) -> None:
    """Write the rows in the order of their names."""
    with TABLE.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((name, *rows[name]) for name in sorted(rows))
