"""The online query system: derive, buy or refuse; the spend is on disk before the answer leaves."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import flag, generator, open_unit, positive
from dpbayes.queries.answers import Answer, Source
from dpbayes.queries.consistent import LARGEST, consistent_answer
from dpbayes.queries.cube import Cube, as_cube
from dpbayes.queries.decision import (
    Decision,
    Policy,
    State,
    decide,
    empty_state,
    shortest_affordable,
    spent_after,
)
from dpbayes.queries.grid import as_float, on_grid, system_noise, true_answer
from dpbayes.queries.intervals import interval
from dpbayes.queries.ledger import Entry, open_ledger
from dpbayes.queries.workload import sensitivity
from dpbayes.releasing.account import Account
from dpbayes.releasing.decimals import float_below

Noise = Callable[[int], int]


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
        self._account = account
        self._price = 1 if account is None else _price_factor(account, neighbours)
        self._noise: Noise = system_noise
        self._lock = threading.RLock()
        self._state = empty_state(self.cube.counts.size, neighbours)
        self._entries: list[Entry] = []
        terms = {"bound": repr(self.bound), "neighbours": neighbours, "accounting": accounting}
        self._ledger = open_ledger(ledger, self.cube.content(), self.cube.counts.size, terms)
        self._catch_up()

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
        server = cls(cube, bound, **policy)  # type: ignore[arg-type]
        server._noise = lambda scale: round(float(rng.laplace()) * scale)
        return server

    @property
    def spent(self) -> float:
        """The overall cost of all answers in the ledger so far."""
        with self._lock:
            self._catch_up()
            return self._state.spent(self.policy.accounting)

    @property
    def remaining(self) -> float:
        """What is left of the bound."""
        return self.bound - self.spent

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The answers in the ledger so far."""
        with self._lock:
            self._catch_up()
            return tuple(self._entries)

    def ask(
        self,
        q: str | ArrayLike,
        L: float,
        delta: float,
        *,
        most: Fraction | None = None,
        payer: str = "",
        consistent: bool = False,
    ) -> Answer:
        """Return an answer whose credible interval at confidence 1 - delta is at most L long.

        `q` is a coefficient vector (cells,) or a predicate over the cube's attributes such as
        "income >= 10 and age < 35". Nothing is spent and nothing changes when it is rejected or
        when an argument is refused. `most` caps what the answer may cost in the unit of the account
        (of the bound, where there is none); `payer` is noted in the account beside the spend.
        `consistent` adds the estimate that fits counts of at least 0 (`dpbayes.queries.consistent`)
        beside the unbiased one; it is worked out from the noisy answers and costs nothing.
        """
        query, length, share = self._checked(q, L, delta)
        flag("consistent", consistent)
        label = q if isinstance(q, str) else "coefficients"
        with self._lock:
            self._catch_up()
            self._check_size(consistent)
            decision = self._decided(query, length, share, most)
            if decision.outcome == "fresh":
                with self._ledger.writing():
                    # Another process may have answered since: decide again under the write lock.
                    if self._catch_up():
                        decision = self._decided(query, length, share, most)
                    entry = self._draw(decision, label, query, payer)
                answer = self._answer(decision, label, share, entry)
            else:
                answer = self._answer(decision, label, share, None)
            if answer.outcome == "rejected":
                return replace(answer, affordable=self._affordable(query, length, share, most))
            return replace(answer, consistent=self._consistent(query)) if consistent else answer

    def _check_size(self, consistent: bool) -> None:
        answers, cells = len(self._entries) + 1, self.cube.counts.size
        if consistent and answers * cells > LARGEST:
            raise ValueError(
                f"consistent must be False for {answers} answers over {cells} cells: at most "
                f"{LARGEST} coefficients are taken into account"
            )

    def _consistent(self, query: NDArray[np.float64]) -> float | None:
        H = np.array([entry.query for entry in self._entries])
        answers = [as_float(entry.answer) for entry in self._entries]
        return consistent_answer(H, self._state.scales, answers, query)

    def price(
        self, q: str | ArrayLike, L: float, delta: float, *, most: Fraction | None = None
    ) -> Answer:
        """Return what `ask` would do and cost, without an answer and without spending anything."""
        query, length, share = self._checked(q, L, delta)
        label = q if isinstance(q, str) else "coefficients"
        with self._lock:
            self._catch_up()
            decision = self._decided(query, length, share, most)
            rejected = decision.outcome == "rejected"
            shortest = self._affordable(query, length, share, most) if rejected else None
            spent = self._state.spent(self.policy.accounting)
            left = self.bound - spent
            cost, outcome = decision.cost, decision.outcome
            return Answer(outcome, label, None, None, cost, spent, left, (), None, shortest)

    def _checked(
        self, q: str | ArrayLike, L: float, delta: float
    ) -> tuple[NDArray[np.float64], float, float]:
        coefficients = self.cube.query(q) if isinstance(q, str) else q
        query = on_grid(coefficients, self.cube.counts.size)
        return query, positive("L", L), open_unit("delta", delta)

    def _decided(
        self, query: NDArray[np.float64], L: float, delta: float, most: Fraction | None
    ) -> Decision:
        return decide(self._state, query, L, delta, self._limit(most), self.policy)

    def _affordable(
        self, query: NDArray[np.float64], L: float, delta: float, most: Fraction | None
    ) -> float | None:
        limit = self._limit(most)
        return shortest_affordable(self._state, query, L, delta, limit, self.policy)

    def _limit(self, most: Fraction | None) -> float:
        """The overall cost this cube may come to: its bound, and what payer and account hold."""
        left = [] if most is None else [most]
        if self._account is not None:
            left.append(self._account.balance)
        if not left:
            return self.bound
        total = self._state.spent(self.policy.accounting) + float_below(min(left) / self._price)
        return min(self.bound, math.nextafter(total, 0.0))

    def _pay(self, decision: Decision, label: str, query: NDArray[np.float64], payer: str) -> None:
        """Take the rise of the overall cost from the account, durably, before anything is drawn."""
        if self._account is None:
            return
        scale = as_float(decision.scale_units)
        S = float(sensitivity(query[None, :], self.policy.neighbours)[0])
        after = spent_after(self._state, query, scale, S, self.policy)
        rise = Fraction(after) - Fraction(self._state.spent(self.policy.accounting))
        if rise > 0:
            request = f"answer-{payer}-{secrets.token_hex(8)}"
            self._account.spend(request, rise * self._price, label)

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _draw(
        self, decision: Decision, label: str, query: NDArray[np.float64], payer: str
    ) -> Entry | None:
        if decision.outcome != "fresh":
            return None
        self._pay(decision, label, query, payer)
        noisy = true_answer(query, self.cube.counts) + self._noise(decision.scale_units)
        return self._ledger.append(label, query, decision.scale_units, noisy)

    def _answer(self, decision: Decision, label: str, delta: float, entry: Entry | None) -> Answer:
        """Take in the new entry, which is committed by now, and describe the answer."""
        before = self._state
        if entry is not None:
            self._ledger.accept(entry)
            self._take(entry)
        spent = self._state.spent(self.policy.accounting)
        left = self.bound - spent
        if decision.law is None:
            return Answer("rejected", label, None, None, 0.0, spent, left, (), None)
        estimate = float(decision.history_weights @ before.scaled_answers)
        if entry is not None:
            estimate += decision.fresh_share * as_float(entry.answer)
        return Answer(
            decision.outcome,
            label,
            estimate,
            interval(estimate, decision.law, delta),
            decision.cost,
            spent,
            left,
            self._sources(decision, before),
            None if entry is None else entry.number,
        )

    def _sources(self, decision: Decision, before: State) -> tuple[Source, ...]:
        law = decision.law
        w = decision.history_weights
        if law is None or not np.any(w):
            return ()
        shares = 2.0 * w * w / law.variance
        # Weights that are rounding of zero are not worth a line.
        used = np.flatnonzero(np.abs(w) > 1e-9 * law.standard_deviation)
        return tuple(
            Source(
                self._entries[i].number,
                self._entries[i].label,
                float(w[i] / before.scales[i]),
                float(shares[i]),
            )
            for i in used
        )

    def _catch_up(self) -> bool:
        """Take in the entries that this or another process has committed since the last look."""
        new = self._ledger.read_new()
        for entry in new:
            self._take(entry)
        return bool(new)

    def _take(self, entry: Entry) -> None:
        scale, y = as_float(entry.scale), as_float(entry.answer)
        self._state = self._state.after(entry.query, scale, y, self.policy.neighbours)
        self._entries.append(entry)


def _price_factor(account: Account, neighbours: str) -> int:
    """Return how much of the account's epsilon one unit of the cube's costs."""
    if account.neighbours == "replace-one":
        # A replaced record is one taken away and one added.
        return 2 if neighbours == "add-remove" else 1
    if neighbours == "add-remove":
        return 1
    raise ValueError(
        f"neighbours must be 'add-remove' for account {account.path}, whose epsilon is for one "
        f"record more or less, got {neighbours!r}"
    )
