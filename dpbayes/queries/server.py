"""The online query system: derive, buy or refuse; the spend is on disk before the answer leaves."""

from __future__ import annotations

import math
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import flag, generator, open_unit, positive
from dpbayes.queries.answers import Answer
from dpbayes.queries.consistent import LARGEST
from dpbayes.queries.cube import Cube, as_cube
from dpbayes.queries.decision import (
    Decision,
    Policy,
    decide,
    shortest_affordable,
    spent_after,
)
from dpbayes.queries.grid import as_float, on_grid, system_noise, true_answer
from dpbayes.queries.history import History
from dpbayes.queries.ledger import Entry, LedgerError, open_ledger
from dpbayes.queries.paying import Payments, Purchase
from dpbayes.queries.repeats import (
    Cap,
    Question,
    answer_text,
    checked_request,
)
from dpbayes.queries.workload import sensitivity
from dpbayes.releasing.account import Account
from dpbayes.tables.decimals import float_below

Noise = Callable[[int], int]
LARGEST_FLOAT = sys.float_info.max
_TRIES = 100


class QueryServer:
    """Answers linear queries about a cube of counts until a privacy bound is reached.

    For all tables that are neighbours under `neighbours` and every set B of transcripts of answers
    and refusals, P[transcript in B | x] <= e^bound P[transcript in B | x'], also when later queries
    depend on earlier answers. The privacy unit is one record of the cube. Noise comes from the
    operating system's random bits (see `dpbayes.queries.grid`); there is no seed.

    Parameters: `cube` a `Cube` or a vector of counts; `bound` > 0; `ledger` a file that outlives
    the process and may be shared by several, None for memory; `account` of the data set, from which
    every fresh answer is paid before it is drawn; `neighbours`, `accounting`, `spending`,
    `inference` as in `Policy`. Spends are rounded upward in the last digit, so
    that ten answers of a tenth can need a bound slightly above one.

    At most `most_coefficients` are kept, one for each answer and cell, at 32 bytes: questions that
    cost next to nothing cannot fill the memory. What would take more is refused with ValueError.

    Source: E, section 5 and Figure 4; durability and the grid are ours. In the book:
    `alg-query-server`.

    >>> server = QueryServer([10, 20, 30], bound=1.0)
    >>> answer = server.ask([1.0, 1.0, 0.0], L=40.0, delta=0.05)
    >>> answer.outcome, round(answer.cost, 6), round(answer.interval.length, 6)
    ('fresh', 0.149787, 40.0)
    >>> server.ask([1.0, 1.0, 0.0], L=50.0, delta=0.05).outcome
    'derived'
    >>> server.ask([1.0, 0.0, 0.0], L=1.0, delta=0.05).outcome
    'rejected'
    """

    most_coefficients: ClassVar[int] = 1 << 27

    def __init__(
        self,
        cube: Cube | ArrayLike,
        bound: float,
        *,
        ledger: str | Path | None = None,
        account: Account | None = None,
        neighbours: str = "add-remove",
        accounting: str = "cells",
        spending: str = "smallest",
        inference: bool = True,
    ) -> None:
        self.cube = as_cube(cube)
        self.bound = positive("bound", bound)
        self.policy = Policy(neighbours, accounting, spending, inference)
        content = self.cube.content()
        payments = None if account is None else Payments(account, content, self.policy)
        self._noise: Noise = system_noise
        self._lock = threading.RLock()
        terms = {"bound": repr(self.bound), "neighbours": neighbours, "accounting": accounting}
        self._ledger = open_ledger(ledger, content, self.cube.counts.size, terms)
        self._payments = payments
        self._history = History(
            self.bound, self.cube.counts.size, self.policy, self._ledger, payments, self._noisy
        )
        self._history.catch_up()

    @classmethod
    def simulated(
        cls,
        cube: Cube | ArrayLike,
        bound: float,
        rng: np.random.Generator,
        **policy: str | bool,
    ) -> QueryServer:
        """Return a server for experiments, whose noise is seeded and which keeps no file.

        Its answers carry no privacy guarantee: whoever knows the seed can take the noise off.
        """
        generator("rng", rng)
        if "ledger" in policy:
            raise ValueError("ledger must not be given to a simulated server: its noise is seeded")
        if "account" in policy:
            raise ValueError("account must not be given to a simulated server: its noise is seeded")
        server = cls(cube, bound, **policy)  # type: ignore[arg-type]
        server._noise = lambda scale: round(float(rng.laplace()) * scale)
        return server

    @property
    def spent(self) -> float:
        """The overall cost of all answers in the ledger so far."""
        with self._lock:
            self._history.catch_up()
            return self._history.spent

    @property
    def remaining(self) -> float:
        """What is left of the bound."""
        return self.bound - self.spent

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The answers in the ledger so far."""
        with self._lock:
            self._history.catch_up()
            return tuple(self._history.entries)

    def ask(
        self,
        q: str | ArrayLike,
        L: float,
        delta: float,
        *,
        most: Cap = None,
        payer: str = "",
        consistent: bool = False,
        request: str | None = None,
    ) -> Answer:
        """Return an answer whose credible interval at confidence 1 - delta is at most L long.

        `q` is a coefficient vector (cells,) or a predicate over the cube's attributes such as
        "income >= 10 and age < 35". Nothing is spent and nothing changes when it is rejected or
        when an argument is refused. `most` caps what the answer may cost in the unit of the account
        (of the bound, where there is none), or is a function that returns the cap when it is
        needed; `payer` is noted in the account beside the spend.
        `consistent` adds the estimate that fits counts of at least 0 (`dpbayes.queries.consistent`)
        beside the unbiased one; it is worked out from the noisy answers and costs nothing.

        `request` is an id of the payer's choice: the same question under the same id gets the same
        answer, also after a crash, and is paid once; another question under it raises ValueError.
        What was rejected leaves the id free.
        """
        flag("consistent", consistent)
        question = self._checked(q, L, delta, consistent, payer, most, request)
        with self._lock:
            self._history.catch_up()
            self._check_size(consistent)
            repeated = self._history.repeated(question)
            if repeated is not None:
                return repeated
            decision = self._decided(question)
            kept = question.request is not None and decision.outcome == "derived"
            if decision.outcome == "fresh" or kept:
                answer = self._written(question)
            else:
                answer = self._history.answer(decision, question, None)
            if answer.outcome == "rejected":
                return replace(answer, affordable=self._affordable(question))
            return answer

    def bind(self, request: str, asked: str, payer: str = "") -> None:
        """Let an id stand for several questions, each of them asked under `request` + "#" + number.

        `asked` says what they are; ValueError where the id stands for something else.
        """
        name = Question("", np.zeros(0), 1.0, 0.5, payer=payer, request=request).name
        with self._lock, self._history.writing():
            if not self._history.known(name, request, asked):
                self._ledger.remember(name, asked, "")

    def _check_size(self, consistent: bool) -> None:
        answers, cells = len(self._history.entries) + 1, self.cube.counts.size
        if consistent and answers * cells > LARGEST:
            raise ValueError(
                f"consistent must be False for {answers} answers over {cells} cells: at most "
                f"{LARGEST} coefficients are taken into account"
            )

    def price(self, q: str | ArrayLike, L: float, delta: float, *, most: Cap = None) -> Answer:
        """Return what `ask` would do and cost, without an answer and without spending anything."""
        question = self._checked(q, L, delta, most=most)
        with self._lock:
            self._history.catch_up()
            decision = self._decided(question)
            shortest = self._affordable(question) if decision.outcome == "rejected" else None
            spent = self._history.spent
            left = self.bound - spent
            cost, outcome = decision.cost, decision.outcome
            return Answer(
                outcome, question.label, None, None, cost, spent, left, (), None, shortest
            )

    def _checked(
        self,
        q: str | ArrayLike,
        L: float,
        delta: float,
        consistent: bool = False,
        payer: str = "",
        most: Cap = None,
        request: str | None = None,
    ) -> Question:
        coefficients = self.cube.query(q) if isinstance(q, str) else q
        query = on_grid(coefficients, self.cube.counts.size)
        length, share = positive("L", L), open_unit("delta", delta)
        name = None if request is None else checked_request(request, parts=True)
        label = q if isinstance(q, str) else "coefficients"
        return Question(label, query, length, share, consistent, payer, most, name)

    def _decided(self, question: Question) -> Decision:
        limit = self._limit(question.most)
        decision = decide(
            self._history.state, question.query, question.L, question.delta, limit, self.policy
        )
        answers, cells = len(self._history.entries) + 1, self.cube.counts.size
        if decision.outcome == "fresh" and answers * cells > self.most_coefficients:
            raise ValueError(
                f"the history must hold at most {self.most_coefficients} coefficients, got "
                f"{answers * cells} for {answers} answers over {cells} cells; only what follows "
                "from earlier answers is answered"
            )
        return decision

    def _affordable(self, question: Question) -> float | None:
        limit = self._limit(question.most)
        return shortest_affordable(
            self._history.state, question.query, question.L, question.delta, limit, self.policy
        )

    def _limit(self, cap: Cap) -> float:
        """The overall cost this cube may come to: its bound, and what payer and account hold."""
        most = cap() if callable(cap) else cap
        if self._payments is not None:
            rise = self._payments.affordable(most)
        elif most is not None:
            rise = float_below(most)
        else:
            return self.bound
        total = self._history.spent + rise
        return min(self.bound, math.nextafter(total, 0.0))

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _written(self, question: Question) -> Answer:
        """Decide under the write lock, draw if need be, and commit the answer before it leaves."""
        for _ in range(_TRIES):
            entry = None
            with self._history.writing():
                # Another process may have answered since: look again under the lock.
                repeated = self._history.repeated(question)
                if repeated is not None:
                    return repeated
                decision = self._decided(question)
                if decision.outcome == "fresh":
                    entry = self._draw(decision, question)
                    if entry is None:
                        continue
                answer = self._history.answer(decision, question, entry)
                if question.request is not None and answer.outcome != "rejected":
                    self._ledger.remember(question.name, question.asked, answer_text(answer))
            if entry is not None:
                self._history.accept(entry)
            return answer
        raise LedgerError(
            f"the account is written by others without pause: nothing was spent in {_TRIES} tries"
        )

    def _draw(self, decision: Decision, question: Question) -> Entry | None:
        """Return the fresh answer, paid and kept in the account; None where that has moved on."""
        label, query, scale = question.label, question.query, decision.scale_units
        if self._payments is None:
            return self._ledger.append(label, query, scale, self._noisy(query, scale))
        S = float(sensitivity(query[None, :], self.policy.neighbours)[0])
        after = spent_after(self._history.state, query, as_float(scale), S, self.policy)
        rise = Fraction(after) - Fraction(self._history.spent)
        name = question.name or f"answer-{question.payer}-{secrets.token_hex(8)}"
        if not self._payments.reserve(name, rise, Purchase(label, query, scale, question.asked)):
            return None
        noisy = self._payments.drawn(name, lambda: self._noisy(query, scale))
        return self._ledger.append(label, query, scale, noisy, name)

    def _noisy(self, query: NDArray[np.float64], scale: int) -> int:
        return true_answer(query, self.cube.counts) + self._noise(scale)
