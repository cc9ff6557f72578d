"""What a notebook keeps: numbers, tables, figures and claims. One call a result.

::

    from dpbayes import record

    crossover = record.number("crossover", x)               # numbers.json, and returned
    record.table("means", {"n": sizes, "mean": means})      # means.csv
    record.figure("means", figure, alt="…", caption="…")    # means.svg and means.png
    record.claim("ahead", f"The first is smaller: {a:.3f} against {b:.3f}.", a < b)

Each shows itself in whatever runs the notebook (a terminal, JupyterLab, papermill, nbconvert, the
book) and writes its file below ``results/<notebook>``, or below the folder that the environment
variable ``DPBAYES_RESULTS`` names. Nothing here chooses words. Equal inputs give equal bytes.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import numbers
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import typeset, without_roles

FOLDER = "DPBAYES_RESULTS"
PROVENANCE = "provenance.json"
NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
SHOWN_ROWS = 12


@dataclass
class _Run:
    """What the notebook that is running has kept so far."""

    name: str
    folder: Path
    ordered: bool
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    made_by: dict[tuple[str, str], int] = field(default_factory=dict)


_runs: list[_Run] = []  # of this process: none before something is recorded, then one


def number(name: str, value: float, *, error: float | None = None) -> float:
    """Keep one finite number under a name and return it as it is.

    `error` is the standard error of a number that was drawn: `dpbayes verify` allows four of them.
    ``math.inf`` marks a number that belongs to the machine, such as a time: it is never compared.
    Raises ValueError for a name that is taken, and for what is not finite.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"number {name!r} must be a real number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"number {name!r} must be finite, got {value!r}")
    if error is not None and (isinstance(error, bool) or not error >= 0):
        raise ValueError(f"error must be a standard error, at least 0, got {error!r} for {name!r}")
    _keep("numbers", name, int(value) if isinstance(value, numbers.Integral) else float(value))
    if error is not None:
        _keep_errors({name: error})
    return value


def table(
    name: str, columns: Mapping[str, Sequence[Any]], *, errors: Mapping[str, Any] | None = None
) -> None:
    """Write columns of equal length as ``<name>.csv`` with all digits, and show the first rows.

    `errors` has the standard errors of columns that were drawn, one for all rows or one a row, and
    ``math.inf`` for a column of times.
    """
    plain = {str(label): [*map(_plain, values)] for label, values in columns.items()}
    lengths = {label: len(values) for label, values in plain.items()}
    if not plain or len(set(lengths.values())) != 1:
        raise ValueError(f"the columns of {name!r} must have one length, got {lengths}")
    if unknown := [label for label in errors or {} if label not in plain]:
        raise ValueError(f"errors of {name!r} name {unknown[0]!r}, which is no column of it")
    rows = [[*map(str, row)] for row in zip(*plain.values(), strict=True)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([[*plain], *rows])
    _take("tables", name)
    _save(f"{name}.csv", stream.getvalue().encode())
    if errors:
        _keep_errors({f"{name}.{label}": one for label, one in errors.items()})
    lines = [[*plain], ["--:"] * len(plain), *([*map(_shown, row)] for row in rows[:SHOWN_ROWS])]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    more = f"\n\n… and {len(rows) - SHOWN_ROWS} more rows" if len(rows) > SHOWN_ROWS else ""
    _say(text + more, {"table": name})


def figure(name: str, figure: Any, *, alt: str, caption: str = "") -> None:
    """Write a figure as ``<name>.svg`` and ``<name>.png`` and show it with its caption.

    `alt` says what the picture shows. On the pages the first figure of ``part/stem`` has the label
    ``fig-stem``, a further one ``fig-stem-name``.
    """
    if not hasattr(figure, "savefig"):
        raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"alt must say what the figure shows, got {alt!r}")
    from dpbayes.figures.theme import png_bytes, svg_bytes

    run = _run()
    first = not any(kind == "figures" and other != name for kind, other in run.made_by)
    svg = svg_bytes(figure, salt=f"{run.name}/{name}")
    _take("figures", name)
    _save(f"{name}.svg", svg)
    _save(f"{name}.png", png_bytes(figure))
    label = f"fig-{run.name.rsplit('/', 1)[-1]}" + ("" if first else f"-{name}")
    words = {"name": name, "label": label, "alt": typeset(alt), "caption": typeset(caption)}
    spoken = f'<svg role="img" aria-label="{html.escape(words["alt"])}" '
    drawn = svg.decode().replace("<svg ", spoken, 1)
    known = {"figure": words} if caption else {}
    _show({"image/svg+xml": drawn, "text/plain": f"Figure: {words['alt']}"}, known)
    if caption:
        _say(f"*Figure.* {words['caption']}", {"caption-of": label})


