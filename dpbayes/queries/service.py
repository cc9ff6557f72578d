"""One curator process holds table and account; analysts ask it over a socket, with a token each.

Plain HTTP and JSON on the loopback interface or a Unix socket, by the standard library. Each
analyst has a token, of which only the digest is stored, and a budget, which is counted from the
account's own entries, so that a restart forgets nothing. `dpbayes.queries.listening` says how
requests come in and how answers leave.

    POST /ask    {"question": "income >= 10", "length": 40, "confidence": 0.95}, and, if wanted,
                 "consistent": true for the estimate that fits counts of at least 0, beside;
                 "by": "sex" asks once for each value of an attribute;
                 "request": "monday-1", an id: sent again with it, a question has the same answer
                 and is paid once, and another question is refused under it
    POST /price  the same; nothing is drawn or spent
    GET /balance
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpbayes._validate import shown
from dpbayes.queries.answers import Answer
from dpbayes.queries.groups import by_value
from dpbayes.queries.paying import is_answer
from dpbayes.queries.repeats import checked_request
from dpbayes.queries.server import QueryServer
from dpbayes.releasing.account import Account
from dpbayes.tables.decimals import decimal_text

TICK = 0.1
LONGEST_QUESTION = 10_000
LARGEST_NUMBER = 10**15
MOST_OF_ONE = 8
SECONDS_OF_ONE = 30.0


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
    request: str | None = None


@dataclass(frozen=True)
class Service:
    """What the curator serves: a query server paid from an account, to these analysts.

    Of one analyst at most `MOST_OF_ONE` requests are under way at a time, and a request that asks
    for each value of an attribute ends after `seconds`.
    """

    server: QueryServer
    account: Account
    analysts: tuple[Analyst, ...]
    tick: float = TICK
    seconds: float = SECONDS_OF_ONE
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _gate: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _inside: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

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
        """Return what an analyst may still spend: budget less answers, at most the balance."""
        mine = f"answer-{analyst.name}-"
        answers = [entry for entry in self.account.entries if is_answer(entry.body)]
        spent = sum((e.epsilon for e in answers if e.request.startswith(mine)), Fraction(0))
        return max(min(analyst.budget - spent, self.account.balance), Fraction(0))

    def reply(self, method: str, path: str, header: str | None, body: bytes) -> dict[str, Any]:
        """Return the answer to a request, or raise Refusal."""
        analyst = self.known(header)
        if (method, path) == ("GET", "/balance"):
            return {"analyst": analyst.name, "left": decimal_text(self.left(analyst), "down", 12)}
        if method != "POST" or path not in ("/ask", "/price"):
            raise Refusal(404, f"path must be POST /ask, POST /price or GET /balance, got {path!r}")
        with self._admitted(analyst):
            wish = asked(body)
            try:
                if wish.by is not None:
                    return self._each(path, analyst, wish)
                return self._answered(path, analyst, wish)
            except (ValueError, TypeError) as error:
                raise Refusal(400, str(error)) from error

    @contextmanager
    def _admitted(self, analyst: Analyst) -> Iterator[None]:
        """Count the requests of an analyst that are under way, and refuse one too many."""
        with self._gate:
            if self._inside[analyst.name] >= MOST_OF_ONE:
                raise Refusal(
                    429, f"requests must be at most {MOST_OF_ONE} at a time; wait for an answer"
                )
            self._inside[analyst.name] += 1
        try:
            yield
        finally:
            with self._gate:
                self._inside[analyst.name] -= 1

    def _each(self, path: str, analyst: Analyst, wish: Wish) -> dict[str, Any]:
        """Answer a question once for each value of an attribute, as far as the time goes."""
        begun = time.monotonic()
        parts = by_value(self.server.cube, wish.question, wish.by, request=wish.request)
        if wish.request is not None and path == "/ask":
            whole = [wish.question, wish.by, wish.length, wish.confidence, wish.consistent]
            self.server.bind(wish.request, json.dumps(whole), analyst.name)
        answers: list[dict[str, Any]] = []
        for text, request in parts:
            if time.monotonic() - begun > self.seconds:
                raise Refusal(
                    503,
                    f"by must take at most {self.seconds:g} seconds: {len(answers)} of "
                    f"{len(parts)} are answered, and cost nothing when they are asked again",
                )
            one = replace(wish, question=text, by=None, request=request)
            answers.append(self._answered(path, analyst, one))
        return {"by": wish.by, "answers": answers, "left": answers[-1]["left"]}

    def _answered(self, path: str, analyst: Analyst, wish: Wish) -> dict[str, Any]:
        # One at a time: two questions of one analyst must not both see the same budget.
        with self._lock:
            # Counted when it is decided: another process may serve from the same account.
            most, delta = functools.partial(self.left, analyst), 1.0 - wish.confidence
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
                    request=wish.request,
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
    wanted = {"question", "length", "confidence", "consistent", "by", "request"}
    if not isinstance(fields, dict) or not {"question", "length"} <= fields.keys() <= wanted:
        raise Refusal(
            400,
            "body must be an object with question, length and, if wanted, confidence, consistent, "
            "by and request",
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
    if not 0.0 < fields["length"] < math.inf:
        raise Refusal(400, f"length must be positive and finite, got {fields['length']!r}")
    if not 0.0 < 1.0 - confidence < 1.0:
        raise Refusal(
            400,
            f"confidence must lie strictly between 0 and 1, by 2e-16 at least, got {confidence!r}",
        )
    if not isinstance(fitting, bool):
        raise Refusal(400, f"consistent must be true or false, got {shown(fitting)}")
    by = fields.get("by")
    if by is not None and not isinstance(by, str):
        raise Refusal(400, f"by must be the name of an attribute, got {shown(by)}")
    request = fields.get("request")
    try:
        checked = None if request is None else checked_request(request)
    except ValueError as error:
        raise Refusal(400, str(error)) from None
    return Wish(question, float(fields["length"]), float(confidence), fitting, by, checked)


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
