r"""``dpbayes ask``: questions about a cube of real data, answered within a privacy
bound.

    dpbayes ask "income >= 10" --cube people.toml --account clinic.account --length 20
    dpbayes ask "income >= 10" --server http://127.0.0.1:8000 --length 20
    dpbayes ask --questions survey.txt --cube people.toml --account clinic.account \
        --length 20 --price

The cube file is described in `dpbayes.tables.files`; the token of a server is in
DPBAYES_TOKEN.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dpbayes.tables.units import WORTHLESS, counted

TOKEN = "DPBAYES_TOKEN"
Fields = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("question", nargs="?", help='such as "income >= 10 and age < 35"')
    add(
        "--questions",
        metavar="FILE",
        help="several, one a line, # begins a remark; with --price priced together",
    )
    add("--cube", help="cube file (TOML); not with --server")
    paid = parser.add_mutually_exclusive_group(required=True)
    paid.add_argument(
        "--server", metavar="ADDRESS", help="ask a curator: http://127.0.0.1:PORT"
    )
    paid.add_argument(
        "--account", help="account of the data set, from which answers are paid"
    )
    add(
        "--show-values",
        action="store_true",
        help="with --account: print a value that the cube does not declare",
    )
    add("--json", action="store_true", help="print one JSON object a line")
    add("--price", action="store_true", help="say the cost, draw nothing")
    add("--length", type=float, help="longest interval that will do", required=True)
    add("--confidence", type=float, default=0.95, help="of the interval (.95)")
    add("--by", metavar="ATTRIBUTE", help="ask once for each of its values")
    add(
        "--request",
        metavar="ID",
        help="asked again with this id: same answer, paid once",
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer questions, each once for each value of an attribute where that is asked.

    The exit status is 1 where one of them is rejected.
    """
    if (arguments.cube is None) == (arguments.server is None):
        raise ValueError("--cube must be given with --account, and not with --server")
    wish = wish_of(arguments)
    if arguments.server is not None:
        token, path = os.environ.get(TOKEN, ""), "/price" if arguments.price else "/ask"
        reply = post(arguments.server, token, path, wish)
        answers: Iterable[Fields] = reply.get("answers", [reply])
    else:
        answers = _answers(arguments, json.dumps(wish))
    outcomes, total, last = [], 0.0, Fields()
    try:
        for last in answers:
            outcomes.append(last["outcome"])
            total += last["cost"]
            plain = not arguments.json
            print(_described(last, arguments.price) if plain else json.dumps(last))
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted after {counted(len(outcomes), 'answer')}; what was paid is"
            " kept: dpbayes account show has it, and so has the same --request"
        ) from None
    if not arguments.json and outcomes:
        print(_summed(last, len(outcomes), total, arguments.price))
    return 1 if "rejected" in outcomes else 0


def wish_of(arguments: argparse.Namespace) -> Fields:
    """Return what is asked for, as a service reads it."""
    names = ("question", "length", "confidence", "by", "request")
    wish = {name: getattr(arguments, name) for name in names}
    if (wish["question"] is None) == (arguments.questions is None):
        raise ValueError("a question must be given, or --questions with a file of them")
    if arguments.questions is not None:
        wish["questions"] = _lines(arguments.questions)
    return {name: value for name, value in wish.items() if value is not None}


def _lines(file: str) -> list[str]:
    """Return the questions in a file."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(
            f"--questions must be a file of questions, got {file!r}: {why}"
        ) from None
    found = [text for line in lines if (text := line.partition("#")[0].strip())]
    if not found:
        raise ValueError(f"--questions must have one a line, got none in {file!r}")
    return found


def _answers(arguments: argparse.Namespace, wish: str) -> Iterator[Fields]:
    """Yield the answers, or prices, that a curator gets from the account."""
    from dpbayes.tables.answering import open_answering
    from dpbayes.tables.opening import open_account
    from dpbayes.tables.predicate import wished

    account = open_account(arguments.account)
    asked = open_answering(arguments.cube, account, arguments.show_values)
    if asked.converted:
        print(f"note: {asked.converted}", file=sys.stderr)
    questions = asked.questions(wished(wish))
    found = asked.prices(questions) if arguments.price else map(asked.ask, questions)
    for one in found:
        left = min(one.left, float(account.balance) - (one.cost * arguments.price))
        whose = one.left_of if left == one.left else f"account {account.path}"
        yield asdict(one) | {"left": left, "left_of": whose}


def post(address: str, token: str, path: str, fields: Fields) -> Fields:
    """Return the reply of a service; ValueError with its sentence where it refuses."""
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname not in (
        "127.0.0.1",
        "localhost",
        "::1",
    ):
        why = "since the token travels in the clear"
        raise ValueError(
            f"--server must be http://127.0.0.1:PORT, {why}, got {address!r}"
        )
    if not token:
        raise ValueError(
            f"--server must have a token in the variable {TOKEN}, got none"
        )
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with closing(
            HTTPConnection(parts.hostname, parts.port, timeout=60.0)
        ) as connection:
            connection.request("POST", path, json.dumps(fields), headers)
            reply = connection.getresponse()
            answered: Fields = json.load(reply)
    except (OSError, HTTPException, ValueError) as error:
        raise ValueError(f"--server must answer at {address}, got: {error}") from error
    if reply.status != 200:
        raise ValueError(str(answered.get("error", reply.reason)))
    return answered


def _described(one: Fields, priced: bool) -> str:
    """Return an answer, or what one would cost, in lines for a reader."""
    lines, would = [one["question"]], "would be " if priced else ""
    if one["interval"] is not None:
        low, high = one["interval"]
        lines.append(f"  estimate {one['estimate']:.2f}")
        lines.append(
            f"  interval {low:.2f} to {high:.2f} at confidence {one['confidence']:.15g}"
        )
    if one["outcome"] == "rejected":
        shortest = "no length is affordable"
        if one["affordable"] is not None:
            shortest = (
                f"the shortest interval you can afford is {one['affordable']:.6g} long"
            )
        lines.append(f"  {would}rejected: too little is left; {shortest}")
    else:
        lines.append(f"  {would}{one['outcome']}, cost {one['cost']:.6g}")
    return "\n".join(lines)


def _summed(last: Fields, number: int, total: float, priced: bool) -> str:
    """Return what is spent and left after the last answer, in which epsilon, and what
    the confidence is not.
    """
    would = "would be " if priced else ""
    lines = [f"together {would}{total:.6g}"] if number > 1 else []
    lines.append(
        f"spent {would}{last['spent']:.6g} of this cube's bound; {would}left"
        f" {float(last['left']):.6g} of {last['left_of']}"
    )
    lines.append(f"every cost is the epsilon for {last['epsilon_for']}")
    if total > WORTHLESS:
        lines.append(f"an epsilon above {WORTHLESS} promises next to nothing")
    lines.append(
        "the confidence is that of a question, and of an interval, chosen before"
        " looking at any answer"
    )
    return "\n".join(lines)
