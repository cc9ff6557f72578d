"""What a notebook keeps: numbers, tables, figures and claims. One call a result.

::

    from dpbayes import record

    crossover = record.number("crossover", x)               # numbers.json, and returned
    record.table("means", {"n": sizes, "mean": means})      # means.csv
    record.figure("means", figure, alt="…", caption="…")    # means.svg and means.png
    record.claim("ahead", f"The first is smaller: {a:.3f} against {b:.3f}.", a < b)

Each shows itself in whatever runs the notebook and writes its file below
``results/<notebook>``, or into the folder that the environment variable
``DPBAYES_RESULTS`` names.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpbayes import _validate
from dpbayes.figures.typeset import typeset, without_roles

PROVENANCE = "provenance.json"
NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
SHOWN_ROWS = 12


@dataclass
class _Run:
    """What the notebook that is running has kept so far: kind, name, value."""

    name: str
    folder: Path
    once: bool  # a name is given once; in a session of one's own a cell may run again
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)


_runs: list[_Run] = []  # of this process: none before something is recorded, then one


def begin(name: str, results: Path) -> None:
    """Say what the notebook is called that this process is going to run, and where
    results go.
    """
    _runs[:] = [_Run(name, results / name, once=True)]


def number(name: str, value: float, *, error: float | None = None) -> float:
    """Keep one finite number under a name that is not taken, and return it as it is.

    `error` is the standard error of a number that was drawn, of which `dpbayes verify`
    allows four; ``math.inf`` marks what belongs to the machine, such as a time, and is
    not compared.
    """
    plain = _validate.real(f"number {name!r}", value)
    if error is not None and error != math.inf:
        _validate.non_negative(f"error of {name!r}", error)
    _keep("numbers", name, int(value) if isinstance(value, int | np.integer) else plain)
    if error is not None:
        _keep_errors({name: error})
    return value


def table(
    name: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    errors: Mapping[str, Any] | None = None,
) -> None:
    """Write columns of equal length as ``<name>.csv`` with all digits, and show the
    first rows.

    `errors` has the standard errors of columns that were drawn, one for all rows or one
    a row.
    """
    lengths = {label: len(values) for label, values in columns.items()}
    if len({*lengths.values()}) != 1:
        raise ValueError(f"the columns of {name!r} must have one length, got {lengths}")
    if unknown := [label for label in errors or {} if label not in columns]:
        raise ValueError(
            f"errors of {name!r} name {unknown[0]!r}, which is no column of it"
        )
    rows = list(zip(*columns.values(), strict=True))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([[*columns], *rows])
    _keep("tables", name)
    _save(f"{name}.csv", stream.getvalue().encode())
    if errors:
        _keep_errors({f"{name}.{label}": one for label, one in errors.items()})
    lines = [
        [*columns],
        ["--:"] * len(columns),
        *([*map(_cell, r)] for r in rows[:SHOWN_ROWS]),
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    more = (
        f"\n\n… and {len(rows) - SHOWN_ROWS} more rows"
        if len(rows) > SHOWN_ROWS
        else ""
    )
    _say(text + more, {"table": name})


def figure(name: str, figure: Any, *, alt: str, caption: str = "") -> None:
    """Write a figure as ``<name>.svg`` and ``<name>.png`` and show it with its caption.

    `alt` says what the picture shows. On the pages the first figure of ``part/stem``
    has the label ``fig-stem``, a further one ``fig-stem-name``.
    """
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"alt must say what the figure shows, got {alt!r}")
    from dpbayes.figures.theme import png_bytes, svg_bytes

    _keep("figures", name)
    run = _run()
    svg = svg_bytes(figure, salt=f"{run.name}/{name}")
    _save(f"{name}.svg", svg)
    _save(f"{name}.png", png_bytes(figure))
    stem, first = run.name.rpartition("/")[2], next(iter(run.kept["figures"]))
    label = f"fig-{stem}" if name == first else f"fig-{stem}-{name}"
    words = {
        "name": name,
        "label": label,
        "alt": typeset(alt),
        "caption": typeset(caption),
    }
    spoken = f'<svg role="img" aria-label="{html.escape(words["alt"])}" '
    drawn = svg.decode().replace("<svg ", spoken, 1)
    known = {"figure": words} if caption else {}
    _show({"image/svg+xml": drawn, "text/plain": f"Figure: {words['alt']}"}, known)
    if caption:
        _say(f"*Figure.* {words['caption']}", {"caption-of": label})


def claim(name: str, sentence: str, holds: bool, *, theorem: str | None = None) -> None:
    """Keep a sentence and whether it holds with these parameters, and show both.

    The sentence is Markdown; numbers get a true minus sign and powers of ten. What a
    theorem says (its label in the book) cannot fail: that raises AssertionError.
    """
    if (
        not isinstance(sentence, str)
        or not sentence.strip()
        or re.search(r"\bnan\b", sentence)
    ):
        raise ValueError(
            f"claim {name!r} needs a sentence without nan, got {sentence!r}"
        )
    if not isinstance(holds, bool | np.bool_):
        raise TypeError(f"holds must be True or False, got {holds!r} for {name!r}")
    words = typeset(sentence)
    if theorem and not holds:
        raise AssertionError(f"{theorem} says otherwise: {words}")
    _keep("claims", name, {"sentence": words, "holds": bool(holds), "theorem": theorem})
    mark = "✓" if holds else "✗ Does not hold with these parameters:"
    _say(f"{mark} {words}", {"claim": f"{mark} {words}"})


def json_bytes(value: Any) -> bytes:
    """Return a value as the one JSON text it is written as."""
    return (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    ).encode()


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; nothing where there is none."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, if it has other bytes, so that a reader sees the old ones or the
    new ones.
    """
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


