"""One quick witness for each small thing on which money or a promise depends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbayes.commands.plan import price
from dpbayes.tables.decision import Policy, decide, empty_state
from dpbayes.tables.keys import connected
from dpbayes.tables.noise import as_float
from tests.tables.clinic import PLAN, planned, released


def test_what_is_spent_is_on_the_disk_before_an_answer_leaves(purse: Path) -> None:
    with connected(purse / "new.account", new=True) as connection:
        (level,) = connection.execute("PRAGMA synchronous").fetchone()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    assert (level, journal) == (3, "delete")  # 3 is EXTRA: the folder is synced, too


def test_a_plan_that_the_account_cannot_pay_says_so(clinic: Path) -> None:
    assert price(planned(clinic, PLAN)) == ("0.5 of the 1.2 left", True)
    dear = price(planned(clinic, PLAN.replace('"0.5"', '"1.3"')))
    assert dear == ("1.3 of the 1.2 left, not enough", False)
    said, enough = price(planned(clinic, PLAN.replace('"0.5"', '"1.2"')))
    assert enough
    assert "not enough" not in said


def test_what_a_release_says_it_cost_is_no_less_and_what_is_left_no_more(
    clinic: Path,
) -> None:
    paid = released(clinic, PLAN.replace('"0.5"', '"1/3"'))
    exact = replace(
        paid, cost=Fraction(1, 3), balance=Fraction(2, 3), bound=Fraction(10, 7)
    )
    said = exact.record()
    assert (
        Fraction(said["cost"])
        > Fraction(1, 3)
        > Fraction(said["cost"]) - Fraction(1, 10**12)
    )
    assert Fraction(said["epsilon"]) > Fraction(1, 3)
    assert Fraction(said["balance"]) < Fraction(2, 3)
    assert Fraction(said["bound"]) < Fraction(10, 7)


@pytest.mark.parametrize("accounting", ["cells", "sequential"])
def test_what_a_history_has_lost_is_rounded_up(accounting: str) -> None:
    rng, state = np.random.default_rng(1), empty_state(2, Policy(accounting=accounting))
    exact = Fraction(0)
    for scale in rng.uniform(3.0, 300.0, 60):
        query = np.array([3.0, 1.0])  # the first cell changes an answer most
        state = state.after(query, float(scale), 0.0)
        one = Fraction(3) / Fraction(float(scale))
        alone = empty_state(2, Policy()).spent_after(query, float(scale))
        assert Fraction(alone) >= one
        exact += one
        assert Fraction(state.spent) >= exact
    assert state.spent == pytest.approx(float(exact), rel=1e-12)


def test_no_answer_costs_more_than_the_bound() -> None:
    bound = 0.1
    state = empty_state(2, Policy())
    found = [
        decide(state, np.ones(2), float(length), 0.05, bound)
        for length in np.linspace(59.0, 61.0, 300)
    ]
    fresh = [made for made in found if made.outcome == "fresh"]
    assert 0 < len(fresh) < len(found)
    costs = [
        state.spent_after(np.ones(2), as_float(made.scale_units)) for made in fresh
    ]
    assert max(costs) <= bound
    assert max(costs) > 0.99 * bound


def test_an_answer_leaves_at_a_whole_tick(tmp_path: Path, purse: Path) -> None:
    """Whatever the work took, and also where it failed."""
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("starlette")
    from dpbayes.tables.service import Service
    from tests.tables.people import asking
    from tests.tables.test_service import ANALYSTS, ANNA, Clock, headers

    clock = Clock()
    service = Service(asking(tmp_path), ANALYSTS, 0.1, clock.now, clock.sleep)
    work = iter([0.013, 0.05, 0.099, 0.17])

    async def reply(path: str, analyst: Any, body: bytes) -> dict[str, Any]:
        clock.time += next(work)
        return {}

    service._reply = reply  # type: ignore[method-assign]
    times = []

    async def run() -> None:
        transport = httpx.ASGITransport(service.app)
        for _ in range(4):
            begun = clock.time
            sent = httpx.Request(
                "POST", "http://x/ask", content=b"{}", headers=headers(ANNA)
            )
            await transport.handle_async_request(sent)
            times.append(clock.time - begun)

    asyncio.run(run())
    assert times == pytest.approx([0.1, 0.1, 0.1, 0.2], abs=1e-9)
