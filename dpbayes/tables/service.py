"""One curator process holds table and account; analysts ask it over HTTP, with a token
each.

    POST /ask    {"question": "income >= 10", "length": 40, "confidence": 0.95}, and, if
                 wanted, "by": "sex" to ask once for each value of an attribute;
                 "request": "monday-1", under which what was paid has the same answer
                 again; "questions": [...] in place of "question" for several
    POST /price  the same; nothing is drawn or spent, and several are priced together
    GET /balance

Who brings no token is told so before anything is read. Answers are decided, drawn and
paid at one desk, one at a time, and of one analyst at most one request waits there.
They leave at whole ticks, so that their time does not follow their noise. Needs the
extra `serve`.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import json
import math
import re
import secrets
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpbayes.tables.answering import Answering, open_answering
from dpbayes.tables.entries import RequestTakenError
from dpbayes.tables.files import TICK, Analyst, ServiceFile
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import open_account
from dpbayes.tables.predicate import Answer, Question, Wish, wished

PATIENCE = 10.0  # seconds in which a request must have arrived
SECONDS = 30.0  # in which one with parts must end
LARGEST_BODY = 1 << 14
MOST_WAITING = 256  # connections without a request; one more ends the oldest one of
# the address that has most of them
MOST_OF_ONE = 8  # requests of one analyst under way at a time


class Service:
    """Answers analysts' questions; `app` is the ASGI application, `now` and `sleep` its
    clock.
    """

    def __init__(
        self,
        answering: Answering,
        analysts: tuple[Analyst, ...],
        tick: float = TICK,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        names = [analyst.name for analyst in analysts]
        if len({analyst.token for analyst in analysts}) < len(names):
            raise ValueError(
                f"analysts must have different tokens, got one twice among {names}"
            )
        self.answering, self.analysts, self.tick = answering, analysts, tick
        self._now, self._sleep = now, sleep
        self._desk = ThreadPoolExecutor(1, "desk")
        self._doors = {name: asyncio.Semaphore(MOST_OF_ONE) for name in names}
        self._turns = {name: asyncio.Lock() for name in names}
        paths = {"/ask": "POST", "/price": "POST", "/balance": "GET"}
        self.app = Starlette(
            routes=[
                Route(path, self._serve, methods=[how]) for path, how in paths.items()
            ],
            exception_handlers={HTTPException: _failed, Exception: _failed},
        )

    def known(self, headers: list[str]) -> Analyst:
        """Return the analyst whose token the one Authorization header brings, or
        refuse.
        """
        shape = r"Bearer ([\x21-\x7e]{1,200})"
        found = re.fullmatch(shape, headers[0]) if len(headers) == 1 else None
        digest = token_digest(found[1] if found else "")
        for analyst in self.analysts:
            if hmac.compare_digest(analyst.token, digest):
                return analyst
        raise HTTPException(
            401, "Authorization must be 'Bearer' and the token of an analyst"
        )

    def left(self, analyst: Analyst) -> Fraction:
        """Return what an analyst may still spend: budget less answers, at most the
        balance.
        """
        account = self.answering.account
        left = min(analyst.budget - account.paid_by(analyst.name), account.balance)
        return max(left, Fraction(0))

    async def _serve(self, request: Request) -> JSONResponse:
        analyst = self.known(request.headers.getlist("authorization"))
        door = self._doors[analyst.name]
        if door.locked():
            await self._sleep(self.tick)  # who asks again and again waits between
            told = (
                f"requests must be at most {MOST_OF_ONE} at a time; wait for an answer"
            )
            raise HTTPException(429, told)
        async with door:
            body = await _body(request)
            async with self._turns[analyst.name]:
                begun = self._now()
                try:
                    return JSONResponse(
                        await self._reply(request.url.path, analyst, body)
                    )
                finally:
                    used = max(self._now() - begun, 1e-9)
                    await self._sleep(math.ceil(used / self.tick) * self.tick - used)

    async def _reply(self, path: str, analyst: Analyst, body: bytes) -> dict[str, Any]:
        left = functools.partial(self.left, analyst)
        if path == "/balance":
            account = self.answering.account
            return {
                "analyst": analyst.name,
                "left": f"{float(await self._at_desk(left)):.6f}",
                "left_of": f"the budget of {analyst.name}",
                "epsilon_for": account.unit.differ_by(account.neighbours),
            }
        begun, answers = self._now(), list[dict[str, Any]]()
        try:
            wish = wished(body)
            if path == "/price":
                priced = self.answering.prices(self._questions(wish, analyst), left)
                answer = functools.partial(next, priced, None)
            else:
                questions = self._questions(wish, analyst)
                answer = functools.partial(self._next_answer, questions, left)
            while (found := await self._at_desk(answer)) is not None:
                answers.append(self._told(found, analyst, await self._at_desk(left)))
                if self._now() - begun > SECONDS and wish.several:
                    raise HTTPException(
                        503,
                        f"by must take at most {SECONDS:g} seconds: {len(answers)} are"
                        " answered; with a request id they cost nothing when they are"
                        " asked again",
                    )
        except RequestTakenError as error:
            raise HTTPException(400, str(error)) from error
        except AccountError:
            raise  # which names files: for the curator alone
        except (ValueError, TypeError) as error:
            raise HTTPException(400, str(error)) from error
        if not wish.several:
            return answers[0]
        total = math.fsum(one["cost"] for one in answers)
        several = {"answers": answers, "cost": total, "left": answers[-1]["left"]}
        return ({"by": wish.by} if wish.by else {}) | several

    def _questions(self, wish: Wish, analyst: Analyst) -> Iterator[Question]:
        return self.answering.questions(wish, analyst.name)

    def _next_answer(
        self, questions: Iterator[Question], left: Callable[[], Fraction]
    ) -> Answer | None:
        question = next(questions, None)
        return None if question is None else self.answering.ask(question, left)

    def _told(self, answer: Answer, analyst: Analyst, left: Fraction) -> dict[str, Any]:
        """Return what an analyst is told of an answer, with what is left to spend."""
        whose = f"the budget of {analyst.name}"
        return asdict(answer) | {"left": f"{float(left):.6f}", "left_of": whose}

    async def _at_desk(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run what looks at account and history, one at a time in the order of
        arrival."""
        return await asyncio.get_running_loop().run_in_executor(
            self._desk, work, *arguments
        )


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_BODY:
                    raise HTTPException(
                        413, f"body must be at most {LARGEST_BODY} bytes"
                    )
    except TimeoutError:
        raise HTTPException(
            408, f"request must arrive within {PATIENCE:g} seconds"
        ) from None
    return body


