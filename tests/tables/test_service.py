"""The curator's service, asked honestly and attacked: over HTTP, by uvicorn, on this
machine.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scipy.stats import spearmanr

from dpbayes import __main__ as cli
from dpbayes.commands.ask import post
from dpbayes.tables import service as curator
from dpbayes.tables.files import Analyst
from dpbayes.tables.service import (
    LARGEST_BODY,
    MOST_OF_ONE,
    Service,
    service_of,
    token_digest,
)
from tests.tables.people import asking, opened, written

ANNA, BORIS = "anna's-token-of-24-letters", "boris's-token-of-24-letter"
ANALYSTS = (
    Analyst("anna", token_digest(ANNA), Fraction(1)),
    Analyst("boris", token_digest(BORIS), Fraction(1, 10)),
)
QUESTION = {"question": "income >= 10", "length": 40}


pytestmark = pytest.mark.usefixtures("purse")


@contextmanager
def served(service: Service, patience: float = 10.0) -> Iterator[str]:
    """Serve in a thread of its own; give the address."""
    place = socket.create_server(("127.0.0.1", 0))
    server = curator.server(service, patience)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [place]}, daemon=True
    )
    thread.start()
    end = time.monotonic() + 20
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        place.close()


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def asked(
    address: str, fields: Any, token: str = ANNA, path: str = "/ask"
) -> httpx.Response:
    return httpx.post(address + path, json=fields, headers=headers(token), timeout=30)


def test_analysts_share_the_history_and_have_budgets_of_their_own(
    tmp_path: Path,
) -> None:
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        priced = asked(address, QUESTION, path="/price").json()
        first = asked(address, QUESTION).json()
        assert (priced["outcome"], priced["estimate"]) == ("fresh", None)
        assert priced["cost"] == first["cost"] == pytest.approx(0.149787, abs=1e-6)
        second = asked(address, QUESTION | {"length": 41}, BORIS).json()
        assert (second["outcome"], second["left"]) == ("derived", "0.100000")
        refused = asked(address, {"question": "all", "length": 10}, BORIS).json()
        assert refused["outcome"] == "rejected"
        again = asked(
            address, {"question": "all", "length": refused["affordable"]}, BORIS
        ).json()
        assert again["outcome"] == "fresh"
        left = httpx.get(f"{address}/balance", headers=headers(ANNA)).json()
        assert left == {
            "analyst": "anna",
            "left": f"{1 - first['cost']:.6f}",
            "left_of": "the budget of anna",
            "epsilon_for": "one record more or less",
        }
        assert second["left_of"] == "the budget of boris"
        assert second["epsilon_for"] == "one record more or less"
    restarted = Service(asking(tmp_path), ANALYSTS, 0.01)
    assert float(restarted.left(ANALYSTS[0])) == pytest.approx(1 - first["cost"])


def test_one_question_for_each_value_and_one_id(tmp_path: Path) -> None:
    fields = {"question": "all", "length": 40, "by": "sex", "request": "a"}
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        first, again = asked(address, fields).json(), asked(address, fields).json()
        assert [one["question"] for one in first["answers"]] == [
            "(all) and sex = f",
            "(all) and sex = m",
        ]
        assert first == again
        other = asked(address, fields | {"by": "income"})
        assert (other.status_code, "something else" in other.json()["error"]) == (
            400,
            True,
        )


REFUSED = [
    (b"{", "body must be JSON"),
    (b"[" * 5000, "body must be JSON"),
    (b"[]", "must have the fields question"),
    (b'{"question": "all"}', "must have the fields question, length"),
    (
        b'{"question": "all", "length": 4, "payer": "b"}',
        "must have the fields question, length",
    ),
    (b'{"question": 3, "length": 4}', "question must be a valid string"),
    (b'{"question": "all", "length": "4"}', "length must be a valid number"),
    (b'{"question": "all", "length": true}', "length must be a valid number"),
    (b'{"question": "all", "length": NaN}', "length must be a finite"),
    (
        b'{"question": "all", "length": 1e-320}',
        "L must be a length whose budget is a number",
    ),
    (b'{"question": "all", "length": 1e300}', "length must need a noise scale"),
    (b'{"question": "all", "length": 1e-7}', "length must need a noise scale"),
    (b'{"question": "all", "length": ' + b"9" * 400 + b"}", "length must be a finite"),
    (b'{"question": "all", "length": 4, "confidence": 1}', "confidence must be less"),
    (b'{"question": "all", "length": 4, "request": "a b"}', "request must match"),
    (b'{"question": "all", "length": 4, "by": "age"}', "by must be an attribute"),
    (b'{"question": "income < 15", "length": 4}', "cuts through the bin"),
    (b'{"question": "__import__(\'os\')", "length": 4}', "cannot be read"),
    (b"\xff", "body must be JSON"),
]
WRONG = [
    ("GET", "/", b"", headers(ANNA), 404),
    ("GET", "/ask", b"", headers(ANNA), 405),
    ("POST", "/ask", b"x" * (LARGEST_BODY + 1), headers(ANNA), 413),
    ("POST", "/ask", b"{}", {}, 401),
    ("POST", "/ask", b"{}", {"Authorization": ANNA}, 401),
    ("POST", "/ask", b"{}", {"Authorization": f"Basic {ANNA}"}, 401),
    ("POST", "/ask", b"{}", {"Authorization": f"bearer {ANNA}"}, 401),
    ("POST", "/ask", b"{}", headers(token_digest(ANNA)), 401),
    ("POST", "/ask", b"{}", headers("x" * 5000), 401),
    ("GET", "/balance", b"", {}, 401),
]


def test_errors_are_json_always_say_what_is_wrong_and_cost_nothing(
    tmp_path: Path,
) -> None:
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        for sent, message in REFUSED:
            got = httpx.post(
                f"{address}/ask", content=sent, headers=headers(ANNA), timeout=30
            )
            assert (got.status_code, message in got.json()["error"]) == (
                400,
                True,
            ), message
        for method, path, sent, header, status in WRONG:
            got = httpx.request(
                method, address + path, content=sent, headers=header, timeout=30
            )
            assert (got.status_code, list(got.json())) == (status, ["error"]), (
                path,
                header,
            )
    assert opened(tmp_path).spent == 0


def raw(address: str, sent: bytes, seconds: float = 10.0) -> bytes:
    port = int(address.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as line:
        line.sendall(sent)
        got = b""
        with suppress(OSError):
            while piece := line.recv(4096):
                got += piece
        return got


def test_what_is_no_http_gets_json_too_and_a_fault_of_ours_tells_nothing(
    tmp_path: Path,
) -> None:
    service = Service(asking(tmp_path), ANALYSTS, 0.01)
    with served(service) as address:
        assert b'{"error": "request must be HTTP/1.1"}' in raw(
            address, b"\x16\x03\x01 hello\r\n\r\n"
        )
        service.answering.prices = None  # type: ignore[method-assign, assignment]
        got = asked(address, QUESTION, path="/price")
        assert got.status_code == 400 or "nothing is told why" in got.json()["error"]
        service.left = None  # type: ignore[method-assign, assignment]
        two = b"Authorization: Bearer " + ANNA.encode()
        twice = raw(
            address,
            b"GET /balance HTTP/1.1\r\nHost: x\r\n%s\r\n%s\r\n\r\n" % (two, two),
        )
        assert b" 401 " in twice


def refused(line: socket.socket) -> bool:
    try:
        return b" 401 " in line.recv(4096)
    except ConnectionResetError:
        return False


def test_seventy_clients_without_a_token_do_not_keep_an_analyst_out(
    tmp_path: Path,
) -> None:
    """They are answered 401 at once, while their bodies are still on the way."""
    with served(Service(asking(tmp_path), ANALYSTS, 0.05)) as address:
        port, begun = int(address.rsplit(":", 1)[1]), time.monotonic()
        lines = [
            socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(70)
        ]
        for line in lines:
            line.sendall(
                b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"
            )
        got = asked(address, QUESTION)
        assert got.json()["outcome"] == "fresh"
        assert (
            sum(map(refused, lines)) >= 64
        )  # beyond, the oldest of one address are ended
        assert time.monotonic() - begun < 5
        for line in lines:
            line.close()


@pytest.mark.parametrize("sent", [b"", b"POST /ask HTTP/1.1\r\nHost: x\r\nX-Drip: "])
def test_eighty_silent_or_slow_clients_do_not_keep_an_analyst_out(
    tmp_path: Path, sent: bytes
) -> None:
    with served(Service(asking(tmp_path), ANALYSTS, 0.05), patience=1.0) as address:
        port = int(address.rsplit(":", 1)[1])
        lines = [
            socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(80)
        ]
        for line in lines:
            line.sendall(sent)
        assert asked(address, QUESTION).json()["outcome"] == "fresh"
        ends = time.monotonic() + 5
        for (
            line
        ) in lines:  # all are hung up on when their time is over, dripping or not
            line.settimeout(max(ends - time.monotonic(), 0.1))
            with suppress(ConnectionError):
                assert line.recv(100) == b""
            line.close()


def test_a_body_that_drips_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbayes.tables.service.PATIENCE", 0.3)
    head = (
        b"POST /ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length:"
        b" 90\r\n\r\n{"
    )
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        begun = time.monotonic()
        got = raw(address, head % ANNA.encode())
        assert b" 408 " in got
        assert b"request must arrive within 0.3 seconds" in got
        assert time.monotonic() - begun < 3


def test_questions_of_ten_thousand_letters_are_refused_before_the_desk(
    tmp_path: Path,
) -> None:
    long = " or ".join(["income >= 10"] * 700)
    begun = time.monotonic()
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        for text in (long, "(" * 1900, "not " * 400 + "all", "all" + " + all" * 300):
            got = asked(
                address, {"question": text[:10_000], "length": 40}, path="/price"
            )
            assert got.status_code == 400
            assert (
                "at most" in got.json()["error"] or "goes wrong" in got.json()["error"]
            )
    assert time.monotonic() - begun < 5


@pytest.mark.slow
def test_one_analyst_delays_another_by_at_most_a_tick_and_a_half(
    tmp_path: Path,
) -> None:
    """Anna sends as much as she may, each question as expensive as one after 1,000
    answers.
    """
    tick, again = 0.2, QUESTION | {"length": 50}
    service = Service(asking(tmp_path), ANALYSTS, tick)
    plain = service.answering.ask

    def slow(*given: Any) -> Any:
        time.sleep(0.1)
        return plain(*given)

    service.answering.ask = slow  # type: ignore[method-assign]
    with served(service) as address, ThreadPoolExecutor(16) as pool:
        post(address, ANNA, "/ask", QUESTION)

        def timed(_: int) -> float:
            begun = time.monotonic()
            assert post(address, BORIS, "/ask", again)["outcome"] == "derived"
            return time.monotonic() - begun

        alone = float(np.median([timed(i) for i in range(4)]))
        stop = threading.Event()

        def flood(_: int) -> int:
            refused = 0
            while not stop.is_set():
                try:
                    post(address, ANNA, "/ask", again)
                except ValueError as error:
                    refused += "at a time" in str(error)
            return refused

        running = [pool.submit(flood, i) for i in range(12)]
        time.sleep(2 * tick)
        beside = max(timed(i) for i in range(6))
        stop.set()
        refused = sum(one.result() for one in running)
    assert beside - alone <= 1.5 * tick
    assert refused > 0
    assert MOST_OF_ONE < 12


class Clock:
    """A clock that only runs when somebody works or sleeps."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.mark.slow
