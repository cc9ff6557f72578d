"""Answers paid from an account: what they promise, what they cost, and who tries to get
more.
"""

from __future__ import annotations

import math
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbayes.tables.account import Account, AccountError
from dpbayes.tables.answering import Answering
from dpbayes.tables.attributes import Bins, Cube
from dpbayes.tables.decision import Policy, decide, empty_state
from dpbayes.tables.noise import as_float
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.predicate import Answer, Wish
from dpbayes.tables.units import Unit
from tests.tables.killing import killed_at
from tests.tables.people import ATTRIBUTES, COUNTS, asking, opened, written

pytestmark = pytest.mark.usefixtures("purse")


def ask(
    asked: Answering, text: str, length: float, request: str | None = None
) -> Answer:
    return asked.ask(asked.question(text, length, 0.05, request=request))


def test_fresh_then_derived_then_refused(tmp_path: Path) -> None:
    asked = asking(tmp_path, 1.0)
    told = asked.price(asked.question("income >= 10", 20.0, 0.05))
    assert asked.account.spent == 0
    first = ask(asked, "income >= 10", 20.0)
    assert (told.outcome, told.cost, told.estimate) == ("fresh", first.cost, None)
    assert first.cost == pytest.approx(0.2995732274, rel=1e-9)
    assert first.interval is not None
    assert first.interval[1] - first.interval[0] == pytest.approx(20.0, rel=1e-8)
    again = ask(asking(tmp_path, 1.0), "income >= 10", 20.1)  # as a new process
    assert (again.outcome, again.cost) == ("derived", 0.0)
    assert again.estimate == pytest.approx(first.estimate, rel=1e-12)
    other = ask(asked, "income < 10", 20.0)
    assert other.outcome == "fresh"
    assert other.cost == 0.0  # no record is counted by both
    refused = ask(asked, "all", 1.0)
    assert (refused.outcome, refused.estimate, refused.interval) == (
        "rejected",
        None,
        None,
    )
    assert refused.affordable is not None
    last = ask(asked, "all", refused.affordable)
    assert last.outcome in ("fresh", "derived")
    assert float(asked.account.spent) == pytest.approx(last.spent, rel=1e-12)


def test_the_account_bounds_all_cubes_together_each_with_its_own_history(
    tmp_path: Path,
) -> None:
    opened(tmp_path, "0.45")
    assert ask(asking(tmp_path), "sex = f", 30.0).outcome == "fresh"
    account = opened(tmp_path)
    other = Answering(Cube(ATTRIBUTES[1:], np.array([30, 60])), account, 4.0)
    assert ask(other, "sex = f", 30.1).outcome == "fresh"
    assert ask(asking(tmp_path), "all", 20.0).outcome == "rejected"
    assert account.balance >= 0


@pytest.mark.parametrize("keep", [1, 3])
def test_the_account_is_charged_for_its_own_unit(tmp_path: Path, keep: int) -> None:
    opened(tmp_path, "40", Unit() if keep == 1 else Unit("income", keep))
    got = ask(asking(tmp_path), "all", 60.0)
    assert got.cost == pytest.approx(2 * math.log(20) / 60.0 * keep, rel=1e-6)


def test_an_id_has_one_answer_is_paid_once_and_takes_no_other_question(
    tmp_path: Path,
) -> None:
    asked = asking(tmp_path)
    first = ask(asked, "sex = f", 30.0, "monday")
    assert ask(asking(tmp_path), "sex = f", 30.0, "monday") == first
    assert len([e for e in asked.account.entries if e.kind == "spend"]) == 1
    with pytest.raises(
        ValueError, match="request must be a new id for a new question, got 'monday'"
    ):
        ask(asked, "sex = m", 30.0, "monday")
    ask(asked, "sex = f", 10.0)  # of which the first answer is told nothing
    assert ask(asked, "sex = f", 30.0, "monday") == first


def test_an_answer_that_costs_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    asked = asking(tmp_path)
    ask(asked, "sex = f", 30.0)
    before = len(asked.account.entries)
    assert ask(asked, "sex = f", 40.0, "tuesday").outcome == "derived"
    assert ask(asked, "sex = m", 40.0, "tuesday").outcome == "fresh"
    assert len(asked.account.entries) == before + 2  # what was paid, and what was drawn


@pytest.mark.parametrize("drawn", [False, True])
def test_two_at_once_under_one_id_are_both_answered_and_pay_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: bool
) -> None:
    """The other one pays after this one has decided; it draws at once, or ends before
    it does.
    """
    one, other = asking(tmp_path), asking(tmp_path)
    reserve, kept = one.account.reserve, other.account.keep

    def overtaken(*given: Any, **named: Any) -> bool | None:
        monkeypatch.setattr(one.account, "reserve", reserve)
        ask(other, "sex = m", 30.0)  # so that the price of the next is another one
        if not drawn:
            monkeypatch.setattr(other.account, "keep", lambda *_: 1 / 0)
        with suppress(ZeroDivisionError):
            ask(other, "all", 20.0, "monday")
        monkeypatch.setattr(other.account, "keep", kept)
        return reserve(*given, **named)

    monkeypatch.setattr(one.account, "reserve", overtaken)
    got = ask(one, "all", 20.0, "monday")
    assert (got.outcome, got.history) == ("fresh", 2)
    assert ask(other, "all", 20.0, "monday") == got
    assert len([e for e in one.account.entries if e.request == "answer--monday"]) == 2


