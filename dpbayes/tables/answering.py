"""Questions about a cube, answered from the history of its table's account or paid from
it.

The account is the history: every fresh answer is a spend in it with query, scale and
noisy answer. Order of an answer: decide, reserve its price durably, draw, keep the
draw, answer. Whoever finds a spend without a draw, because a process ended there, draws
it before deciding anything.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpbayes._validate import frozen, open_unit, positive
from dpbayes.tables.account import Account
from dpbayes.tables.attributes import Cube
from dpbayes.tables.decision import (
    Decision,
    Policy,
    State,
    decide,
    empty_state,
    shortest_affordable,
)
from dpbayes.tables.entries import Entry
from dpbayes.tables.files import MOST_ANSWERS, CubeFile
from dpbayes.tables.noise import as_float, on_grid, system_noise, true_answer
from dpbayes.tables.predicate import Answer, Question, Wish, coefficients
from dpbayes.tables.rules import Rules
from dpbayes.tables.table import read

# returns what the payer may still spend, when it is needed
Most = Callable[[], Fraction] | None


class Answering:
    r"""Answers questions about counts, each fresh answer paid from an account.

    For all tables x, x' that are neighbours under the account's relation and unit, and
    every set B of answers and refusals, P[B | x] <= e^bound P[B | x'], also when later
    questions depend on earlier answers; the account bounds all cubes and releases
    together. There is no seed. What is done, what it costs and what is said of it are
    the same for all tables.

    `bound` > 0 in the account's epsilon; `rules` say which rows count; `table` is the
    account's mark of the table's version. `policy` counts in a relation of its own, by
    default the account's. `smallest_price` of a fresh answer keeps cheap questions from
    filling the history of `most_answers`. Threads may share this, processes the
    account. E, section 5, Figure 4; durability and the grid are ours;
    `alg-query-server`.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from dpbayes.tables import Categories, Unit, create_account
    >>> cube = Cube((Categories("sex", ("f", "m")),), [30, 60])
    >>> with tempfile.TemporaryDirectory() as name:
    ...     with patch.dict(os.environ, DPBAYES_KEYS=name):
    ...         table, place = Path(name) / "people.csv", Path(name) / "a"
    ...         _ = table.write_text("sex\n" + 30 * "f\n" + 60 * "m\n")
    ...         a = create_account(place, "p", "1", table, Unit(), "add-or-remove")
    ...         asked = Answering(cube, a, bound=1.0)
    ...         first = asked.ask(asked.question("sex = f", 40.0, 0.05))
    ...         again = asked.ask(asked.question("sex = f", 50.0, 0.05))  # an Answer
    >>> first.outcome, round(first.cost, 6), again.outcome, again.cost
    ('fresh', 0.149787, 'derived', 0.0)
    """

    def __init__(
        self,
        cube: Cube,
        account: Account,
        bound: float,
        *,
        rules: Rules | None = None,
        policy: Policy | None = None,
        table: str = "",
        smallest_price: Fraction = Fraction(0),
        most_answers: int = MOST_ANSWERS,
    ) -> None:
        self.cube, self.account, self.bound = cube, account, positive("bound", bound)
        self.rules, self.table = rules or Rules(account.unit), table
        chosen = policy or Policy(neighbours=account.neighbours)
        self.policy = replace(chosen, dropped=self.rules.drops)
        self._factor = account.factor(self.policy.neighbours)
        self._smallest, self._most_answers = smallest_price, most_answers
        # What answers are about: never the counts, which would tell two tables apart.
        terms = [table, cube.statement(), self.rules.statement()]
        terms += [self.policy.neighbours, self.policy.accounting]
        self._mark = account.mark(json.dumps(terms).encode())
        self._lock = threading.RLock()
        self._draw: Callable[[int], int] = system_noise
        self._state = empty_state(cube.counts.size, self.policy)
        self._last = -1  # the account's entry of the last answer in the state
        self._catch_up()

    @property
    def converted(self) -> str:
        """What is to be said where the cube counts in another relation than its
        account, "" where not.
        """
        theirs, ours = self.policy.neighbours, self.account.neighbours
        if theirs == ours:
            return ""
        return (
            f"neighbours = {theirs!r} in the cube file is not the account's relation,"
            f" {ours!r}: every price is twice that of {theirs!r}. Without the line it"
            " is often half of that"
        )

    def question(
        self,
        text: str,
        length: float,
        delta: float,
        payer: str = "",
        request: str | None = None,
    ) -> Question:
        """Return a question, checked without looking at the history."""
        query = on_grid(coefficients(text, self.cube.attributes), self.cube.counts.size)
        wanted, missing = positive("length", length), open_unit("delta", delta)
        return Question(text, query, wanted, missing, payer, request)

    def questions(self, wish: Wish, payer: str = "") -> Iterator[Question]:
        """Return the questions of a wish, one for each text and value of `by`, with ids
        a, a#1, ...; all are checked before the first one is asked.
        """
        names = [one.name for one in self.cube.attributes]
        if wish.by is not None and wish.by not in names:
            known = ", ".join(names)
            raise ValueError(
                f"by must be an attribute of the cube ({known}), got {wish.by!r}"
            )
        for text in wish.texts:
            self.question(text, wish.length, 1.0 - wish.confidence)
        return self._each(wish, payer)

    def _each(self, wish: Wish, payer: str) -> Iterator[Question]:
        number = 0
        for text in wish.texts:
            whole = self.question(text, wish.length, 1.0 - wish.confidence, payer)
            for one in [whole] if wish.by is None else self._by(whole, wish.by):
                request = f"{wish.request}#{number}" if number else wish.request
                yield replace(one, request=request if wish.request else None)
                number += 1

    def _by(self, whole: Question, name: str) -> Iterator[Question]:
        """Yield a question about each value of an attribute, made when it is wanted."""
        attributes, shape = self.cube.attributes, self.cube.shape
        axis = [one.name for one in attributes].index(name)
        cells = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        boxes = whole.query.reshape(cells)
        for i, label in enumerate(attributes[axis].labels):
            if boxes[:, i].any():
                query = np.zeros_like(boxes)
                query[:, i] = boxes[:, i]
                text = f"({whole.text}) and {name} = {label}"
                yield replace(whole, text=text, query=frozen(query.reshape(-1)))

    def price(self, question: Question, most: Most = None) -> Answer:
        """Return what `ask` would do and charge; nothing is drawn or spent."""
        return next(self.prices([question], most))

    def prices(
        self, questions: Iterable[Question], most: Most = None
    ) -> Iterator[Answer]:
        """Yield what would be done with each question, and charged, if all before it
        were asked first; nothing is drawn or spent.
        """
        with self._lock:
            self._catch_up()
            state, left = self._state, self._payable(most)
        for question in questions:
            made, cost, offer = self._decided(state, question, left)
            would = replace(_answer(offer), estimate=None, interval=None)
            if made.outcome == "fresh":
                state = state.after(question.query, as_float(made.scale_units), 0.0)
                left -= cost
            yield would

    def ask(self, question: Question, most: Most = None) -> Answer:
        """Return an answer with a short enough interval, paid with `most` of the
        account's epsilon.

        What was paid under a `request` the same question gets again; another one raises
        ValueError.
        """
        name = f"answer-{question.payer}-{question.request or secrets.token_hex(12)}"
        for _ in range(100):
            with self._lock:
                answer = self._answered(question, name, most)
            if answer is not None:
                return answer
        raise ValueError(
            "the account is written by others without pause: nothing was spent"
        )

    def _answered(self, question: Question, name: str, most: Most) -> Answer | None:
        """Answer under the lock; None where the account has moved on since."""
        # Before the history is read: what is bought after it must change the decision.
        seen = len(self.account.entries)
        self._catch_up()
        asked = json.dumps([question.text, question.length, question.delta])
        before = self.account.spend(name, self.table)
        if before is not None:
            said, drawn = before.fields, self.account.result(name, self.table)
            if (said.get("cube"), said.get("asked")) != (self._mark, asked):
                got = f"got {question.request!r}, under which something else was asked"
                raise ValueError(f"request must be a new id for a new question, {got}")
            return None if drawn is None else _answer(said["offer"], int(drawn, 0))
        left = self._payable(most)
        decision, cost, offer = self._decided(self._state, question, left)
        if decision.outcome == "derived":
            return _answer(offer)
        if decision.outcome == "rejected":
            return _answer(offer) if len(self.account.entries) == seen else None
        packed = base64.b64encode(
            zlib.compress(question.query.astype("<f8").tobytes())
        ).decode()
        more = {"cube": self._mark, "asked": asked, "offer": offer, "query": packed}
        more |= {"scale": hex(decision.scale_units)}
        self.account.reserve(
            name,
            cost,
            question.text,
            table=self.table,
            payer=question.payer,
            seen=seen,
            more=more,
        )
        # paid, and drawn at the next look; or overtaken, to be decided anew
        return None

    def _payable(self, most: Most) -> Fraction:
        """Return what the payer can still spend."""
        left = self.account.balance
        return left if most is None else min(most(), left)

    def _decided(
        self, state: State, question: Question, left: Fraction
    ) -> tuple[Decision, Fraction, dict[str, Any]]:
        """Return what is to be done, what the account is charged, and what is offered
        for it.
        """
        query, delta, history = question.query, question.delta, state.scales.size
        spent, cost = Fraction(state.spent), Fraction(0)
        bound = Fraction(self.bound) / self._factor
        limit = math.nextafter(float(spent + left / self._factor), 0.0)
        if bound <= Fraction(limit):
            limit = float(bound)
            limit = limit if Fraction(limit) <= bound else math.nextafter(limit, 0.0)
        made = decide(state, query, question.length, delta, limit)
        if made.outcome == "fresh":
            if history >= self._most_answers:
                raise ValueError(
                    f"the history must hold at most {self._most_answers} answers, and"
                    " it is full; only what follows from them is answered, at no cost:"
                    " ask for a longer interval"
                )
            then = Fraction(state.spent_after(query, as_float(made.scale_units)))
            cost = max((then - spent) * self._factor, self._smallest)
            if cost <= left:
                spent, history = then, history + 1
            else:
                made, cost = made._replace(outcome="rejected", law=None), Fraction(0)
        whose = self.account.unit.differ_by(self.account.neighbours)
        offer = {
            "question": question.text,
            "outcome": made.outcome,
            "confidence": 1.0 - delta,
            "cost": float(cost),
            "epsilon_for": whose,
            "spent": float(spent * self._factor),
            "left": float(
                max(Fraction(self.bound) - spent * self._factor, Fraction(0))
            ),
            "left_of": "this cube's bound",
            "history": history,
        }
        if made.law is None:
            shortest = shortest_affordable(state, query, delta, limit)
            return made, cost, offer | {"affordable": shortest}
        known = float(made.history_weights @ state.scaled_answers)
        half = made.law.half_width(delta)
        offer |= {"known": known, "share": made.fresh_share, "half": half}
        return made, cost, offer

    def _catch_up(self) -> None:
        """Take in what the account holds since the last look, and draw what was paid
        and not.
        """
        for spend, drawn in self.account.history(self._mark, self._last):
            said = spend.fields
            content = zlib.decompress(base64.b64decode(said["query"]))
            query = frozen(np.frombuffer(content, "<f8").astype(float))
            scale = int(said["scale"], 0)
            if drawn is None:
                fresh = true_answer(query, self.cube.counts) + self._draw(scale)
                drawn = self.account.keep(spend.request, hex(fresh))
            answer = as_float(int(drawn, 0))
            self._state = self._state.after(query, as_float(scale), answer)
            self._last = spend.sequence


def answer_of(spend: Entry, drawn: str | None) -> Answer | None:
    """Return the answer that was paid for, as its analyst got it; None for a release,
    and where nothing is drawn yet.
    """
    if drawn is None or "offer" not in spend.fields:
        return None
    return _answer(spend.fields["offer"], int(drawn, 0))


def _answer(offer: Mapping[str, Any], value: int = 0) -> Answer:
    """Return what was offered, with a fresh draw."""
    told, estimate, interval = dict(offer), None, None
    if "known" in told:
        estimate = told.pop("known") + told.pop("share") * as_float(value)
        half = told.pop("half")
        interval = (estimate - half, estimate + half)
    return Answer(estimate=estimate, interval=interval, **told)


def open_answering(
    cube_file: str | Path, account: Account, show_values: bool = False, **others: Any
) -> Answering:
    """Return what answers questions about a cube file, or AccountError.

    `show_values` prints a value that the cube does not declare.
    """
    declared = CubeFile.read(cube_file)
    account.require_unit(declared.unit)
    mark = account.check_table(declared.source)
    rules, relation = declared.rules, declared.neighbours or account.neighbours
    policy = Policy(neighbours=relation)
    account.factor(relation)
    counts, digest = read(declared.source, declared.attributes, rules, show_values)
    account.check_reading(declared.source, mark, digest)
    cube, bound = Cube(declared.attributes, counts), declared.bound
    return Answering(
        cube, account, bound, rules=rules, policy=policy, table=mark, **others
    )
