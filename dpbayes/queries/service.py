"""One curator process holds table and account; analysts ask it over a socket, with a token each.

Plain HTTP and JSON on the loopback interface or a Unix socket, by the standard library. Each
analyst has a token, of which only the digest is stored, and a budget, which is counted from the
account's own entries, so that a restart forgets nothing. Answers leave at fixed ticks, so that the
time of an answer does not follow the noise in it.

    POST /ask    {"question": "income >= 10", "length": 40, "confidence": 0.95}, and, if wanted,
                 "consistent": true for the estimate that fits counts of at least 0, beside;
                 "by": "sex" asks once for each value of an attribute
    POST /price  the same; nothing is drawn or spent
    GET /balance
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from dpbayes._validate import shown
from dpbayes.queries.answers import Answer
from dpbayes.queries.groups import by_value
from dpbayes.queries.server import QueryServer
from dpbayes.releasing.account import Account
from dpbayes.releasing.decimals import decimal_text

TICK = 0.1
LARGEST_BODY = 1 << 16
LONGEST_QUESTION = 10_000
LARGEST_NUMBER = 10**15
PATIENCE = 30.0


class Refusal(Exception):
    """A request that is not answered: an HTTP status and a sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Analyst:
    """Somebody who may ask: `token` is the SHA-256 of the token, `budget` what they may spend."""

    name: str
    token: str
    budget: Fraction


@dataclass(frozen=True)
class Wish:
    """What an analyst asks for: a question, the longest interval that will do, its confidence."""

    question: str
    length: float
    confidence: float
    consistent: bool = False
    by: str | None = None


@dataclass(frozen=True)
class Service:
    """What the curator serves: a query server paid from an account, to these analysts."""

    server: QueryServer
    account: Account
    analysts: tuple[Analyst, ...]
    tick: float = TICK
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [analyst.name for analyst in self.analysts]
        if not names or len(set(names)) != len(names) or any("-" in name for name in names):
            raise ValueError(f"analysts must be at least 1, with different names, got {names}")
        if len({analyst.token for analyst in self.analysts}) != len(names):
            raise ValueError(f"analysts must have different tokens, got one twice among {names}")

    def known(self, header: str | None) -> Analyst:
        """Return the analyst whose token is in an Authorization header, or refuse."""
        given = token_digest((header or "").removeprefix("Bearer ").strip())
        found = [a for a in self.analysts if hmac.compare_digest(a.token, given)]
        if not found:
            raise Refusal(401, "token must be that of an analyst, got another or none")
        return found[0]

    def left(self, analyst: Analyst) -> Fraction:
        """Return what an analyst may still spend: budget less entries, at most the balance."""
        mine = f"answer-{analyst.name}-"
        entries = self.account.entries
        spent = sum((e.epsilon for e in entries if e.request.startswith(mine)), Fraction(0))
        return max(min(analyst.budget - spent, self.account.balance), Fraction(0))

    def reply(self, method: str, path: str, header: str | None, body: bytes) -> dict[str, Any]:
        """Return the answer to a request, or raise Refusal."""
        analyst = self.known(header)
        if (method, path) == ("GET", "/balance"):
            return {"analyst": analyst.name, "left": decimal_text(self.left(analyst), "down", 12)}
        if method != "POST" or path not in ("/ask", "/price"):
            raise Refusal(404, f"path must be POST /ask, POST /price or GET /balance, got {path!r}")
        wish = asked(body)
        try:
            # One at a time: two questions of one analyst must not both see the same budget.
            with self._lock:
                return self._answered(path, analyst, wish)
        except (ValueError, TypeError) as error:
            raise Refusal(400, str(error)) from error

    def _answered(self, path: str, analyst: Analyst, wish: Wish) -> dict[str, Any]:
        if wish.by is not None:
            texts = by_value(self.server.cube, wish.question, wish.by)
            each = [replace(wish, question=text, by=None) for text in texts]
            answers = [self._answered(path, analyst, one) for one in each]
            return {"by": wish.by, "answers": answers, "left": answers[-1]["left"]}
        most, delta = self.left(analyst), 1.0 - wish.confidence
        if path == "/price":
            answer = self.server.price(wish.question, wish.length, delta, most=most)
        else:
            answer = self.server.ask(
                wish.question,
                wish.length,
                delta,
                most=most,
                payer=analyst.name,
                consistent=wish.consistent,
            )
        return {
            **as_fields(answer, wish.confidence),
            "left": decimal_text(self.left(analyst), "down", 12),
        }


