"""The history beside its ledger: in step with other processes, and unharmed by failures."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.queries import QueryServer


def history(path):
    return QueryServer([10, 20, 30], 5.0, ledger=path)._history


def written(one, query, answer):
    with one.writing():
        entry = one.ledger.append("x", np.array(query), 2**130, answer)
    one.accept(entry)
    return entry


def test_two_histories_of_a_ledger_are_in_step(tmp_path):
    one, other = history(tmp_path / "l"), history(tmp_path / "l")
    written(one, [1.0, 0.0, 0.0], 5)
    written(other, [0.0, 1.0, 0.0], 6)
    one.catch_up()
    assert [entry.answer for entry in one.entries] == [5, 6]
    assert [entry.answer for entry in other.entries] == [5, 6]
    assert one.spent == other.spent == pytest.approx(0.25)


def test_a_failure_under_the_lock_leaves_everything_as_it_was(tmp_path):
    one, other = history(tmp_path / "l"), history(tmp_path / "l")
    written(other, [1.0, 0.0, 0.0], 5)
    before = one.state

    def failing():
        with one.writing():
            # What the other process has written was taken in, and is let go again.
            assert len(one.entries) == 1
            one.ledger.append("x", np.array([0.0, 1.0, 0.0]), 2**130, 6)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        failing()
    assert one.state is before
    assert (one.entries, one.ledger.last, one.ledger.locked) == ([], 0, False)
    written(one, [0.0, 0.0, 1.0], 7)
    other.catch_up()
    assert [entry.answer for entry in other.entries] == [5, 7]


def test_what_is_remembered_needs_the_lock(tmp_path):
    one = history(tmp_path / "l")
    with pytest.raises(RuntimeError, match="remember must be called inside writing"):
        one.ledger.remember("a", "asked", "reply")
    with one.writing():
        one.ledger.remember("a", "asked", "reply")
    assert history(tmp_path / "l").ledger.remembered("a") == ("asked", "reply")
    assert one.known("a", "a", "asked")
    assert not one.known("b", "b", "asked")
    with pytest.raises(ValueError, match="got 'a', under which"):
        one.known("a", "a", "another")
