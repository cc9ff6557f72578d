"""The curator's service: tokens, budgets, refusals, and answers that leave at ticks."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from dpbayes.queries.client import request
from dpbayes.queries.listening import in_background, listening
from dpbayes.queries.service import (
    MOST_OF_ONE,
    Refusal,
    Service,
    Wish,
    asked,
)
from dpbayes.releasing.opening import open_account
from tests.queries.services import ANNA, BEN, served


@pytest.fixture
def address(cells):
    bound = listening(served(cells))
    in_background(bound)
    yield f"http://127.0.0.1:{bound.server_port}"
    bound.shutdown()
    bound.server_close()


def ask(address, token, question="cell < 3", length=40.0, path="/ask"):
    return request(address, token, path, {"question": question, "length": length})


def test_two_analysts_have_budgets_of_their_own(cells, address):
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


def test_a_restart_forgets_nothing(cells, address):
    ask(address, ANNA)
    again = served(cells)
    assert (
        again.left(again.analysts[0])
        == Fraction(request(address, ANNA, "/balance")["left"]).limit_denominator(10**12)
        or abs(float(again.left(again.analysts[0])) - 0.5 + 0.1497866137) < 1e-9
    )
    assert again.left(again.analysts[1]) == Fraction(1, 5)


def test_the_account_bounds_all_analysts_together(cells):
    service = served(cells)
    service.account.spend("release", Fraction(95, 100), "elsewhere")
    assert service.left(service.analysts[0]) == Fraction(5, 100)
    answer = service.reply("POST", "/ask", f"Bearer {ANNA}", b'{"question": "all", "length": 40}')
    assert answer["outcome"] == "rejected"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic x"])
def test_nobody_without_a_token(cells, header):
    with pytest.raises(Refusal, match="token must be that of an analyst") as caught:
        served(cells).reply("GET", "/balance", header, b"")
    assert caught.value.status == 401


BAD = [
    (b"", "body must be JSON"),
    (b"[]", "body must be an object"),
    (b'{"question": "all"}', "body must be an object"),
    (b'{"question": 1, "length": 2}', "question must be text, got 1"),
    (b'{"question": "all", "length": "2"}', "length must be a number, got '2'"),
    (b'{"question": "all", "length": true}', "length must be a number, got True"),
    (b'{"question": "all", "length": 2, "confidence": 1}', "confidence must lie strictly"),
    (b'{"question": "all", "length": NaN}', "length must be positive and finite, got nan"),
    (b'{"question": "all", "length": -1}', "length must be positive and finite, got -1"),
    (b'{"question": "all", "length": 2, "confidence": 1e-17}', "confidence must lie strictly"),
    (b'{"question": "age = 3", "length": 2}', "no attribute 'age'"),
    (b'{"question": "all", "length": 2, "consistent": 1}', "consistent must be true or false"),
    (b'{"question": "all", "length": 2, "by": 1}', "by must be the name of an attribute"),
    (b'{"question": "all", "length": 2, "by": "sex"}', "by must be an attribute of the cube"),
    (b'{"question": "all", "length": 2, "more": 1}', "body must be an object"),
]


@pytest.mark.parametrize(("body", "message"), BAD)
def test_bad_requests_are_refused_and_cost_nothing(cells, body, message):
    service = served(cells)
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


def test_one_request_for_each_value(cells):
    service = served(cells)
    body = b'{"question": "all", "length": 90, "by": "cell"}'
    reply = service.reply("POST", "/ask", f"Bearer {ANNA}", body)
    outcomes = [one["outcome"] for one in reply["answers"]]
    assert (len(outcomes), set(outcomes)) == (6, {"fresh"})
    # No record has two values: all of them together cost what one costs.
    costs = {one["spent"] for one in reply["answers"]}
    assert max(costs) == pytest.approx(reply["answers"][0]["cost"], rel=1e-9)
    assert reply["left"] == reply["answers"][-1]["left"]


def test_an_old_copy_of_the_answers_brings_no_budget_back(cells):
    service, ledger = served(cells), cells / "ledger.sqlite"
    old = ledger.read_bytes()
    body = b'{"question": "cell < 3", "length": 80}'
    first = service.reply("POST", "/ask", f"Bearer {ANNA}", body)
    paid = open_account(cells / "a.account").spent
    service.server.close()
    ledger.write_bytes(old)
    again = served(cells)
    # The account holds the answer too: it comes back, and nothing is drawn a second time.
    second = again.reply("POST", "/ask", f"Bearer {ANNA}", body)
    assert (second["outcome"], second["estimate"]) == ("derived", pytest.approx(first["estimate"]))
    assert open_account(cells / "a.account").spent == paid


def test_many_at_once_never_overspend(cells, address):
    def one(place):
        return ask(address, BEN, f"cell = {place % 6}", 60.0 + place)["cost"]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(16)))
    entries = open_account(cells / "a.account").entries
    spent = sum(e.epsilon for e in entries if e.request.startswith("answer-ben-"))
    assert 0 < spent <= Fraction(1, 5)


def test_a_request_as_it_is_read():
    assert asked(b'{"question": "all", "length": 1}') == Wish("all", 1.0, 0.95, False)
    whole = b'{"question": "all", "length": 1, "by": "sex", "request": "a"}'
    assert asked(whole) == Wish("all", 1.0, 0.95, False, "sex", "a")
    with pytest.raises(Refusal, match="request must be 1 to 64 letters"):
        asked(b'{"question": "all", "length": 1, "request": "a#1"}')


def replied(service, header=ANNA, path="/ask", **fields):
    body = json.dumps({"question": "cell < 3", "length": 80, **fields}).encode()
    return service.reply("POST", path, f"Bearer {header}", body)


def test_a_question_under_an_id_has_one_answer(cells):
    service = served(cells)
    first = replied(service, request="monday")
    between = replied(service, length=60)
    assert (first["outcome"], between["outcome"]) == ("fresh", "fresh")
    paid = service.account.spent
    for again in (service, served(cells)):
        second = replied(again, request="monday")
        assert {**second, "left": None} == {**first, "left": None}
    assert open_account(cells / "a.account").spent == paid
    derived = replied(service, length=90, request="tuesday")
    replied(service, length=50)
    assert replied(service, length=90, request="tuesday")["estimate"] == derived["estimate"]


@pytest.mark.parametrize(
    "other",
    [{"question": "cell < 2"}, {"length": 81}, {"confidence": 0.9}, {"consistent": True},
     {"by": "cell"}],
    ids=str,
)  # fmt: skip
def test_an_id_is_for_one_question(cells, other):
    service = served(cells)
    replied(service, request="monday")
    paid = service.account.spent
    for again in (service, served(cells)):
        with pytest.raises(Refusal, match="request must be a new id for a new question"):
            replied(again, request="monday", **other)
    assert open_account(cells / "a.account").spent == paid
    # Ben's ids are his own, a price binds nothing, and a refusal leaves the id free.
    assert replied(service, BEN, length=300, request="monday")["outcome"] == "derived"
    assert replied(service, path="/price", request="friday", length=2)["outcome"] == "rejected"
    assert replied(service, request="friday", length=2)["outcome"] == "rejected"
    assert replied(service, request="friday", length=70)["outcome"] == "fresh"


def test_one_id_for_each_value(cells):
    service = served(cells)
    first = replied(service, question="all", length=90, by="cell", request="each")
    replied(service, length=60)
    again = replied(served(cells), question="all", length=90, by="cell", request="each")
    estimates = [[one["estimate"] for one in reply["answers"]] for reply in (first, again)]
    assert estimates[0] == estimates[1]
    assert {one["outcome"] for one in again["answers"]} == {"fresh"}
    for other in ({}, {"by": "cell", "question": "cell < 2"}):
        with pytest.raises(Refusal, match="under which something else was asked"):
            replied(service, request="each", **{"question": "all", "length": 90, **other})


def test_each_value_ends_in_time_and_goes_on_from_there(cells):
    service = served(cells)
    short = Service(service.server, service.account, service.analysts, seconds=-1.0)
    with pytest.raises(Refusal, match="0 of 6 are answered") as caught:
        replied(short, question="all", length=90, by="cell", request="each")
    assert caught.value.status == 503
    assert replied(service, question="all", length=90, by="cell", request="each")["answers"]


def test_one_analyst_cannot_occupy_the_service(cells):
    service = served(cells)
    service._inside["anna"] = MOST_OF_ONE
    with pytest.raises(Refusal, match="at most 8 at a time") as caught:
        replied(service)
    assert caught.value.status == 429
    assert replied(service, BEN)["outcome"] == "fresh"
    service._inside["anna"] = MOST_OF_ONE - 1
    assert replied(service)["outcome"] == "derived"
    assert service._inside == {"anna": MOST_OF_ONE - 1, "ben": 0}


def test_two_services_at_once_do_not_both_see_the_same_budget(cells, monkeypatch):
    """The second one answers between the moment the first has counted and the moment it pays."""
    first, second = served(cells), served(cells)
    decided = first.server._written

    def late(question):
        body = b'{"question": "cell >= 3", "length": 40}'
        assert second.reply("POST", "/ask", f"Bearer {BEN}", body)["outcome"] == "fresh"
        return decided(question)

    monkeypatch.setattr(first.server, "_written", late)
    body = b'{"question": "cell >= 2", "length": 35}'
    assert first.reply("POST", "/ask", f"Bearer {BEN}", body)["outcome"] == "rejected"
    assert 0 < first.left(first.analysts[1]) < Fraction(6, 100)


def test_a_release_under_the_name_of_an_answer_is_not_the_analysts(cells):
    service = served(cells)
    service.account.spend("answer-anna-x", Fraction(1, 10), "a plan")
    assert service.left(service.analysts[0]) == Fraction(1, 2)


def test_the_first_question_to_an_empty_account_is_rejected(cells):
    service = served(cells)
    service.account.spend("release", Fraction(1), "elsewhere")
    for path in ("/ask", "/price"):
        body = b'{"question": "all", "length": 40}'
        answer = service.reply("POST", path, f"Bearer {ANNA}", body)
        assert (answer["outcome"], answer["affordable_length"]) == ("rejected", None)
