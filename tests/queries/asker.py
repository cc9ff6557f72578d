"""Processes that ask a shared ledger, for the tests that kill them."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from dpbayes import queries
from dpbayes.releasing.opening import open_account

COUNTS = np.arange(16) * 7
BOUND = 3.0


def open_server(path: str) -> queries.QueryServer:
    return queries.QueryServer(COUNTS, BOUND, ledger=path)


def ask_until_refused(path: str, seed: int, line: Connection) -> None:
    """Ask random ranges, ever shorter, and send each fresh answer, until one is refused."""
    rng = np.random.default_rng(seed)
    server = open_server(path)
    outcome, length = "", 90.0
    while outcome != "rejected":
        length *= 0.94
        answer = server.ask(queries.random_ranges((16,), 1, rng)[0], length, 0.05)
        outcome = answer.outcome
        if outcome == "fresh":
            line.send((answer.number, answer.cost))
    line.close()


def ask_and_die(path: str, moment: str, line: Connection) -> None:
    """Ask once and be killed at the named moment; what is sent was received by the user."""
    server = open_server(path)
    ledger, noise = server._ledger, server._noise
    original = ledger.append

    def die(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def append(*arguments: Any) -> Any:
        original(*arguments)
        die()

    if moment == "before the draw":
        server._noise = die
    elif moment == "after the draw":
        server._noise = lambda scale: (noise(scale), die())[0]
    elif moment == "before the commit":
        ledger.append = append  # type: ignore[method-assign]
    elif moment == "after the commit":
        ledger.accept = die  # type: ignore[method-assign]
    line.send(server.ask(np.ones(16), 20.0, 0.05).number)


def open_paid(folder: str, ledger: str = "spend.sqlite") -> queries.QueryServer:
    """Open the server of the folder's account, as `create_account` has made it."""
    account = open_account(Path(folder) / "a.account")
    return queries.QueryServer(COUNTS, BOUND, ledger=Path(folder) / ledger, account=account)


def ask_paid_and_die(folder: str, keys: str, moment: str, line: Connection) -> None:
    """Ask once under an id and be killed at the named moment of paying and drawing."""
    os.environ["DPBAYES_KEYS"] = keys
    server = open_paid(folder)
    payments, ledger = server._payments, server._ledger
    assert payments is not None
    places = {
        "the reserve": (payments, "reserve"),
        "the draw": (server, "_noise"),
        "the keep": (payments._account, "keep"),
        "the commit": (ledger, "remember"),
        "the answer": (ledger, "accept"),
    }
    when, _, step = moment.partition(" ")
    owner, name = places[step]
    original = getattr(owner, name)

    def dying(*arguments: Any) -> Any:
        if when == "after":
            original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)
    line.send(server.ask(np.ones(16), 20.0, 0.05, request="once").number)
