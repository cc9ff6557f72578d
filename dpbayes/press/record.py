"""Where numbers, tables, figures and findings leave a notebook, and how they came to be.

::

    from dpbayes.press import open_record

    record = open_record()
    record.numbers({"crossover": 12.5, "runs": 40})     # numbers.json
    record.table("means", {"n": sizes, "mean": means})  # means.csv, shown in the notebook
    record.figure("means", figure, alt, caption)        # means.svg and means.png, shown as SVG
    record.finding(                                     # findings.json, shown as a sentence
        "best", a < b, true="Smaller, by {by:.1%}.", false="Larger, by {by:.1%}.", by=abs(1 - a / b)
    )

The files go to the folder ``<name>`` below the folder named by the environment variable
``DPBAYES_RESULTS``, else below ``results`` at the top of the checkout, or below ``results`` in the
working directory outside one. The same inputs give the same bytes; only ``provenance.json``
(commit, versions, duration) may differ between runs.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import math
import numbers
import os
import platform
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbayes.press.findings import Finding, decided
from dpbayes.press.places import results_folder
from dpbayes.press.quotes import one_of, powers_of_ten
from dpbayes.press.shown import ShownFigure, ShownFinding, ShownNumbers, ShownTable
from dpbayes.press.traces import PACKAGE, used, version, versions

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
PROVENANCE = "provenance.json"


@dataclass
class Record:
    """The results of one notebook; :func:`dpbayes.press.open_record` makes one."""

    name: str
    parameters: dict[str, Any]
    seed: int | None
    folder: Path
    ordered: bool = False
    started: float = field(default_factory=time.perf_counter, repr=False)
    kept: dict[str, int | float] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: float) -> None:
        """Keep one finite number for the pages to quote."""
        self.numbers({name: value})

    def numbers(self, values: Mapping[str, float]) -> ShownNumbers:
        """Keep finite numbers for the pages to quote, by their names, and return them to show."""
        for name, value in values.items():
            _check_name("name", name, self.kept)
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"value must be a real number, got {value!r} for {name!r}")
            if not math.isfinite(value):
                raise ValueError(f"value must be finite, got {value!r} for {name!r}")
            self.kept[name] = int(value) if isinstance(value, numbers.Integral) else float(value)
        self._write("numbers.json", json_bytes(self.kept))
        return ShownNumbers({name: self.kept[name] for name in values})

    def finding(
        self,
        name: str,
        holds: bool | None,
        true: str,
        false: str | None = None,
        undecided: str | None = None,
        by_theorem: str | None = None,
        **values: Any,
    ) -> None:
        """Show and keep what came out: the sentence that belongs to the outcome, filled in.

        ``holds`` is True, False, or None where these parameters do not decide it. The sentences are
        format strings: ``{worst:.3f}`` is the keyword argument ``worst``, or else the recorded
        number or the parameter of that name, with a true minus sign and powers of ten written out;
        a list is shown element by element; braces of mathematics are doubled. What cannot come out
        false says by which theorem instead::

            record.finding(
                "rises", a < b, true="It rises, by {by:.2f}.", false="It does not rise.", by=b - a
            )
            record.finding(
                "private", loss <= epsilon, by_theorem="thm-laplace-private",
                true="The actual loss is {loss:.3f}, within the promise.", loss=loss,
            )

        Pages quote it with the role ``{finding}`` and ``notebook::name``. Raises TypeError for a
        condition that is none of the three, ValueError for an outcome without a sentence, a value
        that is missing or not a number, and a theorem that came out false.
        """
        _check_name("name", name, self.findings)
        known = {**self.parameters, **self.kept}
        found = decided(name, holds, true, false, undecided, by_theorem, values, known)
        self.findings[name] = found
        kept = {key: one.plain() for key, one in self.findings.items()}
        self._write("findings.json", json_bytes(kept))
        ShownFinding(name, found.sentence).show()

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

    def figure(self, name: str, figure: Any, alt: str, caption: str = "") -> ShownFigure:
        """Write a figure as ``<name>.svg`` and ``<name>.png``; ``alt`` says what it shows.

        ``caption`` stands below the figure in every viewer; make it in the cell, from the values
        that were drawn. On the pages the first figure of ``part/stem`` has the label ``fig-stem``,
        a further one ``fig-stem-name``, unless the cell's metadata names another.
        """
        drawn = {Path(file).stem for file in self.files if file.endswith(".svg")}
        _check_name("name", name, drawn)
        if not hasattr(figure, "savefig"):
            raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
        if not isinstance(alt, str) or not alt.strip():
            raise ValueError(f"alt must say what the figure shows, got {alt!r}")
        from dpbayes.figures.theme import png_bytes, svg_bytes

        svg = svg_bytes(figure, salt=f"{self.name}/{name}")
        self._write(f"{name}.svg", svg)
        self._write(f"{name}.png", png_bytes(figure))
        label = "fig-" + self.name.rsplit("/", 1)[-1] + (f"-{name}" if drawn else "")
        text = powers_of_ten(one_of(" ".join(caption.split())))
        seen = powers_of_ten(one_of(" ".join(alt.split())))
        return ShownFigure(svg.decode(), seen, text, label)

    def _write(self, file: str, content: bytes) -> None:
        write_atomically(self.folder / file, content, durable=False)
        self.files[file] = sha256(content)
        if not self.ordered:  # else whoever ordered the run writes it, once, when the run has ended
            seconds = time.perf_counter() - self.started
            write_provenance(
                self.folder, self.name, self.parameters, self.seed, used(), seconds, self.files
            )


def write_provenance(
    folder: Path,
    name: str,
    parameters: Mapping[str, Any],
    seed: int | None,
    used: Mapping[str, list[str]],
    seconds: float,
    files: Mapping[str, str],
) -> None:
    """Write how the files in a folder of results came to be: `files` maps names to digests."""
    made = {
        "notebook": name,
        "parameters": dict(parameters),
        "seed": seed,
        "commit": commit(),
        **described(used),
        "seconds": round(seconds, 3),
        "sha256": dict(files),
    }
    write_atomically(folder / PROVENANCE, json_bytes(made), durable=False)


def sha256(content: bytes) -> str:
    """Return the digest of a file's content as provenance lists it."""
    return hashlib.sha256(content).hexdigest()


