"""``dpbayes release``: a private posterior of real counts, from system randomness.

dpbayes release people.csv --plan release.toml     a table of people, paid from an account
dpbayes release --counts 11019,7309 --epsilon 1    bare counts, no account
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpbayes as dp
from dpbayes.cli import Refused
from dpbayes.commands.described import add_options, chosen_mechanism, numbers, plain
from dpbayes.mechanisms import REGISTRY
from dpbayes.record import write_atomically
from dpbayes.tables.analysis import bounded_analysis
from dpbayes.tables.report import (
    LEVEL,
    csv_text,
    error_sentence,
    html_text,
    json_text,
    rows_of,
    template,
)

if TYPE_CHECKING:
    from dpbayes.tables.release import PaidRelease

UNPAID = "none: nothing adds this up with other releases of the same people; --plan does"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("table", nargs="?", help="CSV or Parquet file, with --plan")
    parser.add_argument("--plan", metavar="FILE", help="plan of the release (TOML)")
    parser.add_argument("--output", metavar="FOLDER", help="where the report goes, with --plan")
    parser.add_argument(
        "--show-values", action="store_true", help="print a value that the plan does not list"
    )
    parser.add_argument("--counts", metavar="A,B,…", help="records in each category, two or more")
    parser.add_argument("--prior", metavar="A,B,…", help="prior parameters (default: all 1)")
    parser.add_argument(
        "--mechanism", default="lattice", choices=sorted(REGISTRY), help="default: lattice"
    )
    parser.add_argument("--epsilon", help="privacy parameter, used exactly as typed, with --counts")
    add_options(parser)
    parser.add_argument(
        "--without-guarantee",
        action="store_true",
        help="also draw from a mechanism that has no proved guarantee",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Draw one release and print it; the true counts enter the draw and nothing else."""
    if arguments.plan is None and arguments.table is None:
        return of_counts(arguments)
    if arguments.plan is None or arguments.table is None:
        raise ValueError("a table and --plan go together: dpbayes release TABLE --plan FILE")
    if arguments.counts is not None or arguments.epsilon is not None:
        raise ValueError("--counts and --epsilon do not go with --plan, which holds both")
    return publish(arguments)


def publish(arguments: argparse.Namespace) -> int:
    """Release a table, write the files, print; the analysis comes last and may be missing.

    Whatever fails after the payment is told as that: the release is made.
    """
    from dpbayes.tables.plan import read_plan
    from dpbayes.tables.release import release_table

    plan = read_plan(arguments.plan)
    require_folder(Path(arguments.output or "."))
    template()
    paid = release_table(arguments.table, plan, arguments.show_values)
    folder = Path(arguments.output or f"release-{paid.request}")
    try:
        record = paid.record()
        write_files(folder, record)
        if not arguments.json:
            print(core_text(paid, folder), flush=True)
        record["analysis"] = bounded_analysis(record)
        write_files(folder, record, drawn=True)
        print(json_text(record) if arguments.json else analysis_text(record))
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Refused(
            f"the release is made and paid (request {paid.request}, receipt {paid.receipt}); the "
            f"same command gives the same draw and costs nothing. What failed came after: {error}"
        ) from error
    return 0


def require_folder(folder: Path) -> None:
    """Refuse a place for the report that cannot be one, before anything is paid."""
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
    record, width = paid.record(), max(len(label) for label in paid.plan.labels)
    again = ": drawn and paid before, nothing new was spent" if paid.repeated else ""
    pairs = zip(record["labels"], record["counts"], strict=True)
    return "\n".join(
        [
            *(f"{label:{width}}  {count:>12,}" for label, count in pairs),
            f"request    {paid.request}{again}",
            f"guarantee  {record['guarantee']}",
            "cost       {cost} of {bound}; {balance} left".format(**record),
            f"receipt    {paid.receipt}",
            f"files      {folder / 'report.html'}, release.json, release.csv",
        ]
    )


def analysis_text(record: Mapping[str, Any]) -> str:
    """Return the expected error and the noise-aware intervals in lines for a reader."""
    aware = record["analysis"]["noise_aware"]
    if "missing" in aware:
        return f"{error_sentence(record)}\nNoise-aware reading: {aware['missing']}."
    width = max(len(label) for label in record["labels"])
    line = (
        "{label:{width}}  {noise_aware_share:.4f}  [{noise_aware_low:.4f}, {noise_aware_high:.4f}]"
    )
    lines = [line.format(width=width, **row) for row in rows_of(record)]
    return "\n".join([error_sentence(record), "Noise-aware shares and 95% intervals:", *lines])


def of_counts(arguments: argparse.Namespace) -> int:
    """Release bare counts; no account is kept."""
    if arguments.counts is None or arguments.epsilon is None:
        raise ValueError("either a table with --plan, or --counts with --epsilon, must be given")
    try:
        counts = [int(plain(word)) for word in arguments.counts.split(",")]
    except ValueError as error:
        raise ValueError(
            f"--counts must be whole numbers separated by commas, got {arguments.counts!r}"
        ) from error
    prior = [1.0] * len(counts)
    if arguments.prior is not None:
        prior = numbers("--prior", arguments.prior)
    chosen = chosen_mechanism(arguments)
    private = dp.release(chosen, counts, prior, without_guarantee=arguments.without_guarantee)
    report = described(private)
    print(json.dumps(report, indent=2) if arguments.json else as_text(report))
    return 0


def described(private: dp.Release) -> dict[str, Any]:
    """Return what may be published about a release of bare counts."""
    report: dict[str, Any] = {
        "posterior": private.posterior.concentration.tolist(),
        "released_counts": private.counts.tolist(),
        "noisy": private.noisy.tolist(),
        "records": private.n,
        "mechanism": str(private.mechanism),
        "epsilon": private.guarantee.epsilon,
        "guarantee": private.guarantee.sentence,
        "account": UNPAID,
        "expected_distance": None,
        "intervals": None,
    }
    try:
        report["expected_distance"] = private.expected_distance()
    except ValueError as error:
        report["expected_distance_missing"] = str(error)
    try:
        aware = private.noise_aware()
        report |= {"mean": aware.mean.tolist(), "intervals": aware.interval(LEVEL).tolist()}
    except ValueError as error:
        report["intervals_missing"] = str(error)
    return report


def as_text(report: Mapping[str, Any]) -> str:
    """Return the report of bare counts in lines for a reader."""
    posterior = ", ".join(f"{value:.15g}" for value in report["posterior"])
    expected, aware = (
        f"not computed: {report.get(f'{name}_missing')}"
        for name in ("expected_distance", "intervals")
    )
    if report["expected_distance"] is not None:
        expected = f"{report['expected_distance']:.6g} in Hellinger distance, if the released "
        expected += "counts were the truth"
    if report["intervals"] is not None:
        aware = f"mean and central {LEVEL:.0%} interval of each proportion"
    lines = {
        "released posterior": f"Dirichlet({posterior})",
        "released counts": ", ".join(map(str, report["released_counts"])),
        **{name: report[name] for name in ("mechanism", "guarantee", "account")},
        "expected error": expected,
        "noise-aware": aware,
    }
    shares = zip(report.get("mean", ()), report["intervals"] or (), strict=True)
    return "\n".join(
        [f"{name:19} {text}" for name, text in lines.items()]
        + [f"{'':20}{mean:.6f}  [{low:.6f}, {high:.6f}]" for mean, (low, high) in shares]
    )
