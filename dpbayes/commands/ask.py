"""``dpbayes ask``: questions about a cube of real data, answered within a privacy bound.

    dpbayes ask "income >= 10" --cube people.toml --account clinic.account --length 20
    dpbayes ask "income >= 10" --cube people.toml --ledger spend.sqlite --length 20 --confidence .95

With ``--account`` every fresh answer is paid from the account of the data set, beside its releases.
With ``--ledger`` alone the cube has a budget of its own; a ledger that is not there is only made
when ``--create-ledger`` says so. ``--price`` says what an answer would cost; ``--by sex`` asks once
for each value of an attribute; ``--json`` prints one object a line. With ``--request ID`` a
question can be asked again after a crash: it gets the same answer and is paid once.

Without a question it reads one from each line of standard input; a line may end in ``--length`` and
``--confidence`` of its own, and in a ``--request``. The cube file is TOML::

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
import json
import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbayes._validate import positive
from dpbayes.releasing.account import Account
from dpbayes.releasing.opening import open_account

if TYPE_CHECKING:
    from dpbayes.queries import Answer, Cube, QueryServer

TOKEN = "DPBAYES_TOKEN"
_KEYS = {"source", "bound", "neighbours", "outside", "count", "attribute"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("question", nargs="?", help='such as "income >= 10 and age < 35"')
    parser.add_argument("--cube", help="cube file (TOML), or rand-hie; not with --server")
    paid = parser.add_mutually_exclusive_group(required=True)
    paid.add_argument("--server", metavar="ADDRESS", help="ask a curator: http://127.0.0.1:PORT")
    paid.add_argument("--account", help="account of the data set, from which answers are paid")
    paid.add_argument("--ledger", help="SQLite file with a budget of its own")
    parser.add_argument("--create-ledger", action="store_true", help="make the ledger if need be")
    parser.add_argument("--by", metavar="ATTRIBUTE", help="ask once for each of its values")
    parser.add_argument("--price", action="store_true", help="say the cost, draw nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--length", type=float, help="longest interval that will do")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the interval (.95)")
    parser.add_argument(
        "--consistent", action="store_true", help="add the estimate that fits counts >= 0"
    )
    parser.add_argument(
        "--request", metavar="ID", help="asked again with this id: same answer, paid once"
    )
    parser.add_argument("--explain", action="store_true", help="list the answers combined")


def run(arguments: argparse.Namespace) -> int:
    """Answer one question, or one a line of standard input; 0 unless every one was refused."""
    if arguments.server is not None:
        return _over_the_wire(arguments)
    if arguments.cube is None:
        raise ValueError("--cube must be given with --account and with --ledger")
    server = _server(arguments)
    try:
        if arguments.question is not None:
            return _one(server, arguments.question, arguments)
        return _session(server, arguments)
    finally:
        server.close()


def _one(server: QueryServer, question: str, arguments: argparse.Namespace) -> int:
    if arguments.length is None:
        raise ValueError("--length must be given: how long may the interval be?")
    positive("--length", arguments.length)
    if not 0.0 < 1.0 - arguments.confidence < 1.0:
        raise ValueError(
            "--confidence must lie strictly between 0 and 1, by 2e-16 at least, got "
            f"{arguments.confidence!r}"
        )
    from dpbayes.queries.groups import by_value
    from dpbayes.queries.repeats import checked_request

    request = None if arguments.request is None else checked_request(arguments.request)
    parts = by_value(server.cube, question, arguments.by, "--by", request)
    if request is not None and arguments.by is not None and not arguments.price:
        wanted = (arguments.length, arguments.confidence, arguments.consistent)
        server.bind(request, json.dumps([question, arguments.by, *wanted]))
    outcomes = [_single(server, text, arguments, name) for text, name in parts]
    return 1 if "rejected" in outcomes else 0


def _over_the_wire(arguments: argparse.Namespace) -> int:
    """Send one question to a curator's service; the token comes from the environment."""
    from dpbayes.queries.client import request

    token = os.environ.get(TOKEN, "")
    if not token or arguments.question is None or arguments.length is None:
        raise ValueError(
            f"--server takes one question, --length, and a token in the variable {TOKEN}"
        )
    path = "/price" if arguments.price else "/ask"
    fields = {"question": arguments.question, "length": arguments.length}
    fields |= {"confidence": arguments.confidence, "consistent": arguments.consistent}
    given = {"by": arguments.by, "request": arguments.request}
    fields |= {name: value for name, value in given.items() if value is not None}
    reply = request(arguments.server, token, path, fields)
    replies = reply.get("answers", [reply])
    for one in replies:
        print(json.dumps(one) if arguments.json else _wired(one))
    return 1 if "rejected" in [one["outcome"] for one in replies] else 0


def _wired(reply: dict[str, Any]) -> str:
    lines = [f"{reply['question']}", f"  {reply['outcome']}, cost {reply['cost']:.6g}"]
    if reply["interval"] is not None:
        low, high = reply["interval"]
        lines.append(f"  estimate {reply['estimate']:.2f}, interval {low:.2f} to {high:.2f}")
    if reply["consistent"] is not None:
        lines.append(_fitting(reply["consistent"]))
    if reply["affordable_length"] is not None:
        lines.append(f"  the shortest interval you can afford is {reply['affordable_length']:.6g}")
    return "\n".join([*lines, f"  left {reply['left']}"])