@pytest.mark.parametrize(("tick", "answers"), [(0.1, 20_000), (1e-12, 2_000)])
def test_the_time_of_an_answer_does_not_follow_its_noise(
    tmp_path: Path, tick: float, answers: int
) -> None:
    """20,000 answers whose work takes longer the larger the noise is; and without
    ticks.
    """
    clock, rng = Clock(), np.random.default_rng(3)
    service = Service(asking(tmp_path), ANALYSTS, tick, clock.now, clock.sleep)
    noises, times = rng.laplace(size=answers) * 2**130, []
    each = iter(noises)

    async def reply(path: str, analyst: Analyst, body: bytes) -> dict[str, Any]:
        clock.time += (
            0.02 + 0.01 * min(abs(next(each)) / 2**130, 5.0) + 1e-3 * rng.random()
        )
        return {}

    service._reply = reply  # type: ignore[method-assign]

    async def run() -> None:
        transport = httpx.ASGITransport(service.app)
        sent = httpx.Request(
            "POST", "http://x/ask", content=b"{}", headers=headers(ANNA)
        )
        for _ in noises:
            begun = clock.time
            await transport.handle_async_request(sent)
            times.append(round(clock.time - begun, 9))

    asyncio.run(run())
    same = len(set(times)) == 1
    found = 0.0 if same else abs(float(spearmanr(times, np.abs(noises)).statistic))
    assert (found <= 0.05) == (tick > 0.01)
    assert tick < 0.01 or all(math.isclose(t / tick, round(t / tick)) for t in times)