def as_fields(answer: Answer, confidence: float) -> dict[str, Any]:
    """Return an answer as plain fields, for JSON."""
    interval = answer.interval
    return {
        "question": answer.label,
        "outcome": answer.outcome,
        "estimate": answer.estimate,
        "interval": None if interval is None else [interval.low, interval.high],
        "confidence": confidence,
        "cost": answer.cost,
        "spent": answer.spent,
        "left": answer.remaining,
        "affordable_length": answer.affordable,
        "consistent": answer.consistent,
    }


def asked(body: bytes) -> Wish:
    """Return what a request's body asks for, or refuse."""
    try:
        fields = json.loads(body, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):
        raise Refusal(400, "body must be JSON, with each field once") from None
    wanted = {"question", "length", "confidence", "consistent", "by"}
    if not isinstance(fields, dict) or not {"question", "length"} <= fields.keys() <= wanted:
        raise Refusal(
            400,
            "body must be an object with question, length and, if wanted, confidence, consistent "
            "and by",
        )
    question, confidence = fields["question"], fields.get("confidence", 0.95)
    fitting = fields.get("consistent", False)
    if not isinstance(question, str):
        raise Refusal(400, f"question must be text, got {shown(question)}")
    if len(question) > LONGEST_QUESTION:
        raise Refusal(400, f"question must have at most {LONGEST_QUESTION} letters")
    for name, value in (("length", fields["length"]), ("confidence", confidence)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refusal(400, f"{name} must be a number, got {shown(value)}")
        if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            raise Refusal(400, f"{name} must be at most {LARGEST_NUMBER}, got {shown(value)}")
    if not 0.0 < confidence < 1.0:
        raise Refusal(400, f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    if not isinstance(fitting, bool):
        raise Refusal(400, f"consistent must be true or false, got {shown(fitting)}")
    by = fields.get("by")
    if by is not None and not isinstance(by, str):
        raise Refusal(400, f"by must be the name of an attribute, got {shown(by)}")
    return Wish(question, float(fields["length"]), float(confidence), fitting, by)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands twice")
    return fields


def new_token() -> str:
    """Return a token for an analyst; give it to them, and store its digest."""
    return secrets.token_urlsafe(24)


def token_digest(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def at_tick(
    work: Callable[[], Any],
    tick: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """Return the result of `work` a whole number of ticks after it was begun, also if it fails."""
    begun = clock()
    try:
        return work()
    finally:
        used = clock() - begun
        sleep(math.ceil(max(used, 1e-9) / tick) * tick - used)


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE
    server_version = "dpbayes"
    sys_version = ""

    def do_GET(self) -> None:
        self._handle(b"")

    def do_POST(self) -> None:
        lengths = self.headers.get_all("Content-Length", [])
        plain = len(lengths) == 1 and re.fullmatch("[0-9]{1,9}", lengths[0].strip())
        if not plain or "Transfer-Encoding" in self.headers or int(lengths[0]) > LARGEST_BODY:
            self._send(
                413, {"error": f"body must be at most {LARGEST_BODY} bytes, with its length"}
            )
            return
        self._handle(self.rfile.read(int(lengths[0])))

    def _handle(self, body: bytes) -> None:
        service = cast(_Listening, self.server).service
        headers = self.headers.get_all("Authorization", [])
        header = headers[0] if len(headers) == 1 else None

        def work() -> tuple[int, dict[str, Any]]:
            try:
                return 200, service.reply(self.command, self.path, header, body)
            except Refusal as refusal:
                return refusal.status, {"error": str(refusal)}
            except Exception:
                return 500, {"error": "the curator's process could not answer; nothing is told why"}

        self._send(*at_tick(work, service.tick))

    def _send(self, status: int, fields: dict[str, Any]) -> None:
        content = (json.dumps(fields) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a log of questions beside their times is one more thing to protect."""

    def address_string(self) -> str:
        return "client"


class _Listening(ThreadingHTTPServer):
    service: Service
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever hung up before the answer is not the curator's trouble."""


class _OnUnixSocket(_Listening):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0
        os.chmod(str(self.server_address), 0o600)


def listening(service: Service, port: int = 0, unix_socket: str | Path | None = None) -> _Listening:
    """Return a server bound to 127.0.0.1, or to a Unix socket; call its `serve_forever`.

    Nothing listens on any other interface. `port` 0 takes a free one, see `server_port`.
    """
    if unix_socket is not None:
        path = Path(unix_socket)
        if path.exists():
            raise ValueError(f"unix_socket must be a path that does not exist, got {str(path)!r}")
        bound: _Listening = _OnUnixSocket(cast(Any, str(path)), _Handler)
    else:
        bound = _Listening(("127.0.0.1", port), _Handler)
    bound.service = service
    return bound


def in_background(bound: _Listening) -> threading.Thread:
    """Serve in a thread of its own; end with `bound.shutdown()`."""
    thread = threading.Thread(target=bound.serve_forever, daemon=True)
    thread.start()
    return thread
