"""Asking a service: what goes over the wire, and what is said when nobody sensible answers."""

from __future__ import annotations

import http.server
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpbayes.queries.client import request
from tests.serving import serving


class Echo(http.server.BaseHTTPRequestHandler):
    """A server that answers with what it was asked, or with what a test wants it to say."""

    reply: ClassVar[tuple[int, bytes] | None] = None

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        seen = {
            "method": self.command,
            "path": self.path,
            "token": self.headers["Authorization"],
            "body": self.rfile.read(length).decode(),
        }
        status, body = self.reply or (200, json.dumps(seen).encode())
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Echo, "reply", None)
    with serving(Echo) as found:
        yield found


def test_fields_are_posted_as_json_with_the_token(address: str) -> None:
    seen = request(address, "secret", "/ask", {"query": "all", "L": 40.0})
    assert (seen["method"], seen["path"], seen["token"]) == ("POST", "/ask", "Bearer secret")
    assert json.loads(seen["body"]) == {"query": "all", "L": 40.0}


def test_without_fields_it_only_looks(address: str) -> None:
    seen = request(address, "secret", "/budget")
    assert (seen["method"], seen["body"]) == ("GET", "")


def test_a_refusal_is_the_service_s_own_sentence(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "reply", (400, b'{"error": "L must be positive, got -1"}'))
    with pytest.raises(ValueError, match=r"^L must be positive, got -1$"):
        request(address, "secret", "/ask", {})


def test_what_is_no_reply_is_named_with_the_address(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Echo, "reply", (200, b"<html>"))
    with pytest.raises(ValueError, match=f"server must answer at {address}"):
        request(address, "secret", "/ask", {})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ValueError, match=f"server must answer at {closed}"):
        request(closed, "secret", "/ask")
    with pytest.raises(ValueError, match="server must answer at unix:"):
        request(f"unix:{tmp_path / 'nobody'}", "secret", "/ask")


@pytest.mark.parametrize(
    "far", ["http://example.org:80", "https://127.0.0.1", "ftp://localhost", "somewhere"]
)
def test_the_token_never_leaves_the_machine(far: str) -> None:
    with pytest.raises(ValueError, match="the token travels in the clear"):
        request(far, "secret", "/ask")