def test_an_id_knows_the_table_it_was_asked_on(tmp_path: Path) -> None:
    ask(asking(tmp_path), "sex = f", 30.0, "monday")
    table = written(tmp_path)
    table.write_text(table.read_text() + "5,f\n")
    opened(tmp_path).accept(table)
    with pytest.raises(AccountError, match="another version of the table"):
        ask(asking(tmp_path), "sex = f", 30.0, "monday")


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE entries SET epsilon = '9/10' WHERE sequence = 2",
        (
            'UPDATE entries SET body = replace(body, \'"scale": "0x\', \'"scale":'
            " \"0x1') WHERE sequence = 2"
        ),
        (
            "INSERT INTO entries SELECT sequence + 2, kind, 'made-up', epsilon, body,"
            " time, digest FROM entries WHERE sequence = 2"
        ),
        (
            "INSERT INTO entries SELECT sequence + 2, kind, 'made-up', '9/10', body,"
            " time, printf('%064x', 7) FROM entries WHERE sequence = 2"
        ),
    ],
)
def test_attack_a_forged_row_makes_no_answer_free(tmp_path: Path, forged: str) -> None:
    asked = asking(tmp_path)
    ask(asked, "income >= 10", 20.0)
    wish = asked.question("income < 20", 20.0, 0.05)
    price = asked.price(wish).cost
    assert price > 0
    with closing(sqlite3.connect(tmp_path / "people.account")) as connection:
        assert connection.execute(forged).rowcount == 1
        connection.commit()
    with pytest.raises(AccountError, match="does not match its digest"):
        asking(tmp_path)
    with suppress(
        AccountError
    ):  # who holds the entries as they were charges what they say
        assert asked.ask(wish).cost == price


