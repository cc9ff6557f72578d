"""How requests come in and answers leave: slow clients, many of them, and ticks."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack

import pytest

from dpbayes.queries.client import request
from dpbayes.queries.listening import at_tick, in_background, listening
from dpbayes.queries.service import Service
from tests.queries.services import ANNA, served

HEAD = f"POST /ask HTTP/1.1\r\nAuthorization: Bearer {ANNA}\r\n".encode()


@pytest.fixture
def service(cells):
    return served(cells)


@pytest.fixture
def bound(service):
    found = listening(service)
    found.patience, found.most = 0.6, 8
    in_background(found)
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture
def connected(bound):
    """Open connections that are closed after the test."""
    with ExitStack() as stack:
        address = ("127.0.0.1", bound.server_port)
        yield lambda: stack.enter_context(socket.create_connection(address, timeout=10))


def received(wire):
    """Return all that comes until the other side hangs up."""
    parts = []
    try:
        while part := wire.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def balance(bound):
    return request(f"http://127.0.0.1:{bound.server_port}", ANNA, "/balance")["left"]


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


DRIPPED = {"line": b"GET /bal", "head": HEAD, "field": HEAD + b"X: " + b"y" * 9000}


@pytest.mark.parametrize("name", DRIPPED)
def test_a_request_that_drips_ends_in_time(bound, connected, name):
    dripped = DRIPPED[name]
    wire, begun, ended = connected(), time.monotonic(), None
    try:
        for letter in dripped + b"z" * 1000:
            wire.sendall(bytes([letter]))
            time.sleep(0.02)
    except OSError:
        ended = time.monotonic()
    assert ended is not None
    # A limit on each wait alone would have let it drip for ever.
    assert 0.3 < ended - begun < 5.0
    assert balance(bound) == "0.5"


def test_a_body_that_does_not_come_is_told_so(bound, connected, service):
    wire = connected()
    wire.sendall(HEAD + b"Content-Length: 40\r\n\r\n{")
    head, _, body = received(wire).partition(b"\r\n\r\n")
    assert b" 408 " in head
    assert json.loads(body) == {"error": "request must arrive within 0.6 seconds"}
    assert service.account.spent == 0


def test_silent_connections_do_not_keep_others_out(bound, connected):
    bound.patience = 60.0
    silent = [connected() for _ in range(40)]
    assert balance(bound) == "0.5"
    # The oldest were ended to make room, and no more are open than allowed.
    assert received(silent[0]) == b""
    until(lambda: len(bound._open) <= bound.most)
    workers = [t for t in threading.enumerate() if "process_request_thread" in t.name]
    until(lambda: sum(t.is_alive() for t in workers) <= bound.most + 1)


def test_one_too_many_is_turned_away_while_all_are_answered(bound, connected, service, monkeypatch):
    bound.most, gate = 3, threading.Event()
    monkeypatch.setattr(Service, "reply", lambda *_: (gate.wait(20), {"done": 1})[1])
    busy = [connected() for _ in range(3)]
    for wire in busy:
        wire.sendall(b"GET /balance HTTP/1.0\r\n\r\n")
    until(lambda: sum(bound._open.values()) == 3)
    late = connected()
    answered = received(late)
    assert b" 503 " in answered
    assert b"connections must be at most" in answered
    gate.set()
    assert all(received(wire).endswith(b'{"done": 1}\n') for wire in busy)
    until(lambda: not bound._open)


def test_whoever_takes_no_answer_goes_without(bound, connected, service, monkeypatch):
    monkeypatch.setattr(Service, "reply", lambda *_: {"long": "x" * 30_000_000})
    wire = connected()
    wire.sendall(b"GET /balance HTTP/1.0\r\n\r\n")
    until(lambda: bound._open)
    until(lambda: not bound._open)


def test_what_was_ended_for_another_is_not_answered_nor_paid(bound, connected, service):
    assert not bound.arrived("a connection that was ended")
    bound.most = 1
    first = connected()
    first.sendall(HEAD + b"Content-Length: 39\r\n\r\n")
    until(lambda: bound._open)
    connected()
    assert received(first) == b""
    assert service.account.spent == 0


def test_over_a_unix_socket(service, tmp_path):
    place = tmp_path / "s"
    found = listening(service, unix_socket=place)
    in_background(found)
    try:
        assert place.stat().st_mode & 0o777 == 0o600
        fields = {"question": "cell < 3", "length": 40, "request": "over-the-socket"}
        replies = [request(f"unix:{place}", ANNA, "/ask", fields) for _ in range(2)]
        assert replies[0]["outcome"] == "fresh"
        assert replies[0] == replies[1]
        with pytest.raises(ValueError, match="unix_socket must be a path that does not exist"):
            listening(service, unix_socket=place)
    finally:
        found.shutdown()
        found.server_close()


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


def test_a_socket_that_a_killed_service_has_left_is_taken_over(service, tmp_path):
    place = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place))
        left.listen()
    found = listening(service, unix_socket=place)
    in_background(found)
    try:
        assert request(f"unix:{place}", ANNA, "/balance")["analyst"] == "anna"
    finally:
        found.shutdown()
        found.server_close()


def test_a_file_in_the_place_of_a_socket_stays(service, tmp_path):
    place = tmp_path / "notes.txt"
    place.write_text("kept")
    with pytest.raises(ValueError, match="unix_socket must be a path that does not exist"):
        listening(service, unix_socket=place)
    assert place.read_text() == "kept"