def test_twelve_at_once_cannot_spend_a_budget_twice(tmp_path: Path) -> None:
    with (
        served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address,
        ThreadPoolExecutor(12) as pool,
    ):
        texts = [f"income >= {10 * (i % 3)} and sex = {'fm'[i % 2]}" for i in range(12)]
        fields = [{"question": text, "length": 80} for text in texts]
        each = list(pool.map(lambda one: asked(address, one, BORIS).json(), fields))
    paid = opened(tmp_path).paid_by("boris")
    assert paid <= Fraction(1, 10)
    assert {"fresh", "rejected"} <= {one.get("outcome") for one in each}


CUBE = """
source = "people.csv"
unit = "record"
bound = 1.0
[[attribute]]
name = "income"
edges = [0, 10, 20, 30]
[[attribute]]
name = "sex"
values = ["f", "m"]
"""


def service_file(folder: Path, more: str = "") -> Path:
    written(folder)
    opened(folder)
    (folder / "people.toml").write_text(CUBE)
    path = folder / "service.toml"
    path.write_text(
        f'cube = "people.toml"\naccount = "people.account"\ntick = 0.01\n{more}\n'
        f'[[analyst]]\nname = "anna"\ntoken = "{token_digest(ANNA)}"\nbudget = "0.4"\n'
    )
    return path


