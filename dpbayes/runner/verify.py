"""The numbers of a build against the reference that is committed with the book.

A number agrees where it differs by at most 1e-9 (of itself, where it is larger than
one), one that was drawn by at most four standard errors; what belongs to the machine,
such as a time, is left out.
"""

from __future__ import annotations

import csv
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbayes.figures.typeset import read_number, typeset
from dpbayes.record import PROVENANCE, json_bytes, read_json, write_atomically
from dpbayes.runner.results import kept

TOLERANCE = 1e-9  # what the last digits of long sums differ by between processors
ERRORS = 4.0  # standard errors: one number in 16,000 differs by more


def recorded(folder: Path) -> dict[str, Any]:
    """Return the numbers, standard errors and tables that a notebook recorded in a
    folder.
    """
    tables = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            columns = zip(*csv.reader(file), strict=True)
            tables[path.stem] = {
                head: [*map(read_number, cells)] for head, *cells in columns
            }
    found = {"numbers": read_json(folder / "numbers.json"), "tables": tables}
    errors = read_json(folder / "errors.json")
    return {**found, "errors": errors} if errors else found


def folders(results: Path) -> dict[str, Path]:
    """Return the folders of results below one by the notebooks' names."""
    found = sorted(path.parent for path in results.rglob(PROVENANCE))
    return {one.relative_to(results).as_posix(): one for one in found}


def verify(results: Path, reference: Path) -> tuple[str, list[str]]:
    """Say how many numbers agree with the reference and how closely, and name those
    that do not.
    """
    here, paths = folders(results), sorted(reference.rglob("*.json"))
    known = {
        path.relative_to(reference).with_suffix("").as_posix(): path for path in paths
    }
    problems = [f"{name}: there is no reference" for name in here if name not in known]
    problems += [f"{name}: there is no result" for name in known if name not in here]
    compared, agreeing = 0, [(0.0, "")]
    for name in here.keys() & known.keys():
        for key, apart, problem in compare(
            recorded(here[name]), read_json(known[name])
        ):
            compared += 1
            if problem:
                problems.append(f"{name}::{key}: {problem}")
            else:
                agreeing.append(
                    (apart, f" ({name.rpartition('/')[2]})" if apart else "")
                )
    largest, where = max(agreeing)
    numbers = f"{len(agreeing) - 1:,} of {compared:,} numbers agree with the reference"
    difference = f"largest difference {typeset(f'{largest:.0e}')}{where}"
    return f"{numbers}; {difference}", sorted(problems)


def compare(
    found: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterator[tuple[str, float, str]]:
    """Yield the name of each number, how far it is off, and what is wrong with it or
    nothing.
    """
    errors = {**known.get("errors", {}), **found.get("errors", {})}
    here, there = values_of(found), values_of(known)
    for key in {**there, **here}:
        column, _, row = key.partition("[")
        error = errors.get(column, 0.0)
        if isinstance(error, list):
            error = dict(enumerate(error)).get(int(row[:-1]), 0.0)
        if error is None:
            continue  # it belongs to the machine
        if key not in here or key not in there:
            yield (
                key,
                0.0,
                f"it is not in the {'reference' if key in here else 'result'}",
            )
            continue
        one, other, difference, allowed = here[key], there[key], 0.0, TOLERANCE
        if one != other and not isinstance(one, str) and not isinstance(other, str):
            size = max(1.0, abs(other))
            difference, allowed = (
                abs(one - other) / size,
                max(TOLERANCE, ERRORS * error / size),
            )
        wrong = f"{one!r} against {other!r}"
        wrong += f", more than four standard errors of {error:g}" if error else ""
        agrees = one == other or 0.0 < difference <= allowed  # texts have no difference
        yield key, 0.0 if error else difference, "" if agrees else wrong


def values_of(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number and every cell of every table under a name."""
    columns = [
        (f"{a}.{b}", each[b]) for a, each in kept["tables"].items() for b in each
    ]
    cells = {
        f"{name}[{row}]": one for name, each in columns for row, one in enumerate(each)
    }
    return {**kept["numbers"], **cells}


def accept(
    results: Path,
    reference: Path,
    own: Mapping[str, Mapping[str, Any]],
    prune: bool = False,
) -> list[str]:
    """Make what notebooks recorded the reference, and return a line for each file that
    changed.

    `own` has the parameters of every notebook of the book: what was made with others,
    or is not whole, raises ValueError before anything changes. A reference without a
    result stays, unless `prune` says that it goes.
    """
    wanted = {reference / f"{name}.json": one for name, one in folders(results).items()}
    for name, folder in folders(results).items():
        made = kept(folder)
        if name not in own:
            raise ValueError(f"{name}: there is no such notebook in the book")
        if not made:
            raise ValueError(f"{folder} is not what a run has written: run it again")
        if other := [k for k, v in own[name].items() if made["parameters"].get(k) != v]:
            raise ValueError(f"{name} was run with another {', '.join(other)}")
    changed = []
    for path in reference.rglob("*.json") if prune else ():
        if path not in wanted:
            path.unlink()
            changed.append(f"{path} deleted")
    for path, folder in wanted.items():
        before = read_json(path)
        seconds = before.get("seconds") or read_json(folder / PROVENANCE)["seconds"]
        content = {**recorded(folder), "seconds": float(f"{seconds:.1g}")}
        if content != before:
            write_atomically(path, json_bytes(content))
            changed.append(str(path))
    return changed


def certificate(results: Path, reference: Path) -> dict[str, Any]:
    """Return what the book says of its own build: the agreement, the machine, how long
    it took.
    """
    agreement, problems = verify(results, reference)
    made = [read_json(folder / PROVENANCE) for folder in folders(results).values()]
    versions = {k: v for one in made for k, v in one["made from"]["versions"].items()}
    versions = {k: v for one in made for k, v in one["made from"]["versions"].items()}
    info = Path("/proc/cpuinfo")
    named = re.search(
        r"model name\s*: (.*)", info.read_text("utf-8") if info.is_file() else ""
    )
    processor = named[1] if named else platform.processor() or "unknown processor"
    return {
        "agreement": agreement, "problems": problems, "notebooks": len(made),
        "machine": f"{platform.system()} on {platform.machine()}, {processor}",
        "versions": versions,
        "seconds": round(sum(one["seconds"] for one in made)),
    }  # fmt: skip
