"""Where numbers, tables and figures leave a notebook, with a record of how they came to be.

::

    record = results.record("accuracy/growth", parameters={"n": n}, seed=seed)
    record.number("crossover", 12.5)                 # numbers.json
    record.table("means", {"n": sizes, "mean": means})  # means.csv, shown in the notebook
    record.figure("means", figure, alt)              # means.svg and means.png, shown as SVG

The files go to the folder ``<name>`` below the folder named by the environment variable
``DPBAYES_RESULTS``, else below ``results`` in the working directory. The same inputs give the same
bytes; only ``provenance.json`` (commit, versions, duration) may differ between runs.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import html
import importlib.metadata
import io
import json
import math
import numbers
import os
import platform
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
STACK = ("numpy", "scipy", "matplotlib", "seaborn")
SHOWN_ROWS = 12


@dataclass(frozen=True)
class ShownTable:
    """A table as a notebook shows it: the first rows, and how many there are."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"table of {len(self.rows)} rows: {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        head = _html_row("th", self.columns)
        body = "".join(_html_row("td", map(_rounded, row)) for row in self.rows[:SHOWN_ROWS])
        hidden = len(self.rows) - SHOWN_ROWS
        more = f"<p>… and {hidden} more rows in the CSV file</p>" if hidden > 0 else ""
        return f'<table class="dataframe"><thead>{head}</thead><tbody>{body}</tbody></table>{more}'


@dataclass(frozen=True)
class ShownFigure:
    """A figure as a notebook shows it: its SVG, with the alternative text beside it."""

    svg: str = field(repr=False)
    alt: str

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        bundle = {"image/svg+xml": self.svg, "text/plain": self.alt}
        return bundle, {"image/svg+xml": {"alt": self.alt}}


@dataclass
class Record:
    """The results of one notebook; make one with :func:`record`."""

    name: str
    parameters: dict[str, Any]
    seed: int | None
    folder: Path
    started: float = field(default_factory=time.perf_counter, repr=False)
    numbers: dict[str, int | float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: float) -> None:
        """Keep one finite number for the pages to quote."""
        _check_name("name", name, self.numbers)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"value must be a real number, got {value!r} for {name!r}")
        if not math.isfinite(value):
            raise ValueError(f"value must be finite, got {value!r} for {name!r}")
        plain = int(value) if isinstance(value, numbers.Integral) else float(value)
        self.numbers[name] = plain
        self._write("numbers.json", _json(self.numbers))

    def table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> ShownTable:
        """Write columns of equal length as ``<name>.csv``, numbers with all their digits."""
        _check_name("name", name, {Path(file).stem for file in self.files if file.endswith(".csv")})
        lengths = {label: len(values) for label, values in columns.items()}
        if not columns or len(set(lengths.values())) != 1:
            raise ValueError(f"columns must have one length, got {lengths}")
        rows = tuple(
            tuple(map(_cell, row)) for row in zip(*map(_plain, columns.values()), strict=True)
        )
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([tuple(columns), *rows])
        self._write(f"{name}.csv", stream.getvalue().encode())
        return ShownTable(tuple(columns), rows)

    def figure(self, name: str, figure: Any, alt: str) -> ShownFigure:
        """Write a figure as ``<name>.svg`` and ``<name>.png``; ``alt`` says what it shows."""
        _check_name("name", name, {Path(file).stem for file in self.files if file.endswith(".svg")})
        if not hasattr(figure, "savefig"):
            raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
        if not isinstance(alt, str) or not alt.strip():
            raise ValueError(f"alt must say what the figure shows, got {alt!r}")
        from dpbayes.figures.theme import png_bytes, svg_bytes

        svg = svg_bytes(figure, salt=f"{self.name}/{name}")
        self._write(f"{name}.svg", svg)
        self._write(f"{name}.png", png_bytes(figure))
        return ShownFigure(svg.decode(), " ".join(alt.split()))

    def _write(self, file: str, content: bytes) -> None:
        write_atomically(self.folder / file, content)
        self.files[file] = hashlib.sha256(content).hexdigest()
        write_atomically(self.folder / "provenance.json", _json(self._provenance()))

    def _provenance(self) -> dict[str, Any]:
        return {
            "notebook": self.name,
            "parameters": self.parameters,
            "seed": self.seed,
            "commit": commit(),
            "python": platform.python_version(),
            "versions": {name: importlib.metadata.version(name) for name in ("dpbayes", *STACK)},
            "seconds": round(time.perf_counter() - self.started, 3),
            "sha256": self.files,
        }


def record(name: str, parameters: Mapping[str, Any], seed: int | None = None) -> Record:
    """Return the record that keeps the results of the notebook ``name``.

    ``parameters`` are the notebook's parameter values, ``seed`` the seed of its random numbers, or
    None when it draws none. Raises ValueError for a name with characters beside a-z, 0-9, ``-``.

    >>> record("accuracy/growth", parameters={"n": 100}).name
    'accuracy/growth'
    """
    if not isinstance(name, str) or not all(NAME.fullmatch(part) for part in name.split("/")):
        raise ValueError(f"name must be words of a-z, 0-9 and '-' joined by '/', got {name!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, numbers.Integral)):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    plain = json.loads(json.dumps(dict(parameters), default=_plain))
    root = Path(os.environ.get("DPBAYES_RESULTS", "results")).absolute()
    return Record(name, plain, None if seed is None else int(seed), root / name)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


@functools.cache
def commit() -> str | None:
    """Return the commit the package was run from, with ``+changes`` if it was edited since."""
    here = Path(__file__).parent
    try:
        head = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+changes" if changed else "")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _check_name(what: str, name: str, taken: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{what} must be words of a-z and 0-9 joined by '-', got {name!r}")
    if name in taken:
        raise ValueError(f"{what} must be new in this record, got {name!r} twice")


def _plain(values: Any) -> Any:
    """Return numpy arrays and scalars as plain Python values."""
    return values.tolist() if hasattr(values, "tolist") else values


def _cell(value: Any) -> str:
    plain = _plain(value)
    return repr(plain) if isinstance(plain, float) else str(plain)


def _rounded(text: str) -> str:
    try:
        return f"{float(text):.6g}" if "." in text or "e" in text else text
    except ValueError:
        return text


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def _html_row(tag: str, cells: Any) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
