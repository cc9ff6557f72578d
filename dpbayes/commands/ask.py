"""``dpbayes ask``: questions about a cube of real data, answered within a privacy
bound.

    dpbayes ask "income >= 10" --cube people.toml --account clinic.account --length 20
    dpbayes ask "income >= 10" --server http://127.0.0.1:8000 --length 20 --confidence
    .9

The cube file is described in `dpbayes.tables.files`; the token of a server is in
DPBAYES_TOKEN.
"""

from __future__ import annotations

import argparse
import json
import os
from contextlib import closing
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

TOKEN = "DPBAYES_TOKEN"
Fields = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("question", help='such as "income >= 10 and age < 35"')
    add("--cube", help="cube file (TOML); not with --server")
    paid = parser.add_mutually_exclusive_group(required=True)
    paid.add_argument(
        "--server", metavar="ADDRESS", help="ask a curator: http://127.0.0.1:PORT"
    )
    paid.add_argument(
        "--account", help="account of the data set, from which answers are paid"
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
    """Answer one question, once for each value of an attribute where that is asked."""
    if (arguments.cube is None) == (arguments.server is None):
        raise ValueError("--cube must be given with --account, and not with --server")
    names = ("question", "length", "confidence", "by", "request")
    wish = {name: getattr(arguments, name) for name in names}
    if arguments.server is not None:
        token, path = os.environ.get(TOKEN, ""), "/price" if arguments.price else "/ask"
        given = {name: value for name, value in wish.items() if value is not None}
        reply = post(arguments.server, token, path, given)
        answers = reply.get("answers", [reply])
    else:
        from dpbayes.tables.answering import open_answering
        from dpbayes.tables.opening import open_account
        from dpbayes.tables.predicate import wished

        asked = open_answering(arguments.cube, open_account(arguments.account))
        answer = asked.price if arguments.price else asked.ask
        answers = [
            asdict(answer(one)) for one in asked.questions(wished(json.dumps(wish)))
        ]
    for one in answers:
        print(json.dumps(one) if arguments.json else _described(one, arguments.price))
    return 1 if "rejected" in [one["outcome"] for one in answers] else 0


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
    lines.append(
        f"  spent {one['spent']:.6g} of this cube's bound; left"
        f" {float(one['left']):.6g}"
    )
    return "\n".join(lines)
