"""The curator's service: tokens, budgets, refusals, and answers that leave at ticks."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbayes import cli
from dpbayes.queries import QueryServer
from dpbayes.queries.client import request
from dpbayes.queries.service import (
    Analyst,
    Refusal,
    Service,
    Wish,
    asked,
    at_tick,
    in_background,
    listening,
    new_token,
    token_digest,
)
from dpbayes.releasing.opening import create_account, open_account

ANNA, BEN = new_token(), new_token()


def served(folder: Path) -> Service:
    account = open_account(folder / "a.account")
    server = QueryServer(
        np.arange(1, 7) * 100, 10.0, ledger=folder / "ledger.sqlite", account=account
    )
    analysts = (
        Analyst("anna", token_digest(ANNA), Fraction(1, 2)),
        Analyst("ben", token_digest(BEN), Fraction(1, 5)),
    )
    return Service(server, account, analysts, tick=0.01)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    (tmp_path / "table.csv").write_text("x\n1\n")
    create_account(tmp_path / "a.account", "cells", 1, tmp_path / "table.csv", "add-or-remove")
    return tmp_path


@pytest.fixture
def address(folder):
    bound = listening(served(folder))
    in_background(bound)
    yield f"http://127.0.0.1:{bound.server_port}"
    bound.shutdown()
    bound.server_close()


def ask(address, token, question="cell < 3", length=40.0, path="/ask"):
    return request(address, token, path, {"question": question, "length": length})


def test_two_analysts_have_budgets_of_their_own(folder, address):
    priced = ask(address, ANNA, path="/price")
    assert (priced["outcome"], priced["estimate"]) == ("fresh", None)
    assert request(address, ANNA, "/balance")["left"] == "0.5"
    first = ask(address, ANNA)
    assert first["outcome"] == "fresh"
    assert first["cost"] == priced["cost"] == pytest.approx(0.1497866137)
    low, high = first["interval"]
    assert high - low == pytest.approx(40.0)
    # What Anna bought is there for Ben, and costs him nothing.
    again = ask(address, BEN)
    assert (again["outcome"], again["cost"], again["estimate"]) == (
        "derived",
        0.0,
        first["estimate"],
    )
    refused = ask(address, BEN, "cell >= 3", 5.0)
    assert refused["outcome"] == "rejected"
    afforded = ask(address, BEN, "cell >= 3", refused["affordable_length"])
    assert afforded["outcome"] == "fresh"
    assert Fraction(request(address, BEN, "/balance")["left"]) < Fraction(1, 1000)


def test_a_restart_forgets_nothing(folder, address):
    ask(address, ANNA)
    again = served(folder)
    assert (
        again.left(again.analysts[0])
        == Fraction(request(address, ANNA, "/balance")["left"]).limit_denominator(10**12)
        or abs(float(again.left(again.analysts[0])) - 0.5 + 0.1497866137) < 1e-9
    )
    assert again.left(again.analysts[1]) == Fraction(1, 5)


def test_the_account_bounds_all_analysts_together(folder):
    service = served(folder)
    service.account.spend("release", Fraction(95, 100), "elsewhere")
    assert service.left(service.analysts[0]) == Fraction(5, 100)
    answer = service.reply("POST", "/ask", f"Bearer {ANNA}", b'{"question": "all", "length": 40}')
    assert answer["outcome"] == "rejected"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic x"])
def test_nobody_without_a_token(folder, header):
    with pytest.raises(Refusal, match="token must be that of an analyst") as caught:
        served(folder).reply("GET", "/balance", header, b"")
    assert caught.value.status == 401


BAD = [
    (b"", "body must be JSON"),
    (b"[]", "body must be an object"),
    (b'{"question": "all"}', "body must be an object"),
    (b'{"question": 1, "length": 2}', "question must be text, got 1"),
    (b'{"question": "all", "length": "2"}', "length must be a number, got '2'"),
    (b'{"question": "all", "length": true}', "length must be a number, got True"),
    (b'{"question": "all", "length": 2, "confidence": 1}', "confidence must lie strictly"),
    (b'{"question": "all", "length": NaN}', "L must be finite, got nan"),
    (b'{"question": "all", "length": -1}', "L must be positive"),
    (b'{"question": "age = 3", "length": 2}', "no attribute 'age'"),
    (b'{"question": "all", "length": 2, "consistent": 1}', "consistent must be true or false"),
    (b'{"question": "all", "length": 2, "by": 1}', "by must be the name of an attribute"),
    (b'{"question": "all", "length": 2, "by": "sex"}', "by must be an attribute of the cube"),
    (b'{"question": "all", "length": 2, "more": 1}', "body must be an object"),
]


@pytest.mark.parametrize(("body", "message"), BAD)
def test_bad_requests_are_refused_and_cost_nothing(folder, body, message):
    service = served(folder)
    with pytest.raises(Refusal, match=message) as caught:
        service.reply("POST", "/ask", f"Bearer {ANNA}", body)
    assert caught.value.status == 400
    assert service.account.spent == 0


def test_over_the_wire_refusals_are_sentences(address):
    with pytest.raises(ValueError, match="token must be that of an analyst"):
        ask(address, "wrong")
    with pytest.raises(ValueError, match="no attribute 'age'"):
        ask(address, ANNA, "age > 3")
    with pytest.raises(ValueError, match="path must be POST /ask"):
        request(address, ANNA, "/everything")
    with pytest.raises(ValueError, match=r"server must be http://127\.0\.0\.1"):
        request("http://example.org", ANNA, "/balance")
    with pytest.raises(ValueError, match="server must answer at unix:/nowhere"):
        request("unix:/nowhere", ANNA, "/balance")


def test_a_consistent_estimate_beside_the_unbiased_one(address):
    fields = {"question": "cell < 1", "length": 40.0, "consistent": True}
    both = request(address, ANNA, "/ask", fields)
    assert both["consistent"] == pytest.approx(max(both["estimate"], 0.0), abs=1e-6)
    assert ask(address, ANNA, "cell < 1")["consistent"] is None


def test_one_request_for_each_value(folder):
    service = served(folder)
    body = b'{"question": "all", "length": 90, "by": "cell"}'
    reply = service.reply("POST", "/ask", f"Bearer {ANNA}", body)
    outcomes = [one["outcome"] for one in reply["answers"]]
    assert (len(outcomes), set(outcomes)) == (6, {"fresh"})
    # No record has two values: all of them together cost what one costs.
    costs = {one["spent"] for one in reply["answers"]}
    assert max(costs) == pytest.approx(reply["answers"][0]["cost"], rel=1e-9)
    assert reply["left"] == reply["answers"][-1]["left"]


def test_an_old_copy_of_the_answers_brings_no_budget_back(folder):
    service, ledger = served(folder), folder / "ledger.sqlite"
    old = ledger.read_bytes()
    body = b'{"question": "cell < 3", "length": 80}'
    service.reply("POST", "/ask", f"Bearer {ANNA}", body)
    paid = open_account(folder / "a.account").spent
    service.server.close()
    ledger.write_bytes(old)
    again = served(folder)
    assert again.server.spent == 0
    assert open_account(folder / "a.account").spent == paid
    again.reply("POST", "/ask", f"Bearer {ANNA}", body)
    assert open_account(folder / "a.account").spent == 2 * paid


def test_over_a_unix_socket(folder):
    place = folder / "s"
    bound = listening(served(folder), unix_socket=place)
    in_background(bound)
    try:
        assert place.stat().st_mode & 0o777 == 0o600
        assert ask(f"unix:{place}", ANNA)["outcome"] == "fresh"
        with pytest.raises(ValueError, match="unix_socket must be a path that does not exist"):
            listening(served(folder), unix_socket=place)
    finally:
        bound.shutdown()
        bound.server_close()


def test_many_at_once_never_overspend(folder, address):
    def one(place):
        return ask(address, BEN, f"cell = {place % 6}", 60.0 + place)["cost"]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(16)))
    entries = open_account(folder / "a.account").entries
    spent = sum(e.epsilon for e in entries if e.request.startswith("answer-ben-"))
    assert 0 < spent <= Fraction(1, 5)


def test_answers_leave_at_whole_ticks():
    for used in (0.0, 0.004, 0.0999, 0.1, 0.23):
        moments, slept = iter([10.0, 10.0 + used]), []
        at_tick(lambda: None, 0.1, lambda m=moments: next(m), slept.append)
        ticks = (used + slept[0]) / 0.1
        assert ticks == pytest.approx(round(ticks), abs=1e-9)
        assert round(ticks) >= 1
    moments, slept = iter([0.0, 0.01]), []
    with pytest.raises(ZeroDivisionError):
        at_tick(lambda: 1 / 0, 0.1, lambda: next(moments), slept.append)
    assert slept[0] == pytest.approx(0.09)


def test_only_digests_are_stored_and_tokens_are_long(capsys):
    assert cli.main(["serve", "--new-token"]) == 0
    token, digest = (line.split()[1] for line in capsys.readouterr().out.splitlines())
    assert token_digest(token) == digest
    assert len(token) >= 32
    assert asked(b'{"question": "all", "length": 1}') == Wish("all", 1.0, 0.95, False)


def test_the_command_serves_what_its_file_says(folder, monkeypatch, capsys):
    pytest.importorskip("duckdb")
    (folder / "table.csv").write_text("age\n" + "\n".join(str(a) for a in range(18, 78)) * 5 + "\n")
    open_account(folder / "a.account").accept(folder / "table.csv")
    (folder / "cube.toml").write_text(
        'source = "table.csv"\nbound = 1.0\noutside = "drop"\n'
        '[[attribute]]\nname = "age"\nedges = [18, 38, 58, 78]\n'
    )
    (folder / "service.toml").write_text(
        'cube = "cube.toml"\naccount = "a.account"\ntick = 0.01\n[[analyst]]\nname = "anna"\n'
        f'token = "{token_digest(ANNA)}"\nbudget = "0.3"\n'
    )
    place = folder / "s"
    words = ["serve", str(folder / "service.toml"), "--socket", str(place)]
    thread = threading.Thread(target=cli.main, args=(words,), daemon=True)
    thread.start()
    for _ in range(300):
        if place.exists():
            break
        time.sleep(0.1)
    monkeypatch.setenv("DPBAYES_TOKEN", ANNA)
    asking = ["ask", "age between 18 and 58", "--server", f"unix:{place}", "--length", "60"]
    assert cli.main([*asking, "--price"]) == 0
    assert cli.main(asking) == 0
    printed = capsys.readouterr().out
    assert "fresh, cost 0.0998" in printed
    assert "left 0.2001" in printed
    monkeypatch.delenv("DPBAYES_TOKEN")
    assert cli.main(asking) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must set cube, account, analyst"),
        ("cube = 1", "must set cube, account, analyst"),
        ("what", "cannot be read"),
        ('cube = "c"\naccount = "a.account"\ntick = 0\nanalyst = []', "tick must lie in"),
        ('cube = "c"\naccount = 2\nanalyst = []', "account must be the path of a file, got 2"),
        ('cube = []\naccount = "a"\nanalyst = []', "cube must be the path of a file, got []"),
        ('cube = "c"\naccount = "a"\nanalyst = []', "analyst must be one or more tables"),
        ('cube = "c"\naccount = "a"\nanalyst = 3', "analyst must be one or more tables"),
        ('cube = "c"\naccount = "a"\nanalyst = [1]', "an analyst must be a table"),
    ],
)
def test_a_service_file_with_a_mistake(folder, capsys, text, message):
    (folder / "service.toml").write_text(text)
    assert cli.main(["serve", str(folder / "service.toml")]) == 2
    assert message in capsys.readouterr().err