def test_a_service_file_is_served_with_a_smallest_price(tmp_path: Path) -> None:
    service = service_of(service_file(tmp_path))
    question = service.answering.question("all", 1e6, 0.05)
    assert service.answering.price(question).cost == pytest.approx(4 / 1000)
    other = service_of(service_file(tmp_path, 'smallest_price = "0.1"'))
    assert other.answering.price(question).cost == pytest.approx(0.1)


def test_the_command_serves_until_it_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, seen = service_file(tmp_path), []

    def once(self: Any, sockets: list[socket.socket]) -> None:
        seen.append(sockets[0].getsockname())
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", once)
    assert cli.main(["serve", str(path)]) == 0
    assert "serving at http://127.0.0.1:" in capsys.readouterr().out
    assert seen[0][0] == "127.0.0.1"
    assert cli.main(["serve", "--new-token"]) == 0
    token, digest = (line.split()[1] for line in capsys.readouterr().out.splitlines())
    assert token_digest(token) == digest
    for words, message in (
        ((), "a service file must be given, or --new-token"),
        (("none.toml",), "cannot be read"),
        (("none.toml", "--port", "70000"), "--port must lie between 0 and 65535"),
    ):
        assert cli.main(["serve", *words]) == 2
        assert message in capsys.readouterr().err


def test_a_fault_of_the_account_is_a_number_that_the_log_explains(
    tmp_path: Path, purse: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The key is gone: an analyst sees no path, the curator sees which file it is."""
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        assert asked(address, QUESTION).status_code == 200
        (key,) = (purse / "keys").glob("*.key")
        key.rename(key.with_suffix(".gone"))
        for path in ("/ask", "/price"):
            got = asked(address, QUESTION | {"length": 9}, path=path)
            assert (got.status_code, sorted(got.json())) == (500, ["error", "number"])
            assert str(tmp_path) not in got.text
            assert "people" not in got.text
            log = capfd.readouterr().err
            assert f"error {got.json()['number']}: the key of data set" in log
            assert str(key) in log
        key.with_suffix(".gone").rename(key)
        assert asked(address, QUESTION).json()["outcome"] == "derived"


def test_an_id_that_was_used_on_another_version_is_the_analysts_to_mend(
    tmp_path: Path,
) -> None:
    fields = QUESTION | {"request": "monday"}
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        assert asked(address, fields).status_code == 200
    opened(tmp_path).accept(tmp_path / "people.csv")
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        got = asked(address, fields)
        assert got.status_code == 400
        assert "on another version of the table" in got.json()["error"]
        assert str(tmp_path) not in got.text


def test_idle_connections_from_many_places_do_not_keep_an_analyst_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No client can use up what others need, whatever address it comes from."""
    monkeypatch.setattr(curator, "MOST_WAITING", 40)
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        port, lines = int(address.rsplit(":", 1)[1]), []
        for i in range(200):
            place = (f"127.0.0.{2 + i % 10}", 0)
            lines.append(
                socket.create_connection(
                    ("127.0.0.1", port), timeout=10, source_address=place
                )
            )
        assert asked(address, QUESTION).json()["outcome"] == "fresh"
        ended = 0
        for line in lines:
            line.settimeout(0.01)
            with suppress(OSError):
                ended += line.recv(1) == b""
            line.close()
        assert ended + 40 >= 150


def test_several_questions_are_priced_together_and_asked_together(
    tmp_path: Path,
) -> None:
    fields = {"questions": ["income < 10", "income < 10", "all"], "length": 40}
    with served(Service(asking(tmp_path), ANALYSTS, 0.01)) as address:
        told = asked(address, fields, path="/price").json()
        assert [one["outcome"] for one in told["answers"]] == [
            "fresh",
            "derived",
            "fresh",
        ]
        assert opened(tmp_path).spent == 0
        paid = asked(address, fields | {"request": "a"}).json()
        assert paid["cost"] == pytest.approx(told["cost"], rel=1e-12)
        for bad in ({"questions": []}, {"questions": ["all"], "question": "all"}):
            assert asked(address, {"length": 4} | bad).status_code == 400
        wrong = asked(address, {"questions": ["all", "age < 3"], "length": 9})
        assert "no attribute 'age'" in wrong.json()["error"]
