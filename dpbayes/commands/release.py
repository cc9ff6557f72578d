"""``dpbayes release``: a private posterior of real counts, from system randomness.

dpbayes release people.csv --plan release.toml     a table of people, paid from an account
dpbayes release --counts 11019,7309 --epsilon 1    bare counts, no account
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import dpbayes as dp
from dpbayes.cli import Refused
from dpbayes.commands.described import add_options, chosen_mechanism, numbers, plain
from dpbayes.mechanisms import REGISTRY

LEVEL = 0.95
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
    if arguments.plan is not None or arguments.table is not None:
        return of_table(arguments)
    if arguments.counts is None or arguments.epsilon is None:
        raise ValueError("either a table with --plan, or --counts with --epsilon, must be given")
    return of_counts(arguments)


def of_table(arguments: argparse.Namespace) -> int:
    """Release a table as its plan says; print, and write the report."""
    from dpbayes.commands.paid import publish

    if arguments.plan is None or arguments.table is None:
        raise ValueError("a table and --plan go together: dpbayes release TABLE --plan FILE")
    if arguments.counts is not None or arguments.epsilon is not None:
        raise ValueError("--counts and --epsilon do not go with --plan, which holds both")
    try:
        return publish(arguments)
    except ImportError as error:
        raise Refused(str(error)) from error


def of_counts(arguments: argparse.Namespace) -> int:
    """Release bare counts; no account is kept."""
    counts = whole_numbers(arguments.counts)
    prior = [1.0] * len(counts)
    if arguments.prior is not None:
        prior = numbers("--prior", arguments.prior)
    mechanism = chosen_mechanism(arguments)
    try:
        private = dp.release(
            mechanism, counts, prior, without_guarantee=arguments.without_guarantee
        )
    except ImportError as error:
        raise Refused(str(error)) from error
    report = describe(private)
    print(json.dumps(report, indent=2) if arguments.json else as_text(report))
    return 0


def whole_numbers(words: str) -> list[int]:
    """Return the counts, or refuse what is not a whole number."""
    try:
        return [int(plain(word)) for word in words.split(",")]
    except ValueError as error:
        raise ValueError(
            f"--counts must be whole numbers separated by commas, got {words!r}"
        ) from error


def describe(private: dp.Release) -> dict[str, Any]:
    """Return what may be published about a release."""
    report: dict[str, Any] = {
        "posterior": private.posterior.concentration.tolist(),
        "released_counts": private.counts.tolist(),
        "noisy": private.noisy.tolist(),
        "records": private.n,
        "mechanism": str(private.mechanism),
        "epsilon": private.guarantee.epsilon,
        "guarantee": private.guarantee.sentence,
        "account": UNPAID,
    }
    try:
        report["expected_distance"] = private.expected_distance()
    except ValueError as error:
        report["expected_distance"], report["expected_distance_missing"] = None, str(error)
    try:
        aware = private.noise_aware()
        report["mean"] = aware.mean.tolist()
        report["intervals"] = [aware.credible_interval(i, LEVEL) for i in range(aware.k)]
    except ValueError as error:
        report["intervals"], report["intervals_missing"] = None, str(error)
    return report


def as_text(report: dict[str, Any]) -> str:
    """Return the report in lines for a reader."""
    lines = [
        f"released posterior  Dirichlet({listed(report['posterior'])})",
        f"released counts     {listed(report['released_counts'])}",
        f"mechanism           {report['mechanism']}",
        f"guarantee           {report['guarantee']}",
        f"account             {report['account']}",
    ]
    if report["expected_distance"] is None:
        lines.append(f"expected error      not computed: {report['expected_distance_missing']}")
    else:
        lines.append(
            f"expected error      {report['expected_distance']:.6g} in Hellinger distance, if the "
            "released counts were the truth"
        )
    if report["intervals"] is None:
        lines.append(f"noise-aware         not computed: {report['intervals_missing']}")
        return "\n".join(lines)
    lines.append(f"noise-aware         mean and central {LEVEL:.0%} interval of each proportion")
    for mean, (low, high) in zip(report["mean"], report["intervals"], strict=True):
        lines.append(f"                    {mean:.6f}  [{low:.6f}, {high:.6f}]")
    return "\n".join(lines)


def listed(values: list[float]) -> str:
    """Return numbers separated by commas, whole ones without a point."""
    return ", ".join(f"{value:.15g}" for value in values)
