"""The service under attack: every request ends in one JSON object, and nothing is overspent."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
from fractions import Fraction

import pytest

from dpbayes.queries.listening import LARGEST_BODY, in_background, listening
from dpbayes.queries.service import Analyst, Service, token_digest
from dpbayes.releasing.opening import open_account
from tests.queries.services import ANNA, BEN, served

ASK = b'{"question": "cell < 3", "length": 40}'


@pytest.fixture
def service(cells):
    return served(cells)


@pytest.fixture
def port(service):
    bound = listening(service)
    in_background(bound)
    yield bound.server_port
    bound.shutdown()
    bound.server_close()


def raw(port, content, patience=5.0):
    """Send bytes; return everything that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as wire:
        wire.sendall(content)
        wire.shutdown(socket.SHUT_WR)
        parts = iter(lambda: wire.recv(1 << 16), b"")
        return b"".join(parts)


def post(port, body, *headers, token=ANNA, path="/ask"):
    """Send a body with a token and further headers; return the status and the fields."""
    head = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *headers]
    if not any(header.lower().startswith("content-length") for header in headers):
        head.append(f"Content-Length: {len(body)}")
    answered = raw(port, "\r\n".join([*head, "", ""]).encode("latin-1") + body)
    first, _, rest = answered.partition(b"\r\n")
    return int(first.split()[1]), json.loads(rest.partition(b"\r\n\r\n")[2])


def body(**fields):
    return json.dumps({"question": "cell < 3", "length": 40, **fields}).encode()


