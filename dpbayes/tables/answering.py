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
from collections.abc import Callable, Mapping
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
    decide,
    empty_state,
    shortest_affordable,
)
from dpbayes.tables.files import MOST_ANSWERS, CubeFile
from dpbayes.tables.noise import as_float, on_grid, system_noise, true_answer
from dpbayes.tables.predicate import Answer, Question, Wish, coefficients

# returns what the payer may still spend, when it is needed
Most = Callable[[], Fraction] | None


class Answering:
    r"""Answers questions about a cube of counts, each fresh answer paid from an
     account.

    For all tables x, x' that are neighbours under the cube's relation and every set B
    of answers and refusals, P[B | x] <= e^bound P[B | x'], also when later questions
    depend on earlier answers; the account bounds all cubes and releases together, for
    its own unit. There is no seed.

    `bound` > 0 on the cube's overall cost; `table` the account's fingerprint of the
    file; `smallest_price` of a fresh answer in the account's epsilon keeps cheap
    questions from filling the history of `most_answers`. Threads may share this,
    processes the account. E, section 5, Figure 4; durability and the grid are ours;
    `alg-query-server`.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from dpbayes.tables import Categories, Unit, create_account
    >>> cube = Cube((Categories("sex", ("f", "m")),), [30, 60])
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("sex\n" + 30 * "f\n" + 60 * "m\n")
    ...     a = create_account(Path(folder) / "a", "p", "1", table, Unit(), "add-or-remove")
    ...     asked = Answering(cube, a, bound=1.0)
    ...     first, again = (asked.ask(asked.question("sex = f", L, 0.05)) for L in (40.0, 50.0))
    >>> first.outcome, round(first.cost, 6), again.outcome, again.cost  # each is an Answer
    ('fresh', 0.149787, 'derived', 0.0)
    """

    def __init__(
        self,
        cube: Cube,
        account: Account,
        bound: float,
        *,
        policy: Policy | None = None,
        table: str = "",
        smallest_price: Fraction = Fraction(0),
        most_answers: int = MOST_ANSWERS,
    ) -> None:
        self.cube, self.account, self.bound = cube, account, positive("bound", bound)
        self.policy, self.table = policy or Policy(), table
        self._factor = account.factor(self.policy.neighbours)
        self._smallest, self._most_answers = smallest_price, most_answers
        terms = f"|{self.policy.neighbours}|{self.policy.accounting}"
        self._mark = account.mark(cube.content() + terms.encode())
        self._lock = threading.RLock()
        self._draw: Callable[[int], int] = system_noise
        self._state = empty_state(cube.counts.size, self.policy)
        self._last = -1  # the account's entry of the last answer in the state
        self._catch_up()

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

    def questions(self, wish: Wish, payer: str = "") -> list[Question]:
        """Return the questions of a wish, one for each value of `by`, with ids a, a#1,
        ...
        """
        given = wish.question, wish.length, 1.0 - wish.confidence, payer, wish.request
        whole = self.question(*given)
        if wish.by is None:
            return [whole]
        names = [one.name for one in self.cube.attributes]
        if wish.by not in names:
            known = ", ".join(names)
            raise ValueError(
                f"by must be an attribute of the cube ({known}), got {wish.by!r}"
            )
        axis, found = names.index(wish.by), list[Question]()
        place = np.indices(self.cube.shape)[axis].reshape(-1)
        for i, label in enumerate(self.cube.attributes[axis].labels):
            query = np.where(place == i, whole.query, 0.0)
            if query.any():
                text = f"({whole.text}) and {wish.by} = {label}"
                request = (
                    f"{wish.request}#{i}" if found and wish.request else wish.request
                )
                found.append(replace(whole, text=text, query=query, request=request))
        return found

    def price(self, question: Question, most: Most = None) -> Answer:
        """Return what `ask` would do and charge; nothing is drawn or spent."""
        with self._lock:
            self._catch_up()
            would = _answer(self._decided(question, most)[2])
            spent, history = self._state.spent, self._state.scales.size
        would = replace(would, estimate=None, interval=None, history=history)
        return replace(would, spent=spent, left=self.bound - spent)

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
        decision, cost, offer = self._decided(question, most)
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

    def _decided(
        self, question: Question, most: Most
    ) -> tuple[Decision, Fraction, dict[str, Any]]:
        """Return what is to be done, what the account is charged, and what is offered
        for it.
        """
        state, history = self._state, self._state.scales.size
        query, delta, left = question.query, question.delta, self.account.balance
        left = left if most is None else min(most(), left)
        spent, cost = state.spent, Fraction(0)
        reach = float(Fraction(spent) + left / self._factor)
        limit = min(self.bound, math.nextafter(reach, 0.0))
        made = decide(state, query, question.length, delta, limit)
        if made.outcome == "fresh":
            if history >= self._most_answers:
                raise ValueError(
                    f"the history must hold at most {self._most_answers} answers, and"
                    " it is full; only what follows from them is answered, at no cost:"
                    " ask for a longer interval"
                )
            then = state.spent_after(query, as_float(made.scale_units))
            cost = max(
                (Fraction(then) - Fraction(spent)) * self._factor, self._smallest
            )
            if cost <= left:
                spent, history = then, history + 1
            else:
                made, cost = made._replace(outcome="rejected", law=None), Fraction(0)
        offer = {
            "question": question.text,
            "outcome": made.outcome,
            "confidence": 1.0 - delta,
        }
        offer |= {"cost": float(cost), "spent": spent, "left": self.bound - spent}
        offer |= {"history": history}
        if made.law is None:
            shortest = shortest_affordable(state, query, delta, limit)
            return made, cost, offer | {"affordable": shortest}
        known = float(made.history_weights @ state.scaled_answers)
        half = made.law.half_width(delta)
        return (
            made,
            cost,
            offer | {"known": known, "share": made.fresh_share, "half": half},
        )

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
            self._state = self._state.after(
                query, as_float(scale), as_float(int(drawn, 0))
            )
            self._last = spend.sequence


def _answer(offer: Mapping[str, Any], value: int = 0) -> Answer:
    """Return what was offered, with a fresh draw."""
    told, estimate, interval = dict(offer), None, None
    if "known" in told:
        estimate = told.pop("known") + told.pop("share") * as_float(value)
        half = told.pop("half")
        interval = (estimate - half, estimate + half)
    return Answer(estimate=estimate, interval=interval, **told)


def open_answering(cube_file: str | Path, account: Account, **others: Any) -> Answering:
    """Return what answers questions about a cube file, or AccountError."""
    declared = CubeFile.read(cube_file)
    account.require_unit(declared.unit)
    table = account.check_table(declared.source)
    policy = Policy(neighbours=declared.neighbours)
    return Answering(
        declared.cube(), account, declared.bound, policy=policy, table=table, **others
    )
