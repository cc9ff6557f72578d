"""Questions about a cube, answered from the history of its table's account or paid from it.

The account is the history: every fresh answer is a spend in it with query, scale and noisy answer.
Order of an answer: decide, reserve its price durably, draw, keep the draw, answer. Whoever finds a
spend without a draw, because a process ended there, draws it before deciding anything.
"""

from __future__ import annotations

import json
import math
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from dpbayes._validate import open_unit, positive
from dpbayes.tables.approximations import LARGEST, consistent
from dpbayes.tables.decision import (
    REJECTED,
    Decision,
    Policy,
    State,
    decide,
    empty_state,
    shortest_affordable,
)
from dpbayes.tables.noise import as_float, on_grid, system_noise, true_answer
from dpbayes.tables.noise_law import interval
from dpbayes.tables.predicate import Answer, Question, Wish, coefficients

if TYPE_CHECKING:
    from pathlib import Path

    from dpbayes.tables.account import Account, Answered
    from dpbayes.tables.attributes import Cube

MOST_ANSWERS = 1000  # in one cube's history: the next decision then takes a tenth of a second
_TRIES = 100
_LENGTHS = (1e-9, 1e15)  # beyond them no query has noise of an allowed scale
_ANSWERS = TypeAdapter(Answer)
Most = Callable[[], Fraction] | None  # returns what the payer may still spend, when it is needed