def claim(name: str, sentence: str, holds: bool, *, theorem: str | None = None) -> None:
    """Keep a sentence and whether it holds with these parameters, and show both.

    The sentence is Markdown and shows numbers as they were formatted, but for a true minus sign and
    powers of ten. What a theorem says (its label in the book) cannot fail: that is an error of
    ours, and raises AssertionError.
    """
    if not isinstance(sentence, str) or not sentence.strip() or re.search(r"\bnan\b", sentence):
        raise ValueError(f"claim {name!r} needs a sentence without nan, got {sentence!r}")
    if type(holds).__name__ not in ("bool", "bool_"):  # Python's and numpy's
        raise TypeError(f"holds must be True or False, got {holds!r} for {name!r}")
    words = typeset(sentence)
    if theorem and not holds:
        raise AssertionError(f"{theorem} says otherwise: {words}")
    made = {"sentence": words, "holds": bool(holds), "theorem": theorem}
    _keep("claims", name, made)
    _say(marked(made), {"claim": {"name": name, **made}})


def marked(claim: Mapping[str, Any]) -> str:
    """Return the sentence of a claim behind its mark."""
    mark = "✓" if claim["holds"] else "✗ Does not hold with these parameters:"
    return f"{mark} {claim['sentence']}"


def json_bytes(value: Any) -> bytes:
    """Return a value as the one JSON text it is written as."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_changed(path: Path, content: bytes) -> None:
    """Write a file unless it holds these bytes already."""
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)


def _keep(kind: str, name: str, value: Any) -> None:
    """Put a value under its name into ``<kind>.json``."""
    _take(kind, name)
    kept = _run().kept.setdefault(kind, {})
    kept[name] = value
    _save(f"{kind}.json", json_bytes(kept))


def _keep_errors(found: Mapping[str, Any]) -> None:
    """Keep standard errors; None stands for an infinite one, which JSON lacks."""
    errors = _run().kept.setdefault("errors", {})
    for name, error in found.items():
        many = hasattr(error, "__len__")
        each = [_plain(one) if math.isfinite(one) else None for one in (error if many else [error])]
        errors[name] = each if many else each[0]
    _save("errors.json", json_bytes(errors))


def _take(kind: str, name: str) -> None:
    """Give a name away once a run; in a session of one's own a later cell may take it again."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"a name must be words of letters and digits joined by '-', got {name!r}")
    run, here = _run(), len(_cells() or [])
    if (kind, name) in run.made_by and (run.ordered or run.made_by[kind, name] == here):
        raise ValueError(f"{kind} of {run.name} have {name!r} already")
    run.made_by[kind, name] = here


def _save(file: str, content: bytes) -> None:
    write_atomically(_run().folder / file, content)


def begin(name: str, results: Path) -> None:
    """Say what the notebook is called that this process is going to run, and where results go."""
    _runs[:] = [_Run(name, results / name, ordered=True)]


def _run() -> _Run:
    """Return the run of this process; where nobody began one, find out what it is called."""
    if not _runs:
        here = Path.cwd()
        tops = [one for one in (here, *here.parents) if (one / "_toc.yml").is_file()]
        top = tops[0] if tops else here
        name = _name_of_session(top / "notebooks")
        root = Path(os.environ.get(FOLDER) or top / "results").absolute()
        _runs.append(_Run(name, root / name, ordered=False))
    return _runs[0]


def _cells() -> list[str] | None:
    """Return the cells that have run so far; None outside a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return None if shell is None else list(shell.user_ns.get("In", []))


def _name_of_session(folder: Path) -> str:
    """Return the one notebook of the checkout with the cells that have run, or the file's name."""
    run = {one.strip() for one in _cells() or [] if not one.startswith("# Parameters")} - {""}
    fitting = []
    for path in folder.rglob("*.ipynb") if run else ():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if run <= {"".join(one["source"]).strip() for one in cells}:
            fitting.append(path.relative_to(folder).with_suffix("").as_posix())
    stem = Path(os.environ.get("JPY_SESSION_NAME", "notebook")).stem
    return fitting[0] if len(fitting) == 1 else re.sub(r"[^A-Za-z0-9-]+", "-", stem)


def _plain(value: Any) -> Any:
    """Return a number of numpy as plain Python has it."""
    return value.item() if hasattr(value, "item") else value


def _shown(text: str) -> str:
    """Return a cell of a table to look at."""
    try:
        return typeset(f"{float(text):.6g}" if re.search("[.e]", text) else text)
    except ValueError:
        return text.replace("|", "\\|")


def _say(text: str, known: dict[str, Any]) -> None:
    """Show Markdown."""
    plain = without_roles(text)
    _show({"text/plain": plain, "text/markdown": plain}, known)


def _show(bundle: dict[str, str], known: dict[str, Any]) -> None:
    """Show a result in the cell that is running; outside a notebook print its text."""
    if _cells() is None:
        letters = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(bundle["text/plain"].encode(letters, "replace").decode(letters))
    else:
        spoken = {kind: {"alt": bundle["text/plain"]} for kind in bundle if "image" in kind}
        metadata = {"dpbayes": known, **spoken}
        sys.modules["IPython.display"].display(bundle, metadata=metadata, raw=True)
