"""What ``dpbayes release TABLE --plan FILE`` does: pay, draw, write, print, and then analyse."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbayes.cli import Refused
from dpbayes.record import write_atomically
from dpbayes.tables.analysis import bounded_analysis
from dpbayes.tables.plan import read_plan
from dpbayes.tables.release import PaidRelease, release_table
from dpbayes.tables.report import csv_text, error_sentence, html_text, json_text, ready, rows_of


def publish(arguments: argparse.Namespace) -> int:
    """Make the release, write its files, print it; the analysis comes last and may be missing.

    Whatever fails after the payment is told as that: the release is made.
    """
    plan = read_plan(arguments.plan)
    require_folder(arguments.output)
    ready()
    paid = release_table(arguments.table, plan, arguments.show_values)
    try:
        _tell(paid, Path(arguments.output or f"release-{paid.request}"), arguments.json)
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Refused(
            f"the release is made and paid (request {paid.request}, receipt {paid.receipt}); the "
            f"same command gives the same draw and costs nothing. What failed came after: {error}"
        ) from error
    return 0


def _tell(paid: PaidRelease, folder: Path, as_json: bool) -> None:
    record = paid.record()
    write_files(folder, record)
    if not as_json:
        print(core_text(paid, folder), flush=True)
    record["analysis"] = bounded_analysis(record)
    write_files(folder, record, drawn=True)
    print(json_text(record) if as_json else analysis_text(record))


def require_folder(output: str | None) -> None:
    """Refuse a place for the report that cannot be one, before anything is paid."""
    folder = Path(output or ".")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise ValueError(
            f"--output must be a folder that can be written, got {str(folder)!r}: {reason}"
        )


def write_files(folder: Path, record: Mapping[str, Any], drawn: bool = False) -> None:
    """Write the three files of a release, each whole or not at all."""
    write_atomically(folder / "release.json", json_text(record).encode())
    write_atomically(folder / "release.csv", csv_text(record).encode())
    write_atomically(folder / "report.html", html_text(record, drawn).encode())


def core_text(paid: PaidRelease, folder: Path) -> str:
    """Return the released counts and what they cost, in lines for a reader."""
    width = max(len(label) for label in paid.plan.labels)
    lines = [
        f"{label:{width}}  {count:>12,}"
        for label, count in zip(paid.plan.labels, paid.private.counts.tolist(), strict=True)
    ]
    record = paid.record()
    again = ": drawn and paid before, nothing new was spent" if paid.repeated else ""
    slack = "; delta {delta_cost} of {delta_bound}, {delta_balance} left"
    lines += [
        f"request    {paid.request}{again}",
        f"guarantee  {record['guarantee']}",
        f"cost       {record['cost']} of {record['bound']}; {record['balance']} left"
        + (slack.format(**record) if record["delta"] != "0" else ""),
        f"receipt    {paid.receipt}",
        f"files      {folder / 'report.html'}, release.json, release.csv",
    ]
    return "\n".join(lines)


def analysis_text(record: Mapping[str, Any]) -> str:
    """Return the expected error and the noise-aware intervals in lines for a reader."""
    aware = record["analysis"]["noise_aware"]
    if "missing" in aware:
        return f"{error_sentence(record)}\nNoise-aware reading: {aware['missing']}."
    width = max(len(label) for label in record["labels"])
    lines = [
        f"{row['label']:{width}}  {row['noise_aware_share']:.4f}  "
        f"[{row['noise_aware_low']:.4f}, {row['noise_aware_high']:.4f}]"
        for row in rows_of(record)
    ]
    return "\n".join([error_sentence(record), "Noise-aware shares and 95% intervals:", *lines])