class Answering:
    r"""Answers questions about a cube of counts, each fresh answer paid from an account.

    For all tables that are neighbours under the cube's relation and every set B of transcripts of
    answers and refusals, P[transcript in B | x] <= e^bound P[transcript in B | x'], also when later
    questions depend on earlier answers; the account bounds all cubes and releases together, for its
    own unit. Noise comes from the operating system's random bits; there is no seed.

    `bound` > 0 on the cube's overall cost; `table` the account's fingerprint of the file;
    `smallest_price` of a fresh answer in the account's epsilon, so that questions that cost next to
    nothing cannot fill the history; `most_answers` in it. Threads may share this, processes the
    account. `open_answering` makes one from a cube file.

    Source: E, section 5 and Figure 4; durability and the grid are ours. Book: `alg-query-server`.

    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> from dpbayes.tables.attributes import Categories
    >>> from dpbayes.tables.opening import create_account
    >>> from dpbayes.tables.attributes import Cube
    >>> from dpbayes.tables.units import Unit
    >>> cube = Cube((Categories("sex", ("f", "m")),), [30, 60])
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("sex\n" + 30 * "f\n" + 60 * "m\n")
    ...     unit = Unit()
    ...     account = create_account(Path(folder) / "a", "p", "1", table, unit, "add-or-remove")
    ...     asked = Answering(cube, account, bound=1.0)
    ...     first = asked.ask(asked.question("sex = f", 40.0, 0.05))
    ...     again = asked.ask(asked.question("sex = f", 50.0, 0.05))
    >>> first.outcome, round(first.cost, 6), again.outcome, again.cost
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
        self._state: State = empty_state(cube.counts.size, self.policy.neighbours)
        self._history: list[Answered] = []
        self._catch_up()

    def question(
        self, text: str, length: float, delta: float, *, payer: str = "", request: str | None = None
    ) -> Question:
        """Return a question, checked without looking at the history."""
        query = on_grid(coefficients(text, self.cube.attributes), self.cube.counts.size)
        low, high = _LENGTHS
        if not low <= positive("length", length) <= high:
            raise ValueError(f"length must lie between {low:g} and {high:g}, got {length!r}")
        return Question(text, query, float(length), open_unit("delta", delta), payer, request)

    def questions(self, wish: Wish, payer: str = "") -> list[Question]:
        """Return the questions of a wish, one for each value of `by`.

        The first has the wish's id, the others this id with "#" and a number; ValueError where
        something else was asked under one of them.
        """
        whole = self.question(
            wish.question, wish.length, 1.0 - wish.confidence, payer=payer, request=wish.request
        )
        found = [whole] if wish.by is None else self._by(wish.by, whole)
        if whole.name:
            with self._lock:
                said = [(e.request, e.fields["asked"]) for e in self.account.entries
                        if e.fields.get("asked")]  # fmt: skip
            own = {(one.name, one.asked) for one in found}
            if any(one[0].partition("#")[0] == whole.name and one not in own for one in said):
                raise whole.other()
        return found

    def _by(self, attribute: str, whole: Question) -> list[Question]:
        names = [one.name for one in self.cube.attributes]
        if attribute not in names:
            known = ", ".join(names)
            raise ValueError(f"by must be an attribute of the cube ({known}), got {attribute!r}")
        axis, found = names.index(attribute), list[Question]()
        place = np.indices(self.cube.shape)[axis].reshape(-1)
        for i, label in enumerate(self.cube.attributes[axis].labels):
            query = np.where(place == i, whole.query, 0.0)
            if query.any():
                text = f"({whole.text}) and {attribute} = {label}"
                request = f"{whole.request}#{i}" if found and whole.request else whole.request
                found.append(replace(whole, text=text, query=query, request=request))
        return found

    def price(self, question: Question, most: Most = None) -> Answer:
        """Return what `ask` would do and charge; nothing is drawn or spent."""
        with self._lock:
            self._catch_up()
            return self._told(question, *self._decided(question, most))

    def ask(self, question: Question, most: Most = None) -> Answer:
        """Return an answer whose credible interval at confidence 1 - delta is short enough.

        The same question under the same `request` gets the same answer, paid once; another one
        raises ValueError. `most` is in the account's epsilon.
        """
        name = question.name or f"answer--{secrets.token_hex(12)}"
        for _ in range(_TRIES):
            with self._lock:
                # Before the history is read: what is bought after it must change the decision.
                seen = self.account.position
                self._catch_up()
                answer = self._known(name, question) or self._answered(question, name, most, seen)
            if answer is not None:
                return answer
        raise ValueError("the account is written by others without pause: nothing was spent")

    def consistent(self, question: Question, answers: int) -> float | None:
        """Return the estimate that fits counts >= 0, from the first answers, if there is one.

        It costs nothing. Raises ValueError where answers times cells are too many.
        """
        with self._lock:
            entries, scales = self._history[:answers], self._state.scales[:answers]
        if answers * question.query.size > LARGEST:
            size = f"{answers} answers over {question.query.size} cells"
            raise ValueError(f"consistent must be false for {size}: above {LARGEST} coefficients")
        H = np.array([entry.query for entry in entries])
        y = np.array([as_float(entry.value or 0) for entry in entries])
        value = float(consistent(H, scales, y, question.query))
        return None if math.isnan(value) else value

    def sources(self, question: Question) -> list[tuple[int, str, float]]:
        """Return number, text and share of the variance of the answers that determine a query."""
        with self._lock:
            history, w = list(self._history), self._state.factor.noise_weights(question.query)
        shares = np.zeros(0) if w is None else w * w / (w @ w)
        used = np.flatnonzero(shares > 1e-18)  # less is rounding of nothing
        return [(int(i) + 1, history[i].label, float(shares[i])) for i in used]

    def _known(self, name: str, question: Question) -> Answer | None:
        """Return the answer kept under a name; ValueError where something else was asked."""
        asked, reply = self.account.remembered(name, self.table) or (question.asked, "")
        if asked != question.asked:
            raise question.other()
        # Paid and not drawn yet, perhaps by another just now: reserved again, it is drawn once.
        return _ANSWERS.validate_json(reply) if reply else None

    def _decided(self, question: Question, most: Most) -> tuple[Decision, Fraction, float]:
        """Return what is to be done, what the account is charged, and how far the cube may go."""
        left, state = self.account.balance, self._state
        left = left if most is None else min(most(), left)
        spent = Fraction(state.spent(self.policy.accounting))
        limit = min(self.bound, math.nextafter(float(spent + left / self._factor), 0.0))
        made = decide(state, question.query, question.length, question.delta, limit, self.policy)
        if made.outcome != "fresh":
            return made, Fraction(0), limit
        if len(self._history) >= self._most_answers:
            raise ValueError(
                f"the history must hold at most {self._most_answers} answers, and it is full; only "
                "what follows from them is answered, at no cost: ask for a longer interval"
            )
        scale = as_float(made.scale_units)
        after = state.spent_after(question.query, scale, self.policy.accounting)
        cost = max((Fraction(after) - spent) * self._factor, self._smallest)
        return (made, cost, limit) if cost <= left else (REJECTED, Fraction(0), limit)

    def _told(self, question: Question, decision: Decision, cost: Fraction, limit: float) -> Answer:
        """Return what is told before anything is drawn."""
        spent, shortest = self._state.spent(self.policy.accounting), None
        if decision.outcome == "rejected":
            of = self._state, question.query, question.delta
            shortest = shortest_affordable(*of, limit, self.policy)
        return Answer(
            question.text, decision.outcome, None, None, 1.0 - question.delta, float(cost),
            spent, self.bound - spent, len(self._history), shortest,
        )  # fmt: skip

    def _answered(self, question: Question, name: str, most: Most, seen: int) -> Answer | None:
        """Answer under the lock; None where the account has moved on since."""
        decision, cost, limit = self._decided(question, most)
        if decision.outcome == "rejected":
            told = self._told(question, decision, cost, limit)
            return told if self.account.position == seen else None
        asked = question.asked if question.request is not None else ""
        if decision.outcome == "derived":
            answer = self._described(question, decision, cost, None)
            if asked:
                reply = _ANSWERS.dump_json(answer).decode()
                self.account.remember(name, asked, reply, self.table)
            return answer
        paid = self.account.reserve_answer(
            name, cost, self._mark, question.text, question.query, decision.scale_units,
            asked=asked, table=self.table, payer=question.payer, seen=seen,
        )  # fmt: skip
        if paid is None:
            return None
        answer, _ = self._drawn(question, decision, cost, name)
        self._catch_up()
        return answer

    def _drawn(
        self, question: Question, decision: Decision, cost: Fraction, name: str
    ) -> tuple[Answer, int]:
        """Draw, unless the account holds a draw, and keep it with its reply."""
        value = true_answer(question.query, self.cube.counts) + self._draw(decision.scale_units)
        answer = self._described(question, decision, cost, value)
        reply = _ANSWERS.dump_json(answer).decode()
        kept = int(self.account.keep(name, hex(value), reply), 0)
        return (answer if kept == value else self._described(question, decision, cost, kept)), kept

    def _described(
        self, question: Question, decision: Decision, cost: Fraction, value: int | None
    ) -> Answer:
        assert decision.law is not None
        state, told = self._state, self._told(question, decision, cost, self.bound)
        estimate = float(decision.history_weights @ state.scaled_answers)
        if value is not None:
            estimate += decision.fresh_share * as_float(value)
            scale = as_float(decision.scale_units)
            spent = state.spent_after(question.query, scale, self.policy.accounting)
            told = replace(told, spent=spent, left=self.bound - spent, history=told.history + 1)
        box = interval(estimate, decision.law, question.delta)
        return replace(told, estimate=estimate, interval=(box.low, box.high))

    def _catch_up(self) -> None:
        """Take in what the account holds since the last look, and draw what was paid and not."""
        after = self._history[-1].number if self._history else -1
        for entry in self.account.history(self._mark, after):
            value = entry.value if entry.value is not None else self._finished(entry)
            self._state = self._state.after(entry.query, as_float(entry.scale), as_float(value))
            self._history.append(replace(entry, value=value))

    def _finished(self, entry: Answered) -> int:
        """Draw for a spend that a crash has left without, and keep the reply it would have got."""
        if entry.asked:
            text, length, delta = json.loads(entry.asked)
            question = Question(text, entry.query, length, delta, entry.payer, entry.request)
            made = decide(self._state, entry.query, length, delta, sys.float_info.max, self.policy)
            if (made.outcome, made.scale_units) == ("fresh", entry.scale):
                return self._drawn(question, made, entry.epsilon, entry.request)[1]
        value = true_answer(entry.query, self.cube.counts) + self._draw(entry.scale)
        return int(self.account.keep(entry.request, hex(value)), 0)


def open_answering(cube_file: str | Path, account: Account, **others: Any) -> Answering:
    """Return what answers questions about a cube file, paid from an account; `others` as there.

    AccountError where the account does not stand for the cube's table or protects another unit.
    """
    from dpbayes.tables.files import read_cube

    declared = read_cube(cube_file)
    account.require_unit(declared.unit)
    table = account.check_table(declared.source)
    relation = "replace-one" if declared.neighbours == "replace-one" else "add-remove"
    policy = Policy(neighbours=relation)
    return Answering(declared.cube(), account, declared.bound, policy=policy, table=table, **others)
