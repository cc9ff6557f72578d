"""The online system as a state machine, and its decisions."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dpbayes import queries

EXAMPLE = queries.worked_example()


class Asking(RuleBasedStateMachine):
    """Two servers over different data get the same questions with the same seed."""

    @initialize(
        neighbours=st.sampled_from(["add-remove", "replace-one"]),
        spending=st.sampled_from(["smallest", "direct"]),
        accounting=st.sampled_from(["cells", "sequential"]),
    )
    def start(self, neighbours: str, spending: str, accounting: str) -> None:
        policy = {"neighbours": neighbours, "spending": spending, "accounting": accounting}
        self.servers = [
            queries.QueryServer.simulated(x, 1.0, np.random.default_rng(1), **policy)
            for x in (np.zeros(6, int), np.arange(6) * 100)
        ]
        self.neighbours = neighbours

    @rule(
        low=st.integers(0, 5),
        width=st.integers(1, 5),
        L=st.floats(1.0, 200.0),
        delta=st.floats(0.01, 0.9),
    )
    def ask(self, low: int, width: int, L: float, delta: float) -> None:
        q = np.zeros(6)
        q[low : low + width] = 1.0
        spent = self.servers[0].spent
        one, other = (server.ask(q, L, delta) for server in self.servers)
        assert (one.outcome, one.cost, one.spent) == (other.outcome, other.cost, other.spent)
        if one.outcome == "rejected":
            assert one.estimate is None
            assert one.interval is None
        else:
            assert one.interval is not None
            assert one.interval.length <= L * (1 + 1e-9)
        if one.outcome != "fresh":
            assert one.cost == 0.0
            assert self.servers[0].spent == spent

    @invariant()
    def within_the_bound(self) -> None:
        if not hasattr(self, "servers"):
            return
        server = self.servers[0]
        assert server.spent <= 1.0
        if server.entries and server.policy.accounting == "cells":
            H = [entry.query for entry in server.entries]
            b = [entry.scale / 2**128 for entry in server.entries]
            exact = queries.cost_of_scales(H, b, self.neighbours)
            assert exact <= server.spent * (1 + 1e-15)


Asking.TestCase.settings = settings(max_examples=15, stateful_step_count=10, deadline=None)
TestAsking = Asking.TestCase


def test_a_derived_answer_is_blue_of_the_ledger() -> None:
    rng = np.random.default_rng(2)
    server = queries.QueryServer.simulated(EXAMPLE.x, 50.0, rng)
    for q in EXAMPLE.H:
        server.ask(q, 30.0, 0.05)
    H = np.array([entry.query for entry in server.entries])
    b = np.array([entry.scale / 2**128 for entry in server.entries])
    y = np.array([entry.answer / 2**128 for entry in server.entries])
    best = queries.blue(H, b, EXAMPLE.q)
    answer = server.ask(EXAMPLE.q, 1e4, 0.05)
    assert answer.outcome == "derived"
    assert answer.estimate == pytest.approx(float(best.estimate(y)), rel=1e-9)
    law = queries.NoiseLaw(best.noise_weights)
    assert answer.interval is not None
    assert answer.interval.length == pytest.approx(2 * law.half_width(0.05), rel=1e-9)
    weights = {source.number: source.weight for source in answer.sources}
    for i, weight in enumerate(best.weights, start=1):
        assert weights.get(i, 0.0) == pytest.approx(weight, abs=1e-9)
    assert sum(source.variance_share for source in answer.sources) == pytest.approx(1.0)


def test_fresh_answers_use_the_history_and_cost_less() -> None:
    rng = np.random.default_rng(3)
    with_history = queries.QueryServer.simulated(EXAMPLE.x, 10.0, rng)
    without = queries.QueryServer.simulated(EXAMPLE.x, 10.0, rng, inference=False)
    for server in (with_history, without):
        server.ask(EXAMPLE.q, 60.0, 0.05)
    cheap, dear = (s.ask(EXAMPLE.q, 40.0, 0.05) for s in (with_history, without))
    assert cheap.outcome == dear.outcome == "fresh"
    assert cheap.cost < dear.cost
    assert dear.cost == pytest.approx(queries.budget(1.0, 40.0, 0.05))
    assert cheap.interval is not None
    assert cheap.interval.length == pytest.approx(40.0, rel=1e-8)


def test_intervals_hold_their_confidence_over_a_stream() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 50, 12)
    held = []
    for _ in range(100):
        server = queries.QueryServer.simulated(x, 5.0, rng)
        for q in queries.random_ranges((12,), 5, rng):
            answer = server.ask(q, 30.0, 0.2)
            if answer.interval is not None:
                held.append(answer.interval.low <= q @ x <= answer.interval.high)
    share = np.mean(held)
    # Answers of one stream share noise, so the spread is that of streams, not of answers.
    assert share == pytest.approx(0.8, abs=6 * np.sqrt(0.16 / 100))
    assert len(held) > 400


def test_outcomes_depend_on_length_and_bound_only_through_their_product() -> None:
    def outcomes(L: float, bound: float) -> list[str]:
        rng = np.random.default_rng(6)
        server = queries.QueryServer.simulated(np.ones(16, int), bound, rng)
        stream = queries.random_ranges((16,), 30, np.random.default_rng(7))
        return [server.ask(q, L, 0.05).outcome for q in stream]

    base = outcomes(40.0, 1.0)
    assert base == outcomes(80.0, 0.5) == outcomes(20.0, 2.0)
    assert set(base) == {"derived", "fresh", "rejected"}
    assert base != outcomes(40.0, 2.0)


def test_rejected_questions_cost_nothing_and_do_not_block_smaller_ones() -> None:
    server = queries.QueryServer([5, 6, 7], 0.5)
    refused = server.ask("cell < 2", 1.0, 0.05)
    assert refused.outcome == "rejected"
    assert refused.remaining == 0.5
    assert server.ask("cell < 2", 30.0, 0.05).outcome == "fresh"


def test_disjoint_questions_share_the_bound_only_under_cell_accounting() -> None:
    def answered(accounting: str) -> int:
        server = queries.QueryServer(np.ones(8, int), 0.3, accounting=accounting)
        return sum(server.ask(row, 20.0, 0.05).outcome == "fresh" for row in np.eye(8))

    assert answered("cells") == 8
    assert answered("sequential") == 1


def test_replace_one_charges_for_differences() -> None:
    server = queries.QueryServer([5, 6, 7], 1.0, neighbours="replace-one")
    answer = server.ask([1.0, -1.0, 0.0], 40.0, 0.05)
    assert answer.cost == pytest.approx(queries.budget(2.0, 40.0, 0.05))
    with pytest.raises(ValueError, match="its answer is public"):
        server.ask([1.0, 1.0, 1.0], 40.0, 0.05)


def test_real_answers_differ_from_run_to_run() -> None:
    estimates = {queries.QueryServer([5, 6], 1.0).ask("all", 40.0, 0.05).estimate for _ in range(5)}
    assert len(estimates) == 5


@pytest.mark.parametrize(
    ("q", "L", "delta", "error", "message"),
    [
        ([1.0, 1.0], 10.0, 0.05, ValueError, "each of the 3 cells, got 2"),
        ([1.0, np.nan, 0.0], 10.0, 0.05, ValueError, "query must be finite"),
        ([0.0, 0.0, 0.0], 10.0, 0.05, ValueError, "all zeros"),
        ([True, False, False], 10.0, 0.05, TypeError, "real numbers"),
        ("cell >= 7 and", 10.0, 0.05, ValueError, "an attribute must stand here"),
        ("cell >= 7", 10.0, 0.05, ValueError, "all zeros"),
        ([1.0, 0.0, 0.0], 0.0, 0.05, ValueError, "L must be positive"),
        ([1.0, 0.0, 0.0], np.inf, 0.05, ValueError, "L must be finite"),
        ([1.0, 0.0, 0.0], 10.0, 0.0, ValueError, "delta must lie strictly"),
        ([1.0, 0.0, 0.0], 10.0, 1.0, ValueError, "delta must lie strictly"),
        ([1.0, 0.0, 0.0], 10.0, "x", TypeError, "delta must be a real number"),
        ([1.0, 0.0, 0.0], 1e-9, 0.05, ValueError, "noise scale must lie between"),
    ],
)
def test_bad_questions_change_nothing(
    q: object, L: float, delta: float, error: type[Exception], message: str
) -> None:
    server = queries.QueryServer([5, 6, 7], 1.0)
    server.ask([1.0, 0.0, 0.0], 60.0, 0.05)
    state, spent = server._history.state, server.spent
    with pytest.raises(error, match=message):
        server.ask(q, L, delta)  # type: ignore[arg-type]
    assert server._history.state is state
    assert server.spent == spent


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bound": 0.0}, ValueError, "bound must be positive"),
        ({"bound": -1.0}, ValueError, "bound must be positive"),
        ({"bound": True}, TypeError, "bound must be a real number"),
        ({"neighbours": "swap"}, ValueError, "neighbours must be one of"),
        ({"accounting": "zcdp"}, ValueError, "accounting must be one of"),
        ({"spending": "all"}, ValueError, "spending must be one of"),
        ({"inference": "yes"}, TypeError, "inference must be True or False"),
        ({"cube": [1, -1]}, ValueError, "whole numbers"),
    ],
)
def test_bad_servers(options: dict[str, object], error: type[Exception], message: str) -> None:
    chosen = {"cube": [1, 2], "bound": 1.0, **options}
    with pytest.raises(error, match=message):
        queries.QueryServer(chosen.pop("cube"), chosen.pop("bound"), **chosen)  # type: ignore[arg-type]


def test_simulated_servers_keep_no_ledger_and_need_a_generator() -> None:
    rng = np.random.default_rng()
    with pytest.raises(ValueError, match="its noise is seeded"):
        queries.QueryServer.simulated([1, 2], 1.0, rng, ledger="spend.sqlite")
    with pytest.raises(TypeError, match="rng must be a numpy"):
        queries.QueryServer.simulated([1, 2], 1.0, 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "count"), [((8, 8), 60), ((10, 20), 60), ((36, 40), 24)])
def test_questions_asked_again_are_derived(shape: tuple[int, int], count: int) -> None:
    """An old answer alone carries the estimate; rounding leaves dust on all the other weights."""
    rng = np.random.default_rng(count)
    questions = queries.random_ranges(shape, count, rng)
    cells = shape[0] * shape[1]
    server = queries.QueryServer.simulated(np.zeros(cells, int), 1e9, rng)
    lengths = 10.0 ** rng.uniform(1, 3, count)
    for q, length in zip(questions, lengths, strict=True):
        assert server.ask(q, float(length), 0.05).outcome in ("fresh", "derived")
    for q, length in zip(questions, lengths, strict=True):
        again = server.ask(q, float(length) * 1.001, 0.05)
        assert again.outcome == "derived"
        assert again.interval is not None
        assert 0.0 < again.interval.length <= 1.001 * length


def test_a_full_history_takes_no_more_answers_and_still_derives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.QueryServer, "most_coefficients", 7)
    server = queries.QueryServer([10, 20, 30], bound=1.0, ledger=tmp_path / "spend.sqlite")
    assert server.ask("all", L=100.0, delta=0.05).outcome == "fresh"
    assert server.ask("cell = 1", L=100.0, delta=0.05).outcome == "fresh"
    spent = server.spent
    for ask in (server.ask, server.price):
        with pytest.raises(ValueError, match="at most 7 coefficients, got 9 for 3 answers over 3"):
            ask("cell = 0", L=100.0, delta=0.05)
    assert server.spent == spent
    assert server.ask("cell != 1", L=300.0, delta=0.05).outcome == "derived"
    server.close()
    again = queries.QueryServer([10, 20, 30], bound=1.0, ledger=tmp_path / "spend.sqlite")
    assert len(again.entries) == 2
