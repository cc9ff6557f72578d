"""What has been answered so far: kept in step with ledger and account, and told to whoever asks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from dpbayes.queries.answers import Answer, Source
from dpbayes.queries.consistent import consistent_answer
from dpbayes.queries.decision import Decision, Policy, State, decide, empty_state
from dpbayes.queries.grid import as_float
from dpbayes.queries.intervals import interval
from dpbayes.queries.ledger import Entry, Ledger
from dpbayes.queries.paying import Payments, Purchase
from dpbayes.queries.repeats import Question, answer_from, answer_text, question_of

_NO_LIMIT = sys.float_info.max
Draw = Callable[[NDArray[np.float64], int], int]


class History:
    """The answers so far, and the replies given under an id.

    `bound` and `policy` of the server, its `ledger`, its `payments` if there is an account, and
    `draw`, which returns the noisy answer to a query at a scale, in grid units.
    """

    def __init__(
        self,
        bound: float,
        cells: int,
        policy: Policy,
        ledger: Ledger,
        payments: Payments | None,
        draw: Draw,
    ) -> None:
        self.bound, self.policy = bound, policy
        self.ledger, self.payments = ledger, payments
        self.state: State = empty_state(cells, policy.neighbours)
        self.entries: list[Entry] = []
        self._draw = draw

    @property
    def spent(self) -> float:
        """The overall cost of the answers taken in."""
        return self.state.spent(self.policy.accounting)

    def catch_up(self) -> None:
        """Take in what was committed since the last look, and finish what was paid and not drawn.

        An answer of the account that the ledger does not hold is one that a crash interrupted, or
        one that an older copy of the ledger has forgotten. Nobody decides before it is back.
        """
        for entry in self.ledger.read_new():
            self._take(entry)
        if self.payments is None:
            return
        bought, upto = self.payments.unread()
        missing = [(name, one) for name, one in bought if not self.ledger.holds(name)]
        if missing and not self.ledger.locked:
            with self.writing():
                pass
            return
        for name, one in missing:
            self._finish(name, one)
        self.payments.seen = upto

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the ledger's write lock, in step; commit at the end, or change nothing on an error.

        The entry that is written last is given to `accept` after the commit.
        """
        seen = 0 if self.payments is None else self.payments.seen
        before = self.state, len(self.entries), self.ledger.position
        try:
            with self.ledger.writing():
                self.catch_up()
                yield
        except BaseException:
            self.state, self.ledger.position = before[0], before[2]
            del self.entries[before[1] :]
            if self.payments is not None:
                self.payments.seen = seen
            raise

    def accept(self, entry: Entry) -> None:
        """Take in an entry of our own."""
        self.ledger.accept(entry)
        self._take(entry)

    def known(self, name: str, request: str | None, asked: str) -> bool:
        """Whether a name stands for what is asked; False if for nothing, else ValueError."""
        remembered = self.ledger.remembered(name)
        before = None if remembered is None else remembered[0]
        if before is None and self.payments is not None:
            before = self.payments.asked(name)
        if before is not None and before != asked:
            raise ValueError(
                f"request must be a new id for a new question, got {request!r}, under which "
                "something else was asked"
            )
        return before is not None

    def repeated(self, question: Question) -> Answer | None:
        """Return the answer that a question under an id has got before, if it has."""
        if question.request is None:
            return None
        if not self.known(question.name, question.request, question.asked):
            return None
        remembered = self.ledger.remembered(question.name)
        return None if remembered is None else answer_from(remembered[1])

    def answer(self, decision: Decision, question: Question, entry: Entry | None) -> Answer:
        """Describe the answer, of which a fresh one is not taken in yet."""
        before = after = self.state
        if entry is not None:
            after = self._after(entry)
        spent = after.spent(self.policy.accounting)
        left = self.bound - spent
        if decision.law is None:
            return Answer("rejected", question.label, None, None, 0.0, spent, left, (), None)
        estimate = float(decision.history_weights @ before.scaled_answers)
        if entry is not None:
            estimate += decision.fresh_share * as_float(entry.answer)
        return Answer(
            decision.outcome,
            question.label,
            estimate,
            interval(estimate, decision.law, question.delta),
            decision.cost,
            spent,
            left,
            self._sources(decision, before),
            None if entry is None else entry.number,
            consistent=self._consistent(question, after, entry),
        )

    def _finish(self, name: str, bought: Purchase) -> None:
        """Draw, unless the account holds the draw, and write what a crash has left unwritten."""
        assert self.payments is not None
        noisy = self.payments.drawn(name, lambda: self._draw(bought.query, bought.scale))
        entry = self.ledger.append(bought.label, bought.query, bought.scale, noisy, name)
        if bought.asked and self.ledger.remembered(name) is None:
            question = question_of(bought.label, bought.query, bought.asked)
            found = decide(
                self.state, bought.query, question.L, question.delta, _NO_LIMIT, self.policy
            )
            if (found.outcome, found.scale_units) == ("fresh", bought.scale):
                reply = answer_text(self.answer(found, question, entry))
                self.ledger.remember(name, bought.asked, reply)
        self.accept(entry)

    def _consistent(self, question: Question, state: State, entry: Entry | None) -> float | None:
        if not question.consistent:
            return None
        entries = self.entries if entry is None else [*self.entries, entry]
        H = np.array([one.query for one in entries])
        answers = [as_float(one.answer) for one in entries]
        return consistent_answer(H, state.scales, answers, question.query)

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
                self.entries[i].number,
                self.entries[i].label,
                float(w[i] / before.scales[i]),
                float(shares[i]),
            )
            for i in used
        )

    def _after(self, entry: Entry) -> State:
        scale, y = as_float(entry.scale), as_float(entry.answer)
        return self.state.after(entry.query, scale, y, self.policy.neighbours)

    def _take(self, entry: Entry) -> None:
        self.state = self._after(entry)
        self.entries.append(entry)