def described(used: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return what a run used as provenance lists it: Python, packages, modules, data files."""
    own = [Path(file).name for file in used["read"] if not Path(file).is_relative_to(PACKAGE)]
    data = [
        Path(file).relative_to(PACKAGE).as_posix()
        for file in used["read"]
        if Path(file).is_relative_to(PACKAGE)
    ]
    return {
        "python": platform.python_version(),
        "versions": {
            "dpbayes": version("dpbayes"),
            **versions(used["packages"]),
        },
        "modules": used["modules"],
        "data": sorted([*data, *own]),
    }


def record(
    name: str, parameters: Mapping[str, Any], seed: int | None = None, ordered: bool = False
) -> Record:
    """Return the record that keeps the results of the notebook ``name``.

    ``parameters`` are the notebook's parameter values, ``seed`` the seed of its random numbers, or
    None when it draws none. Where the run is ``ordered`` whoever ordered it writes its provenance.
    Raises ValueError for a name with characters beside a-z, 0-9, ``-``.

    >>> record("accuracy/growth", parameters={"n": 100}).name
    'accuracy/growth'
    """
    if not isinstance(name, str) or not all(NAME.fullmatch(part) for part in name.split("/")):
        raise ValueError(f"name must be words of a-z, 0-9 and '-' joined by '/', got {name!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, numbers.Integral)):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    plain = json.loads(json.dumps(dict(parameters), default=_plain))
    told = os.environ.get("DPBAYES_RESULTS")
    root = Path(told).absolute() if told else results_folder(Path.cwd())
    return Record(name, plain, None if seed is None else int(seed), root / name, ordered)


def write_atomically(path: Path, content: bytes, durable: bool = True) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, whoever else writes it.

    ``durable`` waits until the bytes are on the disk, so that this holds after a power cut too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        part.write_bytes(content)
        if durable:
            synced(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def synced(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def json_bytes(value: Any) -> bytes:
    """Return a value as the one JSON text it is written as."""
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()
