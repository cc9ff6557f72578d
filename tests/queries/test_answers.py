"""An answer beside the ledger it came from: weights, shares, and what is None when."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpbayes import queries

CELLS = 6


@pytest.fixture
def server():
    made = queries.QueryServer.simulated(np.arange(6) * 100, 5.0, np.random.default_rng(7))
    for low in range(0, CELLS, 2):
        made.ask(f"cell >= {low} and cell < {low + 2}", 40.0, 0.05)
    return made


def test_the_sources_make_up_the_estimate(server):
    answer = server.ask("all", 150.0, 0.05)
    assert answer.outcome == "derived"
    entries = {entry.number: entry for entry in server.entries}
    total = sum(s.weight * entries[s.number].answer / 2**128 for s in answer.sources)
    assert total == pytest.approx(answer.estimate, rel=1e-12)
    assert [s.label for s in answer.sources] == [entries[s.number].label for s in answer.sources]
    assert sum(s.variance_share for s in answer.sources) == pytest.approx(1.0)
    # Each share is the answer's part of the variance 2 (A b)^2, summed here by hand.
    parts = [2 * (s.weight * entries[s.number].scale / 2**128) ** 2 for s in answer.sources]
    shares = [s.variance_share for s in answer.sources]
    assert shares == pytest.approx([part / sum(parts) for part in parts])


def test_a_fresh_answer_says_what_it_was_combined_from(server):
    answer = server.ask("all", 50.0, 0.05)
    assert (answer.outcome, answer.number) == ("fresh", 4)
    assert 4 not in {source.number for source in answer.sources}
    rest = 1.0 - sum(source.variance_share for source in answer.sources)
    assert 0.0 < rest < 1.0
    low, high = answer.interval.low, answer.interval.high
    assert answer.estimate == pytest.approx(0.5 * (low + high))
    assert answer.remaining == server.bound - answer.spent


def test_a_rejection_has_no_number_and_cannot_be_changed(server):
    answer = server.ask("cell < 1", 0.01, 0.05)
    nothing = (answer.estimate, answer.interval, answer.number, answer.sources, answer.cost)
    assert nothing == (None, None, None, (), 0.0)
    assert answer.affordable > 0.01
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.estimate = 1.0
