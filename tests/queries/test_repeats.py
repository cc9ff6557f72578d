"""Questions under an id: what they are called, what counts as the same, answers as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbayes.queries import QueryServer
from dpbayes.queries.repeats import (
    Question,
    answer_from,
    answer_text,
    checked_request,
    question_of,
)

ONE = Question("all", np.ones(3), 40.0, 0.05, payer="anna", request="a")


def test_the_same_text_for_the_same_question_only():
    changes = [
        {"label": "cell < 3"},
        {"query": np.array([1.0, 1.0, 0.0])},
        {"L": np.nextafter(40.0, 41.0)},
        {"delta": 0.06},
        {"consistent": True},
    ]
    texts = {replace(ONE, **change).asked for change in changes}
    assert len(texts | {ONE.asked}) == len(changes) + 1
    assert replace(ONE, query=np.ones(3)).asked == ONE.asked
    # Who pays and how much is no part of the question.
    assert replace(ONE, payer="ben", most=None).asked == ONE.asked
    assert replace(ONE, payer="ben").name != ONE.name
    again = question_of("all", np.ones(3), ONE.asked)
    assert (again.L, again.delta, again.consistent) == (40.0, 0.05, False)
    assert (replace(ONE, request=None).name, replace(ONE, request=None).asked) == ("", "")


@pytest.mark.parametrize("bad", ["", "-a", "a b", "a#1", "x" * 65, "ä", "a\n", None, 3])
def test_what_is_no_id(bad):
    with pytest.raises(ValueError, match="request must be 1 to 64 letters"):
        checked_request(bad)


def test_a_part_of_an_id():
    assert checked_request("a.b-c_1") == "a.b-c_1"
    assert checked_request("a#12", parts=True) == "a#12"
    for bad in ("a#", "#1", "a#1#2", "a#b"):
        with pytest.raises(ValueError, match="request must be"):
            checked_request(bad, parts=True)


def test_every_kind_of_answer_comes_back_as_it_was():
    server = QueryServer([10, 20, 30], bound=0.5)
    asked = [("cell < 2", 40.0, True), ("cell < 2", 30.0, False), ("all", 1.0, False)]
    answers = [server.ask(q, L, 0.05, consistent=c) for q, L, c in asked]
    answers.append(server.ask("cell < 2", 50.0, 0.05))
    assert {one.outcome for one in answers} == {"fresh", "derived", "rejected"}
    assert [answer_from(answer_text(one)) for one in answers] == answers


def test_a_server_with_no_account_repeats_too(tmp_path):
    first = QueryServer([10, 20, 30], 1.0, ledger=tmp_path / "l")
    told = first.ask([1.0, 0.0, 0.0], 40.0, 0.05, request="a")
    first.ask([1.0, 0.0, 0.0], 30.0, 0.05)
    first.close()
    again = QueryServer([10, 20, 30], 1.0, ledger=tmp_path / "l")
    spent = again.spent
    assert again.ask([1.0, 0.0, 0.0], 40.0, 0.05, request="a") == told
    for q, L in (([0.0, 1.0, 0.0], 40.0), ([1.0, 0.0, 0.0], 41.0)):
        with pytest.raises(ValueError, match="request must be a new id for a new question"):
            again.ask(q, L, 0.05, request="a")
    again.bind("each", "these")
    again.bind("each", "these")
    with pytest.raises(ValueError, match="under which something else was asked"):
        again.bind("each", "others")
    assert again.spent == spent
