"""``dpbayes release people.csv --plan release.toml``: a table of people, paid from its
account.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from dpbayes.commands import Refused
from dpbayes.commands.waiting import waiting
from dpbayes.record import json_bytes, write_atomically
from dpbayes.tables.analysis import bounded_analysis
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.release import PaidRelease, release_table
from dpbayes.tables.report import (
    MARKS,
    csv_text,
    decimals,
    error_sentence,
    html_text,
    reading_sentences,
    rows_of,
    template,
    within_rows,
)

FILES = "release.json", "release.csv", "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("table", help="CSV or Parquet file")
    add("--plan", metavar="FILE", required=True, help="plan of the release (TOML)")
    add("--output", metavar="FOLDER", help="where the report goes")
    add(
        "--show-values",
        action="store_true",
        help="print a value that the plan does not list",
    )


def run(arguments: argparse.Namespace) -> int:
    """Release a table, write the files, print; what fails after the payment is told as
    that.
    """
    plan = read_plan(arguments.plan)
    require_folder(Path(arguments.output or "."))
    require_no_file_of(arguments, plan)
    template()
    try:
        paid = release_table(
            arguments.table,
            plan,
            arguments.show_values,
            check=lambda request: require_no_other_release(
                arguments.output, plan.dataset, request
            ),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "stopped before the release was kept; what may have been paid is not lost,"
            " the same command goes on from there"
        ) from None
    folder = Path(arguments.output or f"release-{paid.request}")
    try:
        record = paid.record()
        write_files(folder, record)
        print(core_text(paid, folder), flush=True)
        with waiting("reading the release"):
            record["analysis"] = bounded_analysis(record)
        write_files(folder, record, drawn=True)
        print(analysis_text(record))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped after the release was made and paid (request {paid.request});"
            " the same command gives the same draw, costs nothing and reads it"
        ) from None
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Refused(
            f"the release is made and paid (request {paid.request}, receipt"
            f" {paid.receipt}); the same command gives the same draw and costs nothing."
            f" What failed came after: {error}"
        ) from error
    return 0


def require_folder(folder: Path) -> None:
    """Refuse a place for the report that cannot be one, before anything is paid; make
    nothing.
    """
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        TemporaryFile(dir=nearest).close()
    except OSError as error:
        told = f"got {str(folder)!r}: {nearest}: {error.strerror}"
        raise ValueError(
            f"--output must be a folder that can be written, {told}"
        ) from None


def require_no_file_of(arguments: argparse.Namespace, plan: Plan) -> None:
    """Refuse a folder in which a file of the report would replace the table, the plan
    or the account, before anything is paid.
    """
    if arguments.output is None:  # a new folder, named after the request
        return
    folder = Path(arguments.output)
    given = arguments.table, arguments.plan, plan.account
    for place in (folder / name for name in FILES):
        for other in filter(os.path.exists, given):
            if place.exists() and place.samefile(other):
                raise ValueError(
                    f"--output must be a folder without {place.name}, got"
                    f" {str(folder)!r}: the report would replace {other}"
                )


def require_no_other_release(output: str | None, dataset: str, request: str) -> None:
    """Refuse a folder that holds the report of another release, which would be lost."""
    if output is None:  # a new folder, named after the request
        return
    place = Path(output) / FILES[0]
    if not place.exists():
        return
    try:
        there = json.loads(place.read_bytes())
        dataset_there, request_there = there["dataset"], there["request"]
    except (ValueError, LookupError, TypeError):
        held = "a file that is no release"
    else:
        if (dataset_there, request_there) == (dataset, request):
            return
        held = f"the paid request {request_there} on {dataset_there!r}"
    raise ValueError(
        f"--output must be a folder without another release, got {output!r}:"
        f" {place} holds {held}, and this is the request {request}. Give another"
        " folder; nothing has been paid"
    )


def write_files(folder: Path, record: Mapping[str, Any], drawn: bool = False) -> None:
    """Write the three files of a release, each whole or not at all."""
    contents = (
        json_bytes(record),
        csv_text(record).encode(),
        html_text(record, drawn).encode(),
    )
    for name, content in zip(FILES, contents, strict=True):
        write_atomically(folder / name, content)


def core_text(paid: PaidRelease, folder: Path) -> str:
    """Return the released counts and what they cost, in lines for a reader."""
    record, width = paid.record(), max(map(len, paid.plan.labels))
    again = ": drawn and paid before, nothing new was spent" if paid.repeated else ""
    pairs = zip(record["labels"], record["counts"], strict=True)
    lines = [f"{label:{width}}  {count:>12,}" for label, count in pairs]
    lines += [f"request    {paid.request}{again}", f"guarantee  {record['guarantee']}"]
    lines += [f"meaning    {record['meaning']}"]
    lines += ["cost       {cost} of {bound}; {balance} left".format(**record)]
    lines += [f"receipt    {paid.receipt}"]
    lines += [f"files      {folder / 'report.html'}, release.json, release.csv"]
    return "\n".join(lines)


def analysis_text(record: Mapping[str, Any]) -> str:
    """Return the expected error and the noise-aware intervals in lines for a reader."""
    told = [error_sentence(record), *reading_sentences(record)]
    if "missing" in record["analysis"]["noise_aware"]:
        return "\n".join(told)
    width, digits = max(map(len, record["labels"])), decimals(record)
    line = (
        "{label:{0}}  {share:.{1}f}  [{table_low:.{1}f}, {table_high:.{1}f}]"
        "  [{population_low:.{1}f}, {population_high:.{1}f}]{2}"
    )
    told.append("Shares, 95% intervals for the table and for the population:")
    told += [
        line.format(width, digits, MARKS[row["doubt"]], **row)
        for row in rows_of(record)
    ]
    if more := within_rows(record):
        told.append(f"Shares within each {record['columns'][0]}, from the same draw:")
        for label, row in zip(record["labels"], more, strict=True):
            ends = (
                f"[{row[f'within_{name}_low']:.{digits}f},"
                f" {row[f'within_{name}_high']:.{digits}f}]"
                for name in ("table", "population")
            )
            share = f"{row['within_share']:.{digits}f}"
            told.append("  ".join([f"{label:{width}}", share, *ends]))
    return "\n".join(told)
