"""From a table of people to a release: count, pay, draw, keep, and only then look at it.

The order is what makes it safe. The plan is checked before the table is opened, the table before
the account is touched, the mechanism is rehearsed on made-up counts before anything is paid, the
spend is durable before the draw, and the draw is durable before anybody sees it. Whatever happens
in between, the same request returns the same draw and is paid once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.releasing.account import Account
from dpbayes.releasing.account_file import Receipt
from dpbayes.tables.decimals import decimal_text, significant_text
from dpbayes.releasing.opening import open_account
from dpbayes.releasing.plan import Plan
from dpbayes.releasing.plan_file import PlanError
from dpbayes.releasing.prices import (
    Price,
    cost,
    person_price,
    person_sentence,
    planned_mechanism,
    relation,
)
from dpbayes.releasing.record import Release, release
from dpbayes.releasing.tables import count_table
from dpbayes.releasing.witness import AccountError

SCHEMA = "dpbayes.release/2"


@dataclass(frozen=True)
class PaidRelease:
    r"""One paid release of a table, and everything that may be published about it.

    `private` is the draw, `request` its name, `receipt` the account's last entry, `balance` what is
    left; `repeated` says that the draw had been paid for and kept before; `deltas` are cost,
    balance and bound of the delta.

    >>> import tempfile
    >>> from dpbayes.mechanisms import mechanism
    >>> from dpbayes.releasing.plan import read_plan
    >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    ...     _ = file.write('dataset = "clinic"\naccount = "a"\nepsilon = "0.5"\n')
    ...     _ = file.write('column = "health"\ncategories = ["good", "poor"]\n')
    ...     file.flush()
    ...     plan = read_plan(Path(file.name))
    >>> private = release(mechanism("lattice", "0.5"), [40, 10], [1, 1])
    >>> receipt = Receipt.parse("clinic 3 " + 64 * "0")
    >>> cost, bound = Fraction(1, 2), Fraction(2)
    >>> paid = PaidRelease(plan, private, "spring", receipt, cost, bound - cost, bound, False)
    >>> paid.sentence[-36:]
    "P[M(x) in S] <= e^0.5 P[M(x') in S]."
    >>> [paid.record()[name] for name in ("labels", "records", "cost", "balance")]
    [['good', 'poor'], 50, '0.5', '1.5']
    """

    plan: Plan
    private: Release
    request: str
    receipt: Receipt
    cost: Fraction
    balance: Fraction
    bound: Fraction
    repeated: bool
    deltas: tuple[Fraction, Fraction, Fraction] = (Fraction(0), Fraction(0), Fraction(0))

    @property
    def sentence(self) -> str:
        """The guarantee for a person, with epsilon and delta rounded up."""
        return person_sentence(self.plan)

    def record(self) -> dict[str, Any]:
        """Return what `release.json` holds, less what is computed from the draw afterwards."""
        plan, private = self.plan, self.private
        return {
            "schema": SCHEMA,
            "dataset": plan.dataset,
            "request": self.request,
            "labels": list(plan.labels),
            "columns": [column.name for column in plan.columns],
            "by": plan.by,
            "groups": _groups(plan),
            "counts": private.counts.tolist(),
            "noisy": private.noisy.tolist(),
            "posterior": private.posterior.concentration.tolist(),
            "prior": plan.prior.tolist(),
            "records": private.n if plan.records == "public" else None,
            "mechanism": {"name": plan.mechanism, "options": plan.options},
            "epsilon": decimal_text(plan.epsilon, "up", 12),
            "delta": significant_text(person_price(plan).delta, "up"),
            "records_of_a_person": plan.keep,
            "neighbours": relation(plan),
            "guarantee": self.sentence,
            "cost": decimal_text(self.cost, "up", 12),
            "balance": decimal_text(self.balance, "down", 12),
            "bound": decimal_text(self.bound, "down", 12),
            "delta_cost": significant_text(self.deltas[0], "up"),
            "delta_balance": significant_text(self.deltas[1], "down"),
            "delta_bound": significant_text(self.deltas[2], "down"),
            "receipt": str(self.receipt),
        }


def _groups(plan: Plan) -> dict[str, list[str]] | None:
    if plan.by is None:
        return None
    outer, inner = plan.columns
    return {"labels": list(outer.labels), "within": list(inner.labels)}


def rehearse(plan: Plan, records: int) -> None:
    """Draw once from made-up, balanced counts, so that a refusal comes before anything is paid."""
    k = len(plan.labels)
    counts = np.full(k, records // k, dtype=np.int64)
    counts[: records % k] += 1
    if records == 0:
        counts[0] = 1
    release(planned_mechanism(plan), counts, plan.prior)


def release_table(table: str | Path, plan: Plan, show_values: bool = False) -> PaidRelease:
    r"""Return the release of a table under a plan, paid from its account and kept there.

    For all tables x, x' that are neighbours as `relation` says, and every set S of outputs,
    P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, with the plan's epsilon and the mechanism's
    delta, which is 0 for most. The same request returns the
    same draw and costs nothing more. `show_values` prints a value that the plan does not list.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from dpbayes.releasing.opening import create_account
    >>> from dpbayes.releasing.plan import read_plan
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\n" + 40 * "good\n" + 10 * "poor\n")
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\ncolumn = "health"\n'
    ...         'categories = ["good", "fair", "poor"]\nepsilon = "0.5"\n'
    ...     )
    ...     _ = create_account(Path(folder) / "a", "clinic", 2, table)
    ...     first = release_table(table, read_plan(Path(folder) / "plan.toml"))
    ...     again = release_table(table, read_plan(Path(folder) / "plan.toml"))
    >>> int(first.private.counts.sum()), first.balance, again.balance, again.repeated
    (50, Fraction(3, 2), Fraction(3, 2), True)
    >>> bool((first.private.noisy == again.private.noisy).all())
    True
    """
    place = Path(table)
    account = open_account(plan.account)
    if account.dataset != plan.dataset:
        raise PlanError(
            f"{plan.file.where('dataset')}: dataset must be {account.dataset!r}, whose account "
            f"{account.path} is, got {plan.dataset!r}"
        )
    account.check_table(place)
    price = cost(plan, account)
    mark = account.fingerprint(place)
    request = plan.request_of(mark)
    kept = account.result(request)
    if kept is None:
        counts = count_table(place, plan, show_values)
        if account.fingerprint(place) != mark:
            raise AccountError(f"table {place} changed while it was counted; nothing was spent")
        kept = _drawn(place, counts, plan, account, request, price)
        return _paid(plan, account, request, price, kept, False)
    account.spend(request, price.epsilon, plan.statement(), price.delta)
    return _paid(plan, account, request, price, kept, True)


def _drawn(
    table: Path, counts: NDArray[np.int64], plan: Plan, account: Account, request: str, price: Price
) -> str:
    n = int(counts.sum())
    if n == 0 and plan.records == "public":
        raise AccountError(f"table {table} holds no record that the plan counts")
    rehearse(plan, n if plan.records == "public" else 1000)
    account.spend(request, price.epsilon, plan.statement(), price.delta)
    private = release(planned_mechanism(plan), counts, plan.prior)
    drawn = {
        "n": private.n if plan.records == "public" else None,
        "noisy": private.noisy.tolist(),
        "counts": private.counts.tolist(),
    }
    return account.keep(request, json.dumps(drawn))


def _paid(
    plan: Plan, account: Account, request: str, price: Price, kept: str, repeated: bool
) -> PaidRelease:
    drawn = json.loads(kept)
    counts: NDArray[np.int64] = np.array(drawn["counts"], dtype=np.int64)
    n = int(counts.sum()) if drawn["n"] is None else int(drawn["n"])
    noisy = np.array(drawn["noisy"], dtype=np.int64)
    private = Release(planned_mechanism(plan), plan.prior, n, noisy, counts)
    deltas = price.delta, account.delta_balance, account.delta_bound
    left = account.balance
    return PaidRelease(
        plan,
        private,
        request,
        account.receipt,
        price.epsilon,
        left,
        account.bound,
        repeated,
        deltas,
    )
