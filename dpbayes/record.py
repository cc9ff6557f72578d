"""What a notebook keeps: numbers, tables, figures, claims, checks. One call a result.

::

    from dpbayes import record

    setting = f"{n} balanced records, ε = {epsilon:g}, flat prior"
    ratio = record.number("ratio", x, given=setting)  # numbers.json, and returned
    record.table("means", frame, caption="…", format=".3g")  # means.csv
    record.figure("means", figure, caption="…")  # means.svg and means.png
    sentence = f"The first is smaller: {a:.3f} against {b:.3f}."
    record.claim("ahead", sentence, a < b, given=setting)
    record.check("roads", "Sum and integral agree to 1e-12.", abs(a - b) < 1e-12)

A claim is a finding; a check is what the builders test, such as two ways to one number.
`given` is the setting of a number or a claim, made from the parameters, so that a rerun
changes it: what has none is not quoted away from the notebook's own page.

Each shows itself in whatever runs the notebook and writes its file into
``results/<part>/<name>``, below the folder that the environment variable
``DPBAYES_RESULTS`` names or the working folder. A notebook's second cell says its name
and has its parameters checked: ``record.here("documents/D-fig5")``.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
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
from dpbayes._tabulated import as_markdown, columns_of, formats, headings
from dpbayes.figures.typeset import typeset, without_roles

PROVENANCE = "provenance.json"
NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
NO_LONGER = "No longer so with these parameters:"


@dataclass
class _Run:
    """What the notebook that is running has kept so far: kind, name, value."""

    name: str
    folder: Path
    own: bool = False  # a session of one's own, in which a cell may run again
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # with their SHA-256
    made: dict[str, Any] = field(
        default_factory=dict
    )  # its provenance, where it is own


_runs: list[_Run] = []  # of this process: none before something is recorded, then one


def begin(name: str, results: Path) -> None:
    """Say what the notebook is called that this process is going to run, and where
    results go.
    """
    _runs[:] = [_Run(name, results / name)]


def begun() -> bool:
    """Say whether somebody began the run of this process."""
    return bool(_runs) and not _runs[0].own


def session(name: str | None) -> None:
    """Begin a session of one's own in which the notebook is called so, if no cell says
    otherwise.
    """
    from dpbayes.notebooks.session import place

    _runs[:] = [_Run(name, place(name), own=True)] if name else []


def files() -> dict[str, str]:
    """Return the files that this run has written so far, each with its SHA-256."""
    return dict(_runs[0].files) if _runs else {}


def here(name: str) -> None:
    """Name the notebook, check its parameters, and say where its results go.

    `name` is the part of the book and the stem, such as ``documents/D-table1``. A value
    of a wrong type or outside its declared range or choices raises TypeError or
    ValueError, which says what is allowed; so does a parameter that papermill added and
    no cell declares.
    """
    from dpbayes.notebooks import provenance
    from dpbayes.notebooks.session import checked, place

    if not re.fullmatch(rf"{NAME.pattern}(/{NAME.pattern})*", name):
        raise ValueError(
            f"name must be part/stem, such as basics/posterior, got {name!r}"
        )
    values = checked(name, sys._getframe(1).f_globals)
    if begun():
        return  # who began this run has said where its results go
    made = {
        "notebook": name,
        "parameters": values,
        **provenance.origin(),
        "versions": provenance.versions(),
    }
    run = _Run(name, place(name), own=True, made=made)
    _runs[:] = [run]
    earlier = read_json(run.folder / PROVENANCE).get("sha256", {})
    for file in earlier:
        (run.folder / Path(file).name).unlink(missing_ok=True)
    where = f"Results go to `{os.path.relpath(run.folder)}`"
    _say(f"{where}{', in place of earlier ones' * bool(earlier)}.", {"place": True})


def number(
    name: str, value: float, *, given: str = "", error: float | None = None
) -> float:
    """Keep one finite number under a name that is not taken, and return it as it is.

    `given` says for which records, ε and prior it was computed, such as ``300 balanced
    records, ε = 1, flat prior``. `error` is the standard error of a number that was
    drawn, of which `dpbayes verify` allows four; ``math.inf`` marks what belongs to the
    machine, such as a time, and is not compared.
    """
    plain = _validate.real(f"number {name!r}", value)
    if error is not None and error != math.inf:
        _validate.non_negative(f"error of {name!r}", error)
    setting = _setting(name, given)
    _keep("numbers", name, int(value) if isinstance(value, int | np.integer) else plain)
    if setting:
        _add("given", {name: setting})
    if error is not None:
        _keep_errors({name: error})
    return value


def table(
    name: str,
    data: Any,
    *,
    caption: str = "",
    headers: Mapping[str, str] | Sequence[str] = (),
    format: str | Mapping[str, str] | Sequence[str] = "",
    errors: Mapping[str, Any] | None = None,
) -> None:
    """Write a table as ``<name>.csv`` with all digits, and show its first rows.

    `data` is a DataFrame (its index is left out) or a mapping of columns of equal
    length. `headers` gives the headings: one for each column, or a mapping that names
    the columns to be shown, in order. `format` is the format of numbers, such as
    ``.3g`` or ``.0% down``: one for all columns, one for each that is shown, or by
    column. A table with a `caption` has a number on the pages and the label
    ``tab-stem-name``. `errors` has the standard errors of columns that were drawn, one
    for all rows or one a row.
    """
    columns = columns_of(name, data)
    if unknown := [label for label in errors or {} if label not in columns]:
        raise ValueError(
            f"errors of {name!r} name {unknown[0]!r}, which is no column of it"
        )
    heads = headings(name, columns, headers)
    forms = formats(name, columns, heads, format)
    rows = list(zip(*columns.values(), strict=True))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([[*columns], *rows])
    _keep("tables", name)
    _save(f"{name}.csv", stream.getvalue().encode())
    if errors:
        _keep_errors({f"{name}.{label}": one for label, one in errors.items()})
    text = as_markdown(columns, heads, forms)
    words = typeset(caption)
    known: dict[str, Any] = {"table": name}
    if words:
        # in lists: a notebook is written with its keys sorted
        known["set"] = {
            "caption": words,
            "columns": [*heads],
            "headers": [*heads.values()],
            "format": [forms.get(label, "s") for label in heads],
        }
    _say(f"*Table.* {words}\n\n{text}" if words else text, known)


def figure(
    name: str, figure: Any, *, caption: str = "", alt: str | None = None
) -> None:
    """Write a figure as ``<name>.svg`` and ``<name>.png`` and show it with its caption.

    `alt` says what the picture shows; where it is left out, it is read off titles,
    labels and data of the axes. On the pages the first figure of ``part/stem`` has the
    label ``fig-stem``, a further one ``fig-stem-name``.
    """
    if alt is not None and (not isinstance(alt, str) or not alt.strip()):
        raise ValueError(f"alt must say what the figure shows, got {alt!r}")
    from dpbayes.figures.alternative import (
        alternative_text,
        as_image,
        headline,
        with_words,
    )
    from dpbayes.figures.theme import png_bytes, svg_bytes

    spoken = typeset(alternative_text(figure) if alt is None else alt)
    _keep("figures", name)
    run = _run()
    stem, first = run.name.rpartition("/")[2], next(iter(run.kept["figures"]))
    label = f"fig-{stem}" if name == first else f"fig-{stem}-{name}"
    words = {"name": name, "label": label, "alt": spoken, "caption": typeset(caption)}
    title = headline(figure) or name
    svg = with_words(svg_bytes(figure, salt=f"{run.name}/{name}"), title, spoken)
    _save(f"{name}.svg", svg)
    _save(f"{name}.png", png_bytes(figure, spoken))
    known = {"figure": words} if caption else {}
    shown = {
        "image/svg+xml": svg.decode(),
        # for readers of notebooks, which give a drawing no words of its own
        "text/html": as_image(svg, spoken),
        "text/plain": f"Figure: {spoken}",
    }
    _show(shown, known)
    if caption:
        _say(f"*Figure.* {words['caption']}", {"caption-of": label})


def claim(
    name: str,
    sentence: str,
    holds: bool,
    *,
    given: str = "",
    theorem: str | None = None,
) -> None:
    """Keep a finding and whether it holds with these parameters, and show it.

    The sentence is Markdown; numbers get a true minus sign and powers of ten. `given`
    is its setting, as of a number. What a theorem says (its label in the book) cannot
    fail: that raises AssertionError.
    """
    words, setting = _sentence("claim", name, sentence, holds), _setting(name, given)
    if theorem and not holds:
        raise AssertionError(f"{theorem} says otherwise: {words}")
    kept = {"sentence": words, "holds": bool(holds), "theorem": theorem}
    _keep("claims", name, {**kept, **({"given": setting} if setting else {})})
    text = words if holds else f"{NO_LONGER} {words}"
    known = {"claim": text, "name": name, "given": setting}
    _say(f"{text} *({setting})*" if setting else text, known)


def check(name: str, sentence: str, holds: bool) -> None:
    """Keep what was tested and whether it held, such as two ways to one number."""
    words = _sentence("check", name, sentence, holds)
    _keep("checks", name, {"sentence": words, "holds": bool(holds)})
    text = f"{'✓' if holds else '✗'} {words}"
    _say(text, {"check": text, "name": name})


def json_bytes(value: Any) -> bytes:
    """Return a value as the one JSON text it is written as."""
    return (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    ).encode()


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; nothing where there is none.

    ValueError names a file that holds something else.
    """
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, if it has other bytes, so that a reader sees the old ones or the
    new ones.
    """
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:  # of a full disk, which names no file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _run() -> _Run:
    """Return the run of this process; where no cell has named it, it has the name of
    the notebook that Jupyter tells.
    """
    if not _runs:
        session(Path(os.environ.get("JPY_SESSION_NAME", "notebook")).stem)
    return _runs[0]


def _keep(kind: str, name: str, value: Any = None) -> None:
    """Give a name away and, with a value, put this under it into ``<kind>.json``."""
    if not NAME.fullmatch(name):
        raise ValueError(
            f"a name must be words of letters and digits joined by '-', got {name!r}"
        )
    kept = _run().kept.setdefault(kind, {})
    if name in kept and not _run().own:
        raise ValueError(f"{kind} of {_run().name} have {name!r} already")
    kept[name] = value
    if value is not None:
        _save(f"{kind}.json", json_bytes(kept))


def _keep_errors(found: Mapping[str, Any]) -> None:
    """Keep standard errors; None stands for an infinite one, which JSON lacks."""
    added = {}
    for name, error in found.items():
        each = [
            float(one) if math.isfinite(one) else None for one in np.atleast_1d(error)
        ]
        added[name] = each if np.ndim(error) else each[0]
    _add("errors", added)


def _add(kind: str, found: Mapping[str, Any]) -> None:
    """Put entries into ``<kind>.json``."""
    known = _run().kept.setdefault(kind, {})
    known.update(found)
    _save(f"{kind}.json", json_bytes(known))


def _save(file: str, content: bytes) -> None:
    """Write a file of this run, and in a session of one's own how it came to be."""
    run = _run()
    write_atomically(run.folder / file, content)
    run.files[file] = hashlib.sha256(content).hexdigest()
    if run.made:
        made = json_bytes({**run.made, "sha256": run.files})
        write_atomically(run.folder / PROVENANCE, made)


def _sentence(kind: str, name: str, sentence: str, holds: bool) -> str:
    """Return a sentence as it is shown; refuse what is none."""
    if (
        not isinstance(sentence, str)
        or not sentence.strip()
        or re.search(r"\bnan\b", sentence)
    ):
        raise ValueError(
            f"{kind} {name!r} needs a sentence without nan, got {sentence!r}"
        )
    if not isinstance(holds, bool | np.bool_):
        raise TypeError(f"holds must be True or False, got {holds!r} for {name!r}")
    return typeset(sentence)


def _setting(name: str, given: str) -> str:
    """Return the setting of a number or a claim as it is shown."""
    if not isinstance(given, str) or re.search(r"\bnan\b", given):
        raise ValueError(
            f"given must be the setting of {name!r} in words, got {given!r}"
        )
    return typeset(given)


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
