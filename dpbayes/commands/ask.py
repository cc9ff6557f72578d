"""``dpbayes ask``: questions about a cube of real data, answered within a privacy bound.

    dpbayes ask "income >= 10" --cube people.toml --account clinic.account --length 20
    dpbayes ask "income >= 10" --server http://127.0.0.1:8000 --length 20 --confidence .9

Every fresh answer is paid from the account of the data set, beside its releases. ``--price`` says
what an answer would cost; ``--by sex`` asks once for each value of an attribute; ``--json`` prints
one object a line. With ``--request ID`` a question can be asked again after a crash: it gets the
same answer and is paid once.

The cube file is described in `dpbayes.tables.files`. With ``--server`` the token stands in the
variable DPBAYES_TOKEN.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

TOKEN = "DPBAYES_TOKEN"
PATIENCE = 60.0
Fields = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("question", help='such as "income >= 10 and age < 35"')
    parser.add_argument("--cube", help="cube file (TOML); not with --server")
    paid = parser.add_mutually_exclusive_group(required=True)
    paid.add_argument("--server", metavar="ADDRESS", help="ask a curator: http://127.0.0.1:PORT")
    paid.add_argument("--account", help="account of the data set, from which answers are paid")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--price", action="store_true", help="say the cost, draw nothing")
    parser.add_argument("--explain", action="store_true", help="list the answers combined")
    parser.add_argument("--length", type=float, help="longest interval that will do")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the interval (.95)")
    parser.add_argument("--by", metavar="ATTRIBUTE", help="ask once for each of its values")
    parser.add_argument(
        "--consistent", action="store_true", help="add the estimate that fits counts >= 0"
    )
    parser.add_argument(
        "--request", metavar="ID", help="asked again with this id: same answer, paid once"
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer one question, once for each value of an attribute where that is asked."""
    if (arguments.cube is None) == (arguments.server is None):
        raise ValueError("--cube must be given with --account, and not with --server")
    answers = _by_server(arguments) if arguments.server else _by_account(arguments)
    for one in answers:
        print(json.dumps(one) if arguments.json else _described(one, arguments.price))
    return 1 if "rejected" in [one["outcome"] for one in answers] else 0


def _wished(arguments: argparse.Namespace) -> Fields:
    """Return what is asked, as the service takes it, or raise ValueError."""
    if arguments.length is None:
        raise ValueError("--length must be given")
    fields = {"question": arguments.question, "length": arguments.length}
    fields |= {"confidence": arguments.confidence, "consistent": arguments.consistent}
    given = {"by": arguments.by, "request": arguments.request}
    return fields | {name: value for name, value in given.items() if value is not None}


def _by_account(arguments: argparse.Namespace) -> list[Fields]:
    from dpbayes.tables.answering import open_answering
    from dpbayes.tables.opening import open_account
    from dpbayes.tables.predicate import wished

    asked = open_answering(arguments.cube, open_account(arguments.account))
    wish, found = wished(_wished(arguments)), []
    for question in asked.questions(wish):
        answer = asked.price(question) if arguments.price else asked.ask(question)
        fields = asdict(answer)
        if wish.consistent and answer.interval is not None:
            fields["consistent"] = asked.consistent(question, answer.history)
        if arguments.explain and answer.interval is not None:
            fields["sources"] = asked.sources(question)
        found.append(fields)
    return found


def _by_server(arguments: argparse.Namespace) -> list[Fields]:
    token = os.environ.get(TOKEN, "")
    if not token:
        raise ValueError(f"--server takes a token in the variable {TOKEN}")
    path = "/price" if arguments.price else "/ask"
    reply = post(arguments.server, token, path, _wished(arguments))
    found: list[Fields] = reply.get("answers", [reply])
    return found


def post(address: str, token: str, path: str, fields: Fields) -> Fields:
    """Return the reply of a service; ValueError with its sentence where it refuses."""
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(
            "--server must be http://127.0.0.1:PORT, since the token travels in the clear, got "
            f"{address!r}"
        )
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        with closing(connection):
            with suppress(BrokenPipeError):  # it may refuse before it has heard everything
                connection.request("POST", path, json.dumps(fields), headers)
            reply = connection.getresponse()
            answered: Fields = json.loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ValueError(f"--server must answer at {address}, got: {error}") from error
    if reply.status != 200:
        raise ValueError(str(answered.get("error", reply.reason)))
    return answered


def _described(one: Fields, priced: bool) -> str:
    lines = [one["question"]]
    if one["interval"] is not None:
        low, high = one["interval"]
        lines.append(f"  estimate {one['estimate']:.2f}")
        lines.append(f"  interval {low:.2f} to {high:.2f} at confidence {one['confidence']:.15g}")
    if one.get("consistent") is not None:
        fitting = "fits counts >= 0 (biased; the interval is the estimate's)"
        lines.append(f"  consistent {one['consistent']:.2f}, {fitting}")
    if one["outcome"] == "rejected":
        shortest = "no length is affordable"
        if one["affordable"] is not None:
            shortest = f"the shortest interval you can afford is {one['affordable']:.6g} long"
        lines.append(f"  {'would be ' if priced else ''}rejected: too little is left; {shortest}")
    else:
        lines.append(f"  {'would be ' if priced else ''}{one['outcome']}, cost {one['cost']:.6g}")
    lines.append(f"  spent {one['spent']:.6g} of this cube's bound; left {float(one['left']):.6g}")
    for number, label, share in one.get("sources", []):
        lines.append(f"  answer {number}  {share:6.1%} of the variance  {label}")
    return "\n".join(lines)