def _run() -> _Run:
    """Return the run of this process; where nobody began one, it is a session of one's
    own.
    """
    if not _runs:
        here = Path.cwd()
        tops = [one for one in (here, *here.parents) if (one / "_toc.yml").is_file()]
        stem = Path(os.environ.get("JPY_SESSION_NAME", "notebook")).stem
        folder = Path(
            os.environ.get("DPBAYES_RESULTS") or [*tops, here][0] / "results" / stem
        )
        _runs.append(_Run(folder.name, folder.absolute(), once=False))
    return _runs[0]


def _keep(kind: str, name: str, value: Any = None) -> None:
    """Give a name away and, with a value, put this under it into ``<kind>.json``."""
    if not NAME.fullmatch(name):
        raise ValueError(
            f"a name must be words of letters and digits joined by '-', got {name!r}"
        )
    kept = _run().kept.setdefault(kind, {})
    if name in kept and _run().once:
        raise ValueError(f"{kind} of {_run().name} have {name!r} already")
    kept[name] = value
    if value is not None:
        _save(f"{kind}.json", json_bytes(kept))


def _keep_errors(found: Mapping[str, Any]) -> None:
    errors = _run().kept.setdefault("errors", {})
    for (
        name,
        error,
    ) in found.items():  # None stands for an infinite one, which JSON lacks
        each = [
            float(one) if math.isfinite(one) else None for one in np.atleast_1d(error)
        ]
        errors[name] = each if np.ndim(error) else each[0]
    _save("errors.json", json_bytes(errors))


def _save(file: str, content: bytes) -> None:
    write_atomically(_run().folder / file, content)


def _cell(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return typeset(text).replace("|", "\\|")


def _say(text: str, known: dict[str, Any]) -> None:
    """Show Markdown."""
    plain = without_roles(text)
    _show({"text/plain": plain, "text/markdown": plain}, known)


def _show(bundle: dict[str, str], known: dict[str, Any]) -> None:
    """Show a result in the cell that is running; outside a notebook print its text."""
    python: Any = sys.modules.get("IPython")
    if python and python.get_ipython():
        python.display.display(bundle, metadata={"dpbayes": known}, raw=True)
    else:
        print(bundle["text/plain"])
