"""Answers paid from an account: killed at each step, with copies and second ledgers."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.decision import Policy
from dpbayes.queries.grid import as_text
from dpbayes.queries.paying import Payments, Purchase, price_factor
from dpbayes.releasing.account import Account
from dpbayes.releasing.opening import create_account, open_account
from dpbayes.releasing.witness import read_witness
from tests.queries import asker

CELLS = 16


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    (tmp_path / "table.csv").write_text("x\n1\n")
    create_account(tmp_path / "a.account", "cells", 3, tmp_path / "table.csv", "add-or-remove")
    return tmp_path


def account_of(folder: Path) -> Account:
    return open_account(folder / "a.account")


def cell(i: int) -> np.ndarray:
    return np.eye(CELLS)[i]


def price_of(L: float) -> float:
    return queries.budget(1.0, L, 0.05)


MOMENTS = [
    f"{when} {step}"
    for step in ("the reserve", "the draw", "the keep", "the commit", "the answer")
    for when in ("before", "after")
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_each_step_it_is_paid_once_and_answered(folder: Path, moment: str) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.queries.asker"])
    ours, theirs = context.Pipe(duplex=False)
    words = (str(folder), str(folder / "keys"), moment, theirs)
    child = context.Process(target=asker.ask_paid_and_die, args=words)
    child.start()
    theirs.close()
    child.join()
    assert child.exitcode == -9
    with pytest.raises(EOFError):
        ours.recv()
    account = account_of(folder)
    before = {e.request: account.result(e.request) for e in account.entries if e.kind == "spend"}
    server = asker.open_paid(str(folder))
    first = server.ask(np.ones(CELLS), 20.0, 0.05, request="once")
    assert (first.outcome, first.number) == ("fresh", 1)
    assert server.ask(np.ones(CELLS), 20.0, 0.05, request="once") == first
    spends = [entry for entry in account.entries if entry.kind == "spend"]
    assert [entry.request for entry in spends] == ["answer--id-once"]
    assert float(account.spent) == pytest.approx(price_of(20.0), rel=1e-9)
    kept = account.result("answer--id-once")
    assert [as_text(entry.answer) for entry in server.entries] == [kept]
    # What was drawn and kept before the end is what is told after it.
    if before.get("answer--id-once") is not None:
        assert before["answer--id-once"] == kept


def test_what_a_crash_left_is_finished_before_anything_else_is_decided(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = asker.open_paid(str(folder))

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr(Payments, "drawn", broken)
        with pytest.raises(KeyboardInterrupt):
            server.ask(cell(1), 20.0, 0.05, request="one")
        assert (server._history.entries, server._history.spent) == ([], 0.0)
    other = server.ask(cell(1), 10.0, 0.05, request="two")
    assert [entry.number for entry in server.entries] == [1, 2]
    assert other.number == 2
    assert server.ask(cell(1), 20.0, 0.05, request="one").number == 1
    H, b = [e.query for e in server.entries], [e.scale / 2**128 for e in server.entries]
    assert float(account_of(folder).spent) >= queries.cost_of_scales(H, b) * (1 - 1e-12)


def test_an_old_copy_of_the_ledger_draws_nothing_twice(folder: Path) -> None:
    ledger = folder / "spend.sqlite"
    server = asker.open_paid(str(folder))
    server.ask(cell(0), 20.0, 0.05)
    old = ledger.read_bytes()
    # This one raises no overall cost, and was a free draw for whoever could put back the ledger.
    free = server.ask(cell(1), 20.0, 0.05, request="free")
    assert float(account_of(folder).spent) == pytest.approx(price_of(20.0), rel=1e-9)
    server.close()
    for content in (old, None):
        ledger.write_bytes(content) if content else ledger.unlink()
        again = asker.open_paid(str(folder))
        assert again.ask(cell(1), 20.0, 0.05, request="free") == free
        assert [entry.number for entry in again.entries] == [1, 2]
        again.close()


def test_two_ledgers_of_one_account_decide_one_after_the_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (asker.open_paid(str(folder), name) for name in ("one.sqlite", "two.sqlite"))
    one.ask(cell(0), 20.0, 0.05)
    reserve = Payments.reserve
    tried = []

    def overtaken(self: Payments, *arguments: object) -> bool:
        tried.append(self)
        if len(tried) == 1:
            two.ask(cell(1), 20.0, 0.05)
        return reserve(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Payments, "reserve", overtaken)
    # Decided alone, both would cost nothing: no cell would have been asked twice.
    answer = one.ask(cell(1), 10.0, 0.05)
    assert answer.outcome == "fresh"
    assert len(tried) == 3
    for server in (one, two):
        H, b = [e.query for e in server.entries], [e.scale / 2**128 for e in server.entries]
        assert len(H) == 3
        exact = queries.cost_of_scales(H, b)
        assert exact > price_of(20.0) * 1.5
        assert float(account_of(folder).spent) == pytest.approx(exact, rel=1e-9)


def test_an_account_that_never_rests_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = asker.open_paid(str(folder))
    monkeypatch.setattr(Payments, "reserve", lambda *_: False)
    with pytest.raises(queries.LedgerError, match="written by others without pause"):
        server.ask(cell(0), 20.0, 0.05)
    assert account_of(folder).spent == 0


@pytest.mark.parametrize("seed", range(3))
def test_crashes_copies_and_ledgers_at_random_never_cost_less_than_they_tell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ledger, copies = folder / "one.sqlite", []
    told: dict[str, queries.Answer] = {}
    shown: dict[int, np.ndarray] = {}
    for turn in range(12):
        if ledger.exists() and rng.random() < 0.4:
            copies.append(ledger.read_bytes())
        if copies and rng.random() < 0.4:
            ledger.write_bytes(copies[rng.integers(len(copies))])
        server = asker.open_paid(str(folder), ledger.name)
        query = queries.random_ranges((CELLS,), 1, rng)[0]
        with monkeypatch.context() as broken:
            failing = [(Payments, "drawn"), (Account, "keep"), (queries.ledger.Ledger, "append")]
            if rng.random() < 0.5:
                owner, name = failing[rng.integers(3)]
                broken.setattr(owner, name, lambda *_: 1 / 0)
            try:
                told[f"r{turn}"] = server.ask(query, 90.0, 0.05, request=f"r{turn}")
            except ZeroDivisionError:
                pass
            else:
                assert server.ask(query, 90.0, 0.05, request=f"r{turn}") == told[f"r{turn}"]
        shown |= {entry.answer: (entry.query, entry.scale / 2**128) for entry in server.entries}
        server.close()
    H, b = [q for q, _ in shown.values()], [scale for _, scale in shown.values()]
    spends = [entry for entry in account_of(folder).entries if entry.kind == "spend"]
    assert len(shown) <= len(spends)
    assert float(account_of(folder).spent) >= queries.cost_of_scales(H, b) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs", "factor"),
    [("replace-one", "add-remove", 2), ("replace-one", "replace-one", 1),
     ("add-or-remove", "add-remove", 1)],
)  # fmt: skip
def test_a_replaced_record_is_two_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: str, theirs: str, factor: int
) -> None:
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    (tmp_path / "t.csv").write_text("x\n1\n")
    account = create_account(tmp_path / "b.account", "cells", 1, tmp_path / "t.csv", ours)
    assert price_factor(account, theirs) == factor
    payments = Payments(account, b"cube", Policy(neighbours=theirs))
    assert payments.affordable(None) == pytest.approx(1 / factor)
    assert payments.affordable(Fraction(1, 4)) == pytest.approx(0.25 / factor)


def test_an_account_for_changing_n_has_no_price_for_replaced_records(folder: Path) -> None:
    with pytest.raises(ValueError, match="neighbours must be 'add-remove' for account"):
        Payments(account_of(folder), b"cube", Policy(neighbours="replace-one"))


def test_only_its_own_answers_are_read(folder: Path) -> None:
    account = account_of(folder)
    one, other = (Payments(account, content, Policy()) for content in (b"one", b"other"))
    account.spend("release", Fraction(1, 10), "a plan")
    one.unread()
    one.seen = len(account.entries)
    bought = Purchase("all", np.ones(CELLS), 2**130, "asked")
    assert one.reserve("answer--id-a", Fraction(1, 10), bought)
    assert not one.reserve("answer--id-b", Fraction(1, 10), bought)
    found, upto = one.unread()
    assert [(name, b.label, b.scale, b.asked) for name, b in found] == [
        ("answer--id-a", "all", 2**130, "asked")
    ]
    assert found[0][1].query.tolist() == [1.0] * CELLS
    assert upto == len(account.entries)
    assert other.unread() == ([], upto)
    assert (one.asked("answer--id-a"), one.asked("unknown")) == ("asked", None)
    assert other.asked("answer--id-a") == "something about another cube"
    assert one.drawn("answer--id-a", lambda: 5) == 5
    assert one.drawn("answer--id-a", lambda: 6) == 5


@pytest.mark.parametrize("kind", ["spend", "result"])
def test_what_a_crash_left_unwitnessed_is_witnessed_before_it_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """An older copy of account and ledger is noticed: it could let an answer be drawn anew."""

    def killed(account: Account, *_: object) -> None:
        if account._entries[-1].kind == kind:
            raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr(Account, "_move_witness", killed)
        with pytest.raises(KeyboardInterrupt):
            asker.open_paid(str(folder)).ask(cell(1), 20.0, 0.05)
    assert asker.open_paid(str(folder)).ask(cell(1), 20.0, 0.05).outcome == "derived"
    assert read_witness("cells").sequence == len(account_of(folder).entries) - 1
