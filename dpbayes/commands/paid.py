"""What ``dpbayes release TABLE --plan FILE`` does: pay, draw, write, print, and then analyse."""

from __future__ import annotations

import argparse
import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbayes.press.record import write_atomically
from dpbayes.releasing.analysis import GROUPS, bounded_analysis
from dpbayes.releasing.from_table import PaidRelease, release_table
from dpbayes.releasing.plan import read_plan
from dpbayes.releasing.report import csv_text, error_sentence, html_text, json_text, rows_of

MOST_PANELS = 24
READINGS = {"noise-aware": "noise_aware", "plain": "plain"}


def publish(arguments: argparse.Namespace) -> int:
    """Make the release, write its files, print it; the analysis comes last and may be missing."""
    plan = read_plan(arguments.plan)
    require_folder(arguments.output)
    paid = release_table(arguments.table, plan, arguments.show_values)
    folder = Path(arguments.output or f"release-{paid.request}")
    record = paid.record()
    write_files(folder, record)
    if not arguments.json:
        print(core_text(paid, folder), flush=True)
    record["analysis"] = bounded_analysis(record)
    write_files(folder, record, figure_of(record), panel_figures(record))
    print(json_text(record) if arguments.json else analysis_text(record))
    return 0


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


def write_files(
    folder: Path, record: Mapping[str, Any], figure: str = "", panels: Sequence[str] = ()
) -> None:
    """Write the three files of a release, each whole or not at all."""
    write_atomically(folder / "release.json", json_text(record).encode())
    write_atomically(folder / "release.csv", csv_text(record).encode())
    write_atomically(folder / "report.html", html_text(record, figure, panels).encode())


def core_text(paid: PaidRelease, folder: Path) -> str:
    """Return the released counts and what they cost, in lines for a reader."""
    width = max(len(label) for label in paid.plan.labels)
    lines = [
        f"{label:{width}}  {count:>12,}"
        for label, count in zip(paid.plan.labels, paid.private.counts.tolist(), strict=True)
    ]
    record = paid.record()
    again = ": drawn and paid before, nothing new was spent" if paid.repeated else ""
    lines += [
        f"request    {paid.request}{again}",
        f"guarantee  {paid.sentence}",
        f"cost       {record['cost']} of {record['bound']}; {record['balance']} left"
        + slack(record),
        f"receipt    {paid.receipt}",
        f"files      {folder / 'report.html'}, release.json, release.csv",
    ]
    return "\n".join(lines)


def slack(record: Mapping[str, Any]) -> str:
    """Return what the delta cost, where there is one."""
    if record["delta"] == "0":
        return ""
    taken, left, bound = (record[f"delta_{name}"] for name in ("cost", "balance", "bound"))
    return f"; delta {taken} of {bound}, {left} left"


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


def figure_of(record: Mapping[str, Any]) -> str:
    """Return the intervals as SVG, or nothing where there are none or too many to draw."""
    analysis = record["analysis"]
    readings = {
        label: analysis[part]["intervals"]
        for label, part in READINGS.items()
        if "missing" not in analysis[part]
    }
    if not readings or len(record["labels"]) > MOST_PANELS:
        return ""
    return drawing(record["labels"], readings, "share of the category", record["request"])


def panel_figures(record: Mapping[str, Any]) -> list[str]:
    """Return the intervals within each group as SVG, in the order of the groups."""
    part = record["analysis"].get(GROUPS, {"missing": ""})
    if "missing" in part or len(record["groups"]["within"]) > MOST_PANELS:
        return []
    return [
        drawing(
            record["groups"]["within"],
            {label: panel[reading]["intervals"] for label, reading in READINGS.items()},
            f"share within {panel['label']}",
            f"{record['request']}-{place}",
        )
        for place, panel in enumerate(part["panels"])
    ]


def drawing(labels: Sequence[str], readings: Mapping[str, Any], xlabel: str, salt: str) -> str:
    """Return intervals as SVG with its alternative text; `salt` keeps its marks its own."""
    from dpbayes.figures.intervals import intervals
    from dpbayes.figures.theme import svg_bytes

    figure, alt = intervals(labels, readings, xlabel)
    svg = svg_bytes(figure, salt=salt).decode()
    start = svg.index("<svg")
    return f'<svg role="img" aria-label="{html.escape(alt)}"' + svg[start + len("<svg") :]
