"""One notebook at every point of a grid: which points there are, and the table of what came out.

A point is kept as a finished run (`dpbayes.press.cache`) under the digest of its values, with the
key that the book's build uses: it is run again when something it was made from has changed. The
table has a row for every point from the start, with its status, and is written as the points come
in.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from dpbayes.press.cache import Cache
from dpbayes.press.keys import Surroundings, key, reason, sha256
from dpbayes.press.parameters import Parameter, chosen_from_text
from dpbayes.press.record import write_atomically
from dpbayes.press.workers import Order

BETWEEN_TABLES = 1.0  # seconds
BETWEEN_LINES = 10.0  # seconds, where there is no terminal


@dataclass
class Point:
    """One choice of values, and how its run stands."""

    label: str
    varied: Mapping[str, Any]
    values: Mapping[str, Any]
    status: str = "waiting"
    seconds: float | None = None
    problem: str = ""


def grid(
    name: str, parameters: Mapping[str, Parameter], axes: Sequence[str], fixed: Sequence[str]
) -> list[Point]:
    """Return the points of a grid, or raise for an axis or a point that is not allowed."""
    choices = [choices_of(axis) for axis in axes]
    names = [axis for axis, _ in choices]
    taken = [*names, *(assignment.partition("=")[0] for assignment in fixed)]
    for twice in {one for one in taken if taken.count(one) > 1}:
        raise ValueError(f"{twice} is given more than once")
    points = []
    for combination in itertools.product(*(texts for _, texts in choices)):
        assignments = [f"{axis}={text}" for axis, text in zip(names, combination, strict=True)]
        values = chosen_from_text(name, parameters, [*fixed, *assignments])
        plain = json.dumps(values, sort_keys=True).encode()
        label = hashlib.sha256(plain).hexdigest()[:16]
        points.append(Point(label, {axis: values[axis] for axis in names}, values))
    return points


def choices_of(axis: str) -> tuple[str, list[str]]:
    """Return the parameter and the texts of ``name=value;value``."""
    name, equals, text = axis.partition("=")
    values = [value.strip() for value in text.split(";") if value.strip()]
    if not equals or not values:
        raise ValueError(f"a grid axis is given as name=value;value, got {axis!r}")
    if len(set(values)) != len(values):
        raise ValueError(f"{name} lists a value twice: {text!r}")
    return name, values


@dataclass
class Sweep:
    """A sweep under way: its points, where they are kept, and its table."""

    name: str
    notebook: Path
    points: dict[str, Point]
    cache: Cache
    now: Surroundings
    write: Callable[[bytes], None]
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    started: float = field(default_factory=time.time)
    shown: float = field(default_factory=time.time)
    written: float = 0.0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.hash = sha256(self.notebook)

    def waiting(self, again: bool = False) -> list[Order]:
        """Return the orders of the points that must be run; the others are kept."""
        for point in self.points.values():
            kept = self.cache.kept(point.label)
            stale = reason(kept.key if kept else None, self.hash, point.values, self.now)
            if kept and not (again or stale or self.cache.damage(point.label)):
                point.status, point.seconds = "kept", kept.seconds
        return [
            Order(
                point.label, self.name, self.notebook, point.values, self.cache.stage(point.label)
            )
            for point in self.points.values()
            if point.status == "waiting"
        ]

    def cell(self, label: str, index: int, total: int) -> None:
        """A cell starts, which is too little to be told."""

    def done(self, label: str, seconds: float, stage: Path | None = None) -> None:
        """Keep a finished point and bring the table up to date."""
        point = self.points[label]
        stage = stage or self.cache.stage(label)
        used = json.loads((stage / "traces.json").read_text(encoding="utf-8"))
        made_from = key(self.hash, point.values, used, self.now, self.started)
        with self.lock:
            self.cache.keep(label, made_from, seconds, stage)
            point.status, point.seconds = "done", round(seconds, 2)
            self.tell()

    def failed(self, label: str, problem: str) -> bool:
        """Note what went wrong and go on with the other points."""
        with self.lock:
            self.points[label].status, self.points[label].problem = "failed", problem
            self.tell()
        return True

    def tell(self) -> None:
        """Write the table and say how far the sweep is, both now and then."""
        now = time.time()
        if now - self.written >= BETWEEN_TABLES:
            self.write(self.table())
            self.written = now
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{self.state(now)}")
        elif now - self.shown >= BETWEEN_LINES:
            self.stream.write(f"{self.state(now)}\n")
            self.shown = now
        self.stream.flush()

    def state(self, now: float) -> str:
        """Return how many points are finished and how long the others will take."""
        count = self.count()
        run = count["done"] + count["failed"]
        left = (now - self.started) / run * count["waiting"] if run else 0.0
        failed = f", {count['failed']} failed" if count["failed"] else ""
        finished = len(self.points) - count["waiting"]
        return f"{finished} of {len(self.points)} points{failed}, about {duration(left)} left"

    def end(self) -> None:
        """Write the table for the last time."""
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()
        self.write(self.table())

    def count(self) -> dict[str, int]:
        """Return how many points have each status."""
        states = [point.status for point in self.points.values()]
        return {status: states.count(status) for status in ("done", "kept", "failed", "waiting")}

    def table(self) -> bytes:
        """Return the CSV: a row a point with its values, its status, and all it recorded."""
        rows = [{**row_of(point), **self.recorded(point)} for point in self.points.values()]
        columns = list(dict.fromkeys(column for row in rows for column in row))
        stream = io.StringIO()
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue().encode()

    def recorded(self, point: Point) -> dict[str, Any]:
        """Return the numbers and the outcomes of the findings of a finished point."""
        if point.status not in ("done", "kept"):
            return {}
        folder = self.cache.entry(point.label) / "results" / self.name
        numbers, findings = (read(folder / f"{what}.json") for what in ("numbers", "findings"))
        taken = row_of(point).keys()
        row = {f"{name} (recorded)" if name in taken else name: numbers[name] for name in numbers}
        return row | {f"{name} holds": found["holds"] for name, found in findings.items()}


def row_of(point: Point) -> dict[str, Any]:
    """Return the part of a point's row that is known before it has run."""
    varied = {name: plain(value) for name, value in point.varied.items()}
    problem = point.problem.strip().splitlines()[-1:] or [""]
    state = {"status": point.status, "seconds": point.seconds, "problem": problem[0]}
    return {**varied, "point": point.label, **state}


def plain(value: Any) -> Any:
    """Return a parameter's value as one cell of the table."""
    return json.dumps(value) if isinstance(value, (list, bool)) or value is None else value


def read(path: Path) -> dict[str, Any]:
    """Return what a point recorded in a file, or nothing."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42), duration(250), duration(9000)
    ('42 s', '4 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table_writer(csv_file: Path, parquet: bool) -> Callable[[bytes], None]:
    """Return what writes the table: as CSV, and as Parquet through DuckDB where that is wanted."""

    def write(content: bytes) -> None:
        write_atomically(csv_file, content)
        if parquet:
            to_parquet(csv_file)

    return write


def to_parquet(csv_file: Path) -> None:
    """Write a CSV table as Parquet beside it."""
    import duckdb

    part = csv_file.with_suffix(".parquet.part")
    names = [str(path).replace("'", "''") for path in (csv_file, part)]
    with duckdb.connect() as base:
        base.execute(
            f"COPY (SELECT * FROM read_csv('{names[0]}', header = true, sample_size = -1)) "
            f"TO '{names[1]}' (FORMAT parquet)"
        )
    part.replace(csv_file.with_suffix(".parquet"))