def _single(
    server: QueryServer, question: str, arguments: argparse.Namespace, request: str | None
) -> str:
    delta = 1.0 - arguments.confidence
    if arguments.price:
        answer = server.price(question, arguments.length, delta)
    else:
        answer = server.ask(
            question, arguments.length, delta, consistent=arguments.consistent, request=request
        )
    if arguments.json:
        from dpbayes.queries.service import as_fields

        print(json.dumps(as_fields(answer, arguments.confidence)))
    else:
        print(_priced(answer) if arguments.price else _described(answer, arguments.confidence))
        if arguments.explain:
            print(_explained(answer))
    sys.stdout.flush()
    return answer.outcome


def _priced(answer: Answer) -> str:
    if answer.outcome == "rejected":
        return f"{answer.label}\n  would be rejected{_shortest(answer)}"
    return f"{answer.label}\n  would be {answer.outcome} at cost {answer.cost:.6g}"


def _shortest(answer: Answer) -> str:
    if answer.affordable is None:
        return "; no length is affordable"
    return f"; the shortest interval that is affordable is {answer.affordable:.6g} long"


def _session(server: QueryServer, arguments: argparse.Namespace) -> int:
    line_parser = argparse.ArgumentParser(prog="", add_help=False, exit_on_error=False)
    line_parser.add_argument("words", nargs="*")
    line_parser.add_argument("--length", type=float, default=arguments.length)
    line_parser.add_argument("--confidence", type=float, default=arguments.confidence)
    line_parser.add_argument("--explain", action="store_true", default=arguments.explain)
    line_parser.add_argument("--by", default=arguments.by)
    line_parser.add_argument("--request")
    line_parser.add_argument("--consistent", action="store_true", default=arguments.consistent)
    line_parser.set_defaults(price=arguments.price, json=arguments.json)
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
        return f"{answer.label}\n  rejected: the bound does not allow it; {left}{_shortest(answer)}"
    from dpbayes.tables.attributes import digits

    interval = answer.interval
    fitting = "" if answer.consistent is None else f"{_fitting(answer.consistent)}\n"
    return (
        f"{answer.label}\n"
        f"  estimate {answer.estimate:.2f}\n"
        f"  interval {interval.low:.2f} to {interval.high:.2f} at confidence {digits(confidence)}\n"
        f"{fitting}"
        f"  {answer.outcome}, cost {answer.cost:.6g}; {left}"
    )


def _fitting(value: float) -> str:
    return f"  consistent {value:.2f}, fits counts >= 0 (biased; the interval is the estimate's)"


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


def _server(arguments: argparse.Namespace) -> QueryServer:
    from dpbayes.queries import QueryServer

    if arguments.account is not None:
        return paid_server(arguments.cube, open_account(arguments.account))
    ledger = Path(arguments.ledger)
    there = ledger.exists() and (not ledger.is_file() or ledger.stat().st_size > 0)
    if not there and not arguments.create_ledger:
        raise ValueError(
            f"--ledger must be a ledger that exists, got {str(ledger.absolute())!r}"
            f"{', which is empty' if ledger.exists() else ''}; --create-ledger makes a new one, "
            "with a full budget"
        )
    cube, settings, _ = _cube(arguments.cube)
    neighbours = settings.get("neighbours", "add-remove")
    return QueryServer(cube, settings["bound"], ledger=arguments.ledger, neighbours=neighbours)


def paid_server(cube_name: str, account: Account) -> QueryServer:
    """Return the server of a cube whose answers are paid from an account.

    Its history lies beside the account, under a keyed mark of the cube.
    """
    from dpbayes.queries import QueryServer

    cube, settings, table = _cube(cube_name)
    account.check_table(table)
    folder = account.path.with_name(f"{account.path.name}.answers")
    folder.mkdir(mode=0o700, exist_ok=True)
    ledger = folder / f"{account.mark(cube.content())}.sqlite"
    neighbours = settings.get("neighbours", "add-remove")
    bound = settings["bound"]
    return QueryServer(cube, bound, ledger=ledger, account=account, neighbours=neighbours)


def _cube(name: str) -> tuple[Cube, dict[str, Any], Path]:
    from dpbayes.queries import rand_hie_cube
    from dpbayes.queries.rand_hie import rand_hie_cells

    if name == "rand-hie":
        return rand_hie_cube(), {"bound": 1.0}, Path(rand_hie_cells())
    return _declared(Path(name))


def _declared(path: Path) -> tuple[Cube, dict[str, Any], Path]:
    from dpbayes.queries import build_cube

    settings = _read(path)
    attributes = [_attribute(entry) for entry in settings["attribute"]]
    source = path.parent / settings["source"]
    cube = build_cube(
        source,
        attributes,
        outside=settings.get("outside", "refuse"),
        count=settings.get("count"),
    )
    return cube, settings, source


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