@pytest.mark.parametrize("request_id", [None, "a"])
def test_twelve_at_once_pay_once(tmp_path: Path, request_id: str | None) -> None:
    """On a budget for one answer; under one id all of them get the same."""
    opened(tmp_path, "0.35")
    asked = [asking(tmp_path) for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        each = list(pool.map(lambda one: ask(one, "all", 20.0, request_id), asked))
    outcomes = [one.outcome for one in each]
    assert outcomes.count("fresh") == (12 if request_id else 1)
    assert outcomes.count("derived") == (0 if request_id else 11)
    assert len({round(one.estimate or 0.0, 9) for one in each}) == 1
    assert len([e for e in opened(tmp_path).entries if e.kind == "spend"]) == 1


@pytest.mark.parametrize("step", range(1, 13))
def test_killed_at_any_step_it_pays_once_and_has_one_answer(
    tmp_path: Path, step: int
) -> None:
    asking(tmp_path)
    writes = [
        (Account, name) for name in ("reserve", "keep", "append", "_move_witness")
    ]
    killed = killed_at(
        step, lambda: ask(asking(tmp_path), "income >= 10", 20.0, "a"), *writes
    )
    assert killed == -signal.SIGKILL
    later = opened(tmp_path)
    paid = [entry for entry in later.entries if entry.kind == "spend"]
    kept = later.result("answer--a", later.check_table(tmp_path / "people.csv"))
    asked = asking(tmp_path)
    first = ask(asked, "income >= 10", 20.0, "a")
    assert first.outcome == "fresh"
    assert ask(asking(tmp_path), "income >= 10", 20.0, "a") == first
    spends = [entry for entry in asked.account.entries if entry.kind == "spend"]
    assert len(spends) == 1
    assert spends[: len(paid)] == paid
    if kept is not None:
        assert first.estimate == pytest.approx(as_float(int(kept, 0)))
    assert ask(asked, "income >= 10", 20.1).estimate == pytest.approx(first.estimate)


def test_a_fresh_answer_costs_at_least_the_smallest_price(tmp_path: Path) -> None:
    asked = asking(tmp_path, smallest_price=Fraction(1, 100))
    assert ask(asked, "all", 1e6).cost == 0.01
    assert ask(asked, "income < 10", 40.0).cost > 0.01
    for _ in range(3):
        ask(asked, "sex = f", 1e5)
    assert asked.account.spent >= Fraction(2, 100)


@pytest.mark.slow
def test_a_decision_after_a_thousand_answers_takes_all_of_them_in(
    tmp_path: Path,
) -> None:
    """Through the account; half of the answers are about 36 rows alone, so that many
    combine.
    """
    rng = np.random.default_rng(2)
    axes = (
        Bins("a", tuple(range(37)), whole=True),
        Bins("b", tuple(range(41)), whole=True),
    )
    cube, account = Cube(axes, rng.integers(0, 50, 1440)), opened(tmp_path, "1000000")
    plain = Answering(
        cube, account, 1e6, policy=Policy(spending="direct", inference=False)
    )
    for number in range(999):
        (a, b), (c, d) = (
            np.sort(rng.choice(side, 2, replace=False)) for side in (37, 41)
        )
        text = f"a between {a} and {b}" + (
            f" and b between {c} and {d}" if number % 2 else ""
        )
        assert ask(plain, text, float(rng.uniform(30, 100))).outcome == "fresh"
    asked = Answering(cube, account, 1e6)
    for text in ("a < 20", "a >= 3 and a < 30", "all", "a = 7", "a < 20 and b >= 7"):
        assert asked.price(asked.question(text, 2.0, 0.05)).outcome == "fresh"
    assert ask(asked, "a < 20", 2.0).history == 1000
    with pytest.raises(
        ValueError, match="the history must hold at most 1000 answers, and it is"
    ):
        asked.price(asked.question("a = 5 and b = 5", 1.0, 0.05))


def test_what_follows_from_a_full_history_is_still_answered(tmp_path: Path) -> None:
    asked = asking(tmp_path, most_answers=2)
    ask(asked, "sex = f", 30.0)
    ask(asked, "sex = m", 30.0)
    assert ask(asked, "all", 100.0).outcome == "derived"
    with pytest.raises(ValueError, match="at most 2 answers"):
        ask(asked, "income < 10", 30.0)


def test_the_estimate_uses_what_was_drawn_and_nothing_else(tmp_path: Path) -> None:
    asked = asking(tmp_path)
    draws: list[int] = []
    asked._draw = lambda scale: draws.append(scale) or 3 * 2**128  # type: ignore[func-returns-value]
    assert ask(asked, "sex = f", 30.0).estimate == 30 + 3
    combined = ask(asked, "sex = f", 10.0)
    assert combined.estimate == pytest.approx(33.0)
    assert len(draws) == 2


@pytest.mark.slow
def test_answers_through_the_account_follow_the_law_by_chi_square(
    tmp_path: Path,
) -> None:
    """Noise of fresh answers to one cell, as the account returns them; and not one half
    as wide.
    """
    opened(tmp_path, "100000")
    asked = asking(tmp_path, bound=1e6, policy=Policy(inference=False))
    law, noise = NoiseLaw([10.0 / math.log(20.0)]), []
    for _ in range(300):
        got = ask(asked, "sex = f", 20.0)
        noise.append((got.estimate or 0.0) - 30.0)
    for wrong, holds in ((1.0, True), (2.0, False)):
        ranks = np.array([law.tail(z / wrong) for z in noise])
        seen = np.bincount((ranks * 10).astype(int), minlength=10)
        statistic = float(((seen - 30) ** 2 / 30).sum())
        assert (statistic < 40) == holds  # 9 degrees of freedom: once in 10^5


@pytest.mark.parametrize("kind", ["fresh", "derived"])
def test_intervals_hold_the_truth_as_often_as_promised(kind: str) -> None:
    """At .90, over 2,000 histories, by decision and state; the noise is simulated."""
    rng, held, runs = np.random.default_rng(5), 0, 2000
    x, delta = np.array(COUNTS, dtype=float), 0.1
    rows = [
        np.array(r, float) for r in ([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1] * 6)
    ]
    target, length = np.array([0.0, 0, 0, 0, 1, 1]), 30.0 if kind == "fresh" else 300.0
    state = empty_state(6, Policy())
    made = []
    for row in rows:
        one = decide(state, row, 40.0, delta, 1e6)
        made.append(one)
        state = state.after(row, as_float(one.scale_units), 0.0)
    last = decide(state, target, length, delta, 1e6)
    assert last.outcome == kind
    assert last.law is not None
    half = last.law.half_width(delta)
    scales = np.array([as_float(one.scale_units) for one in made])
    for _ in range(runs):
        y = np.array([row @ x for row in rows]) + scales * rng.laplace(size=3)
        estimate = last.history_weights @ (y / scales)
        if kind == "fresh":
            fresh = target @ x + as_float(last.scale_units) * rng.laplace()
            estimate += last.fresh_share * fresh
        held += abs(estimate - target @ x) <= half
    error = math.sqrt(0.9 * 0.1 / runs)
    assert abs(held / runs - 0.9) <= 2 * error


def test_questions_by_value_share_the_budget(tmp_path: Path) -> None:
    asked = asking(tmp_path)
    wish = Wish(question="2 * (all) - (sex = m)", length=20.0, by="income", request="a")
    each = list(asked.questions(wish))
    assert each[0].text == "(2 * (all) - (sex = m)) and income = 0 to 10"
    assert [one.request for one in each] == ["a", "a#1", "a#2"]
    np.testing.assert_array_equal(each[1].query, [0, 0, 2, 1, 0, 0])
    costs = [asked.ask(one).cost for one in each]
    assert costs[0] > 0
    assert costs[1:] == [0.0, 0.0]
    assert (
        len(list(asked.questions(Wish(question="sex = f", length=20.0, by="sex")))) == 1
    )
    with pytest.raises(
        ValueError, match=r"by must be an attribute of the cube \(income, sex\)"
    ):
        asked.questions(Wish(question="all", length=20.0, by="age"))