async def _failed(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        # What is wrong may name files and people: the curator's log has it.
        number = secrets.token_hex(4)
        kind, why = type(error).__name__, str(error)
        told = why if isinstance(error, AccountError) else f"{kind}: {why}"
        print(f"error {number}: {told}", file=sys.stderr, flush=True)
        if not isinstance(error, AccountError):
            traceback.print_exception(error)
        told = (
            "the curator's process could not answer, and nothing is told why; tell the"
            f" curator the number {number}, under which the log explains it"
        )
        return JSONResponse({"error": told, "number": number}, 500)
    told = error.detail
    if error.status_code in (404, 405):
        told = (
            "path must be POST /ask, POST /price or GET /balance, got"
            f" {f'{request.method} {request.url.path}'!r}"
        )
    headers = {"WWW-Authenticate": "Bearer"} if error.status_code == 401 else None
    return JSONResponse({"error": told}, error.status_code, headers)


def service_of(path: str | Path) -> Service:
    """Return the service that a file declares; PlanError or AccountError say what is
    wrong with it.

    By default the smallest price is such that the account is spent before the history
    is full.
    """
    told = ServiceFile.read(path)
    account, most = open_account(told.account), told.most_answers
    smallest = told.smallest_price or account.bound / most
    answering = open_answering(
        told.cube, account, smallest_price=smallest, most_answers=most
    )
    return Service(answering, told.analysts, told.tick)


def token_digest(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


class _Connection(H11Protocol):
    """One request a connection, whose head must arrive in time; errors are JSON."""

    patience: ClassVar[float]
    waiting: ClassVar[defaultdict[str, list[_Connection]]]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        if sum(map(len, self.waiting.values())) >= MOST_WAITING:
            most = max(self.waiting.values(), key=len)
            most[0].end()
        self.waiting[self._address].append(self)
        self._timer = self.loop.call_later(self.patience, self.end)

    def end(self) -> None:
        """Hang up on whoever keeps a connection and sends no request."""
        self._arrived()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self._arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        body = json.dumps({"error": "request must be HTTP/1.1"})
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection:"
            " close\r\n"
        )
        self.transport.write(
            f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()
        )
        self.transport.close()

    def _arrived(self) -> None:
        self._timer.cancel()
        others = self.waiting[self._address]
        if self in others:
            others.remove(self)
        if not others:
            del self.waiting[self._address]


def server(service: Service, patience: float = PATIENCE) -> uvicorn.Server:
    """Return uvicorn's server of the service; `run(sockets=[...])` serves."""
    protocol = type(
        "_Here", (_Connection,), {"patience": patience, "waiting": defaultdict(list)}
    )
    quiet: dict[str, Any] = {
        "log_config": None,
        "log_level": "critical",
        "access_log": False,
    }
    quiet |= {
        "ws": "none",
        "lifespan": "off",
        "server_header": False,
        "date_header": False,
    }
    return uvicorn.Server(uvicorn.Config(service.app, http=protocol, **quiet))
