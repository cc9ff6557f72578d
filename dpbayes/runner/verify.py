"""The numbers of a build against the reference that is committed with the book.

``book/reference/<notebook>.json`` holds every number and table that a notebook records with the
book's parameters. A number agrees where it differs by at most 1e-9 (of itself, where it is larger
than one), one that was drawn by at most four standard errors; what belongs to the machine, such as
a time, is not compared.
"""

from __future__ import annotations

import csv
import json
import math
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import typeset
from dpbayes.record import PROVENANCE, json_bytes, write_atomically
from dpbayes.runner.notebooks import load
from dpbayes.runner.parameters import declared

TOLERANCE = 1e-9  # what the last digits of long sums differ by between processors
REFERENCE = Path(__file__).parents[1] / "carried" / "reference"
ERRORS = 4.0  # standard errors: one number in 16,000 differs by more


@dataclass
class Agreement:
    """How many numbers agree, the largest difference and where it is, and what disagrees."""

    agreed: int = 0
    compared: int = 0
    largest: float = 0.0
    where: str = ""
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return (
            f"{self.agreed:,} of {self.compared:,} numbers agree with the reference; "
            f"largest difference {typeset(f'{self.largest:.0e}')}{where}"
        )


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; nothing where there is none."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def recorded(folder: Path) -> dict[str, Any]:
    """Return the numbers, standard errors and tables that a notebook recorded in a folder."""
    tables = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        columns = zip(*([_plain(cell) for cell in row] for row in rows), strict=True)
        tables[path.stem] = dict(zip(head, map(list, columns), strict=bool(rows)))
    found = {"numbers": read_json(folder / "numbers.json"), "tables": tables}
    errors = read_json(folder / "errors.json")
    return {**found, "errors": errors} if errors else found


def folders(results: Path) -> dict[str, Path]:
    """Return the folders of results below one by the notebooks' names."""
    found = sorted(path.parent for path in results.rglob(PROVENANCE))
    return {one.relative_to(results).as_posix(): one for one in found}


def verify(results: Path, reference: Path) -> Agreement:
    """Compare what all notebooks recorded with the reference."""
    seen, here, known = Agreement(), folders(results), {}
    for path in sorted(reference.rglob("*.json")):
        known[path.relative_to(reference).with_suffix("").as_posix()] = path
    seen.problems += [f"{name}: there is no reference" for name in here if name not in known]
    seen.problems += [f"{name}: there is no result" for name in known if name not in here]
    for name in here.keys() & known.keys():
        compare(name, recorded(here[name]), read_json(known[name]), seen)
    seen.problems.sort()
    return seen


def compare(name: str, found: Mapping[str, Any], known: Mapping[str, Any], seen: Agreement) -> None:
    """Compare what one notebook recorded with what the reference says of it."""
    errors = {**known.get("errors", {}), **found.get("errors", {})}
    there, here = values_of(known), values_of(found)
    for key in {**there, **here}:
        label, _, row = key.partition("[")
        error = errors.get(label, 0.0)
        if isinstance(error, list):
            error = dict(enumerate(error)).get(int(row[:-1]), 0.0)
        if error is None:
            continue  # it belongs to the machine
        seen.compared += 1
        if key not in here or key not in there:
            missing = "reference" if key in here else "result"
            seen.problems.append(f"{name}::{key}: it is not in the {missing}")
            continue
        one, other = here[key], there[key]
        difference, allowed = 0.0 if one == other else math.inf, 0.0
        if one != other and _is_number(one) and _is_number(other):
            size = max(1.0, abs(other))
            difference, allowed = abs(one - other) / size, max(TOLERANCE, ERRORS * error / size)
        if difference <= allowed:
            seen.agreed += 1
            if not error and difference > seen.largest:
                seen.largest, seen.where = difference, name.rpartition("/")[2]
        else:
            within = f", more than four standard errors of {error:g}" if error else ""
            seen.problems.append(f"{name}::{key}: {one!r} against {other!r}{within}")


def values_of(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number and every cell of every table under a name."""
    return dict(kept["numbers"]) | {
        f"{table}.{column}[{row}]": one
        for table, columns in kept["tables"].items()
        for column, values in columns.items()
        for row, one in enumerate(values)
    }


def accept(results: Path, reference: Path) -> list[Path]:
    """Make what all notebooks recorded the reference, and return the files that changed."""
    wanted = {reference / f"{name}.json": one for name, one in folders(results).items()}
    changed = [path for path in reference.rglob("*.json") if path not in wanted]
    for path in changed:
        path.unlink()
    for path, folder in wanted.items():
        seconds = read_json(folder / PROVENANCE).get("seconds", 0.0)
        content = {**recorded(folder), "seconds": float(f"{seconds:.1g}")}
        if {**read_json(path), "seconds": 0} != {**content, "seconds": 0}:
            write_atomically(path, json_bytes(content))
            changed.append(path)
    return changed


def certificate(results: Path, reference: Path) -> dict[str, Any]:
    """Return what the book says of its own build: the agreement, the machine, how long it took."""
    seen = verify(results, reference)
    made = [read_json(folder / PROVENANCE) for folder in folders(results).values()]
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", info.read_text("utf-8") if info.is_file() else "")
    processor = named[1] if named else platform.processor() or "unknown processor"
    return {
        "agreement": str(seen),
        "problems": seen.problems,
        "machine": f"{platform.system()} on {platform.machine()}, {processor}",
        "versions": {
            key: one for each in made for key, one in each["made from"]["versions"].items()
        },
        "notebooks": len(made),
        "seconds": round(sum(one["seconds"] for one in made)),
    }


def book_run(notebook: Path, name: str) -> dict[str, Any] | None:
    """Return parameters and numbers of the book's own run, where the reference has the notebook."""
    known = read_json(REFERENCE / f"{name}.json")
    parameters = {key: one.default for key, one in declared(load(notebook)).items()}
    return {**known, "parameters": parameters} if known else None


def _plain(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