BODIES = {
    "deep lists": b"[" * 60_000,
    "deep objects": b'{"a":' * 10_000,
    "deep brackets": body(question="(" * 9000 + "all" + ")" * 9000),
    "too deep by little": body(question="(" * 60 + "all" + ")" * 60),
    "many nots": body(question="not " * 2000 + "all"),
    "long question": body(question="all " * 10_000),
    "huge whole number": b'{"question": "all", "length": ' + b"9" * 400 + b"}",
    "longer whole number": b'{"question": "all", "length": ' + b"9" * 5000 + b"}",
    "huge number": b'{"question": "all", "length": 1e999}',
    "not a number": b'{"question": "all", "length": NaN}',
    "zero": body(length=0),
    "tiny": body(length=5e-324),
    "confidence of one": body(confidence=1 - 1e-17),
    "a field twice": b'{"question": "all", "length": 40, "length": 1e9}',
    "not UTF-8": b'{"question": "\xff", "length": 40}',
    "half a letter": rb'{"question": "\ud800", "length": 40}',
    "a null": rb'{"question": "all\u0000", "length": 40}',
    "SQL": body(question="cell < 3; DROP TABLE entries"),
    "quotation marks": body(question="cell = '3' or '1' = '1'"),
    "a path": body(question="../../etc/passwd"),
    "endless coefficients": body(question="1e999 * cell < 3 - 1e999 * cell < 4"),
    "huge coefficient": body(question="1e308 * cell < 3 + 1e308 * cell < 4"),
    "another field": body(payer="ben"),
    "a list": b"[]",
    "nothing": b"",
    "text": b'"all"',
    "by a list": body(by=["cell"]),
    "a YAML tag": b"!!python/object/apply:os.system [id]",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/ask", "/price"])
def test_hostile_bodies_are_refused_with_a_sentence(service, port, name, path):
    status, fields = post(port, BODIES[name], path=path)
    assert status == 400
    assert list(fields) == ["error"]
    assert "Traceback" not in fields["error"]
    assert service.account.spent == 0


HEADERS = {
    "length in other digits": ("Content-Length: \xb2",),
    "length of thousands of digits": ("Content-Length: " + "9" * 5000,),
    "negative length": ("Content-Length: -1",),
    "length with a sign": ("Content-Length: +38",),
    "two lengths": ("Content-Length: 38", "Content-Length: 2"),
    "length too large": (f"Content-Length: {LARGEST_BODY + 1}",),
    "chunks": ("Content-Length: 38", "Transfer-Encoding: chunked"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_odd_lengths_are_refused(service, port, name):
    status, fields = post(port, ASK, *HEADERS[name])
    assert (status, list(fields)) == (413, ["error"])
    assert service.account.spent == 0


TOKENS = {
    "the end is missing": BEN[:-1],
    "one letter more": BEN + "A",
    "none": "",
    "no ASCII": "\xe9\xff",
    "any": "*",
    "pattern": "%",
    "query": "' OR 1=1",
    "its digest": token_digest(ANNA),
    "long": "x" * 60_000,
}


@pytest.mark.parametrize("name", TOKENS)
def test_other_tokens_open_nothing(service, port, name):
    token = TOKENS[name]
    status, fields = post(port, ASK, token=token)
    assert (status, service.account.spent) == (401, 0)
    assert token == "" or token not in json.dumps(fields)


def test_two_tokens_are_none(service, port):
    assert post(port, ASK, f"Authorization: Bearer {BEN}")[0] == 401
    assert service.account.spent == 0


PATHS = ("/../ask", "/ask/../../etc/passwd", "/ask?x=1", "/%61sk", "/ASK", "/ask\x00", "*")


@pytest.mark.parametrize("path", PATHS)
def test_other_paths_lead_nowhere(service, port, path):
    assert post(port, ASK, path=path)[0] in (400, 404)
    assert service.account.spent == 0


NOISE = [b"", b"\0" * 100, b"GET\r\n\r\n", b"\x16\x03\x01" + b"x" * 200, b"PRI * HTTP/2.0\r\n\r\n"]
NOISE += [b"POST /ask HTTP/9.9\r\n\r\n", b"X" * 70_000, b"DELETE /ask HTTP/1.1\r\n\r\n"]


@pytest.mark.parametrize("content", NOISE, ids=range(len(NOISE)))
def test_what_is_no_request_changes_nothing(service, port, content, capfd):
    raw(port, content)
    assert post(port, ASK, path="/price")[0] == 200
    assert service.account.spent == 0
    assert "Traceback" not in capfd.readouterr().err


def test_random_bytes_in_a_good_request(service, port, capfd):
    draw = random.Random(5)
    for _ in range(150):
        spoilt = bytearray(ASK)
        for _ in range(draw.randrange(1, 4)):
            spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
        status, fields = post(port, bytes(spoilt), path="/price")
        assert status in (200, 400), bytes(spoilt)
        assert ("error" in fields) == (status == 400)
    assert service.account.spent == 0
    assert "Traceback" not in capfd.readouterr().err


def test_a_body_that_ends_early_or_hangs_up(service, port, capfd):
    raw(port, b"POST /ask HTTP/1.1\r\nAuthorization: Bearer x\r\nContent-Length: 999\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(b"GET /balance HTTP/1.1\r\nAuthorization: Bearer " + ANNA.encode())
    assert post(port, ASK, path="/price")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_what_fails_within_is_not_told(service, port, monkeypatch):
    def fail(*_):
        raise RuntimeError("the true count is 600")

    monkeypatch.setattr(Service, "_answered", fail)
    status, fields = post(port, ASK)
    assert status == 500
    assert "600" not in fields["error"]


def test_a_question_sent_again_costs_nothing_more(service, port):
    first = post(port, ASK)[1]
    spent = service.account.spent
    again = [post(port, ASK)[1] for _ in range(5)]
    assert {one["outcome"] for one in again} == {"derived"}
    assert [one["estimate"] for one in again] == pytest.approx([first["estimate"]] * 5, rel=1e-12)
    assert service.account.spent == spent > 0


def test_the_same_question_at_the_same_instant_is_drawn_once(service, port):
    gate = threading.Barrier(8)
    found = []

    def one(token):
        gate.wait()
        found.append(post(port, ASK, token=token)[1])

    threads = [threading.Thread(target=one, args=(t,)) for t in (ANNA, BEN) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes = sorted(reply["outcome"] for reply in found)
    assert outcomes == ["derived"] * 7 + ["fresh"]
    estimates = [reply["estimate"] for reply in found]
    assert max(estimates) - min(estimates) <= 1e-9 * abs(estimates[0])
    assert [entry.kind for entry in service.account.entries].count("spend") == 1


def test_two_analysts_spending_the_last_of_it_at_the_same_instant(service, port):
    service.account.spend("release", Fraction(9, 10), "elsewhere")
    gate = threading.Barrier(6)
    found = []

    def one(token, cell):
        gate.wait()
        question = f"cell >= {cell} and cell < {cell + 1}"
        found.append(post(port, body(question=question, length=80), token=token)[1])

    threads = [threading.Thread(target=one, args=((ANNA, BEN)[i % 2], i)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "fresh" in {reply["outcome"] for reply in found}
    assert open_account(service.account.path).spent <= 1
    for analyst in service.analysts:
        mine = [
            e for e in service.account.entries if e.request.startswith(f"answer-{analyst.name}-")
        ]
        assert sum(e.epsilon for e in mine) <= analyst.budget


def test_analysts_do_not_share_a_token(service):
    double = (*service.analysts, Analyst("carl", token_digest(ANNA), Fraction(1)))
    with pytest.raises(ValueError, match="analysts must have different tokens"):
        Service(service.server, service.account, double)


def test_a_client_in_the_usual_library_is_answered(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/balance", headers={"Authorization": f"Bearer {ANNA}"})
    assert json.loads(connection.getresponse().read()) == {"analyst": "anna", "left": "0.5"}
    connection.close()
