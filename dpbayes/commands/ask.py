"""``dpbayes ask``: questions about a cube of real data, answered within a privacy bound.

    dpbayes ask "income >= 10" --cube people.toml --ledger spend.sqlite --length 20 --confidence .95

Without a question it reads one from each line of standard input; a line may end in ``--length`` and
``--confidence`` of its own. The cube file is TOML::

    source = "people.csv"            # or .parquet; relative to this file
    bound = 1.0
    neighbours = "add-remove"        # or "replace-one"; optional
    outside = "refuse"               # or "drop"; optional
    count = "records"                # optional: a column of counts in a table already aggregated

    [[attribute]]
    name = "income"
    edges = [0, 10, 20, 30]
    whole = false                    # optional: values are whole numbers

    [[attribute]]
    name = "sex"
    values = ["f", "m"]

``--cube rand-hie`` uses the table of the book's chapter, with a bound of 1.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbayes.queries import Answer, Cube, QueryServer

_KEYS = {"source", "bound", "neighbours", "outside", "count", "attribute"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("question", nargs="?", help='such as "income >= 10 and age < 35"')
    parser.add_argument("--cube", required=True, help="cube file (TOML), or rand-hie")
    parser.add_argument("--ledger", required=True, help="SQLite file that records every spend")
    parser.add_argument("--length", type=float, help="longest interval that will do")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the interval (.95)")
    parser.add_argument("--explain", action="store_true", help="list the answers combined")


def run(arguments: argparse.Namespace) -> int:
    """Answer one question, or one a line of standard input; 0 unless every one was refused."""
    server = _server(arguments.cube, arguments.ledger)
    try:
        if arguments.question is not None:
            return _one(server, arguments.question, arguments)
        return _session(server, arguments)
    finally:
        server.close()


def _one(server: QueryServer, question: str, arguments: argparse.Namespace) -> int:
    if arguments.length is None:
        raise ValueError("--length must be given: how long may the interval be?")
    if not 0.0 < arguments.confidence < 1.0:
        raise ValueError(
            f"--confidence must lie strictly between 0 and 1, got {arguments.confidence!r}"
        )
    answer = server.ask(question, arguments.length, 1.0 - arguments.confidence)
    print(_described(answer, arguments.confidence))
    if arguments.explain:
        print(_explained(answer))
    sys.stdout.flush()
    return 1 if answer.outcome == "rejected" else 0


def _session(server: QueryServer, arguments: argparse.Namespace) -> int:
    line_parser = argparse.ArgumentParser(prog="", add_help=False, exit_on_error=False)
    line_parser.add_argument("words", nargs="*")
    line_parser.add_argument("--length", type=float, default=arguments.length)
    line_parser.add_argument("--confidence", type=float, default=arguments.confidence)
    line_parser.add_argument("--explain", action="store_true", default=arguments.explain)
    outcomes = [
        _line(server, line.strip(), line_parser)
        for line in sys.stdin
        if line.strip() and not line.lstrip().startswith("#")
    ]
    return 0 if not outcomes or 0 in outcomes else 1


def _line(server: QueryServer, line: str, parser: argparse.ArgumentParser) -> int:
    """Answer one line of a session; a mistake is reported and the session goes on."""
    question, dashes, options = line.partition(" --")
    try:
        settings = parser.parse_args(shlex.split(dashes + options))
        return _one(server, question, settings)
    except (ValueError, TypeError, argparse.ArgumentError) as error:
        print(f"{question}: {error}", file=sys.stderr)
        return 2


def _described(answer: Answer, confidence: float) -> str:
    left = f"spent {answer.spent:.6g}, left {answer.remaining:.6g}"
    if answer.interval is None or answer.estimate is None:
        return f"{answer.label}\n  rejected: the bound does not allow it; {left}"
    interval = answer.interval
    return (
        f"{answer.label}\n"
        f"  estimate {answer.estimate:.2f}\n"
        f"  interval {interval.low:.2f} to {interval.high:.2f} at confidence {confidence:g}\n"
        f"  {answer.outcome}, cost {answer.cost:.6g}; {left}"
    )


def _explained(answer: Answer) -> str:
    lines = [
        f"  answer {source.number}  weight {source.weight:+.4f}  "
        f"{source.variance_share:6.1%} of the variance  {source.label}"
        for source in answer.sources
    ]
    if answer.number is not None:
        rest = 1.0 - sum(source.variance_share for source in answer.sources)
        lines.append(f"  answer {answer.number}  new  {rest:6.1%} of the variance")
    return "\n".join(lines) if lines else "  no earlier answer was used"


def _server(cube_name: str, ledger: str) -> QueryServer:
    from dpbayes.queries import QueryServer, rand_hie_cube

    if cube_name == "rand-hie":
        return QueryServer(rand_hie_cube(), 1.0, ledger=ledger)
    cube, settings = _declared(Path(cube_name))
    neighbours = settings.get("neighbours", "add-remove")
    return QueryServer(cube, settings["bound"], ledger=ledger, neighbours=neighbours)


def _declared(path: Path) -> tuple[Cube, dict[str, Any]]:
    from dpbayes.queries import build_cube

    settings = _read(path)
    attributes = [_attribute(entry) for entry in settings["attribute"]]
    source = Path(settings["source"])
    cube = build_cube(
        source if source.is_absolute() else path.parent / source,
        attributes,
        outside=settings.get("outside", "refuse"),
        count=settings.get("count"),
    )
    return cube, settings


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--cube must be a readable file or rand-hie: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"--cube {path} is not TOML: {error}") from error
    unknown = set(settings) - _KEYS
    missing = {"source", "bound", "attribute"} - set(settings)
    if unknown or missing:
        raise ValueError(
            f"--cube {path} must set source, bound and attribute; "
            f"missing {sorted(missing)}, unknown {sorted(unknown)}"
        )
    return settings


def _attribute(entry: dict[str, Any]) -> Any:
    from dpbayes.queries import Bins, Categories

    keys = set(entry)
    if keys == {"name", "values"}:
        return Categories(entry["name"], tuple(entry["values"]))
    if {"name", "edges"} <= keys <= {"name", "edges", "whole"}:
        return Bins(entry["name"], tuple(entry["edges"]), entry.get("whole", False))
    raise ValueError(f"attribute must have name and either edges or values, got {sorted(keys)}")
