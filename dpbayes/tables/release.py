"""From a table of people to a release: count, pay, draw, keep, and only then look at it.

The order is what makes it safe. The plan is checked before the table is opened, the table before
the account is touched, the mechanism is rehearsed on made-up counts before anything is paid, the
spend is durable before the draw, and the draw is durable before anybody sees it. Whatever happens
in between, the same request on the same table returns the same draw and is paid once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpbayes.mechanisms import Mechanism, mechanism
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.mechanisms.protocol import given_epsilon, guarantee, quantified
from dpbayes.tables.account import Account
from dpbayes.tables.chain import Receipt
from dpbayes.tables.decimals import decimal_text
from dpbayes.tables.drawn import Release, release
from dpbayes.tables.files import PlanError
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import open_account
from dpbayes.tables.plan import Plan
from dpbayes.tables.table import count
from dpbayes.tables.units import RELATIONS

SCHEMA = "dpbayes.release/4"


def chosen_mechanism(name: str, epsilon: Fraction, options: dict[str, Any]) -> Mechanism:
    """Return the mechanism of this name, the one for a secret number of records included."""
    if name == IndependentNoise.name:
        if options:
            raise TypeError(f"{name} has no options, got {options}")
        return IndependentNoise(given_epsilon(epsilon))
    return mechanism(name, epsilon=epsilon, **options)


def planned_mechanism(plan: Plan) -> Mechanism:
    """Return the mechanism of a plan, at the epsilon of one record; PlanError if it has none.

    A mechanism without a proved guarantee for the plan's relation is refused.
    """
    where = plan.file.where("mechanism" if "mechanism" in plan.file.settings else "options")
    try:
        chosen = chosen_mechanism(plan.mechanism, plan.epsilon_of_a_record, plan.options)
        promised = guarantee(chosen, len(plan.labels))
    except (ValueError, TypeError) as error:
        raise PlanError(f"{where}: mechanism: {error}") from error
    if promised.bound is None:
        raise PlanError(
            f"{where}: mechanism must have a proved guarantee, got {plan.mechanism!r}: "
            f"{promised.basis}"
        )
    if promised.failure:
        raise PlanError(
            f"{where}: mechanism must keep its promise without a delta, since accounts add up "
            f"epsilons alone, got {plan.mechanism!r}; 'lattice' has a smaller error besides"
        )
    if promised.neighbours != plan.neighbours:
        raise PlanError(
            f"{where}: mechanism must be one for {plan.neighbours} (records = "
            f"{plan.records!r}), got {plan.mechanism!r}, which is for {promised.neighbours}"
        )
    return chosen


def promise(plan: Plan) -> str:
    """Return what the release promises, quantified, and for whom it holds.

    The epsilon printed is at least the one that holds.
    """
    differ = f"tables x, x' that differ by {plan.unit.differ_by(plan.neighbours)}"
    return f"{quantified(differ, plan.epsilon)}. {plan.unit.holds_for(plan.neighbours)}"


def cost(plan: Plan, account: Account) -> Fraction:
    """Return what a release costs in the account's relation; AccountError for another unit.

    A replaced record is one taken away and one added: two steps. The other way round there is no
    bound, and a plan that keeps n public does not fit an account for changing n.
    """
    account.require_unit(plan.unit)
    if plan.neighbours == account.neighbours:
        return plan.epsilon
    if account.neighbours == RELATIONS[0]:
        return 2 * plan.epsilon
    raise PlanError(
        f'{plan.file.where("records")}: records must be "secret" for account {account.path}, whose '
        'epsilon is for one record more or less, got "public"'
    )


@dataclass(frozen=True)
class PaidRelease:
    """One paid release of a table, and everything that may be published about it.

    `private` is the draw, `request` its name, `receipt` the account's last entry, `cost`,
    `balance` and `bound` its epsilon in the account, what is left and what there was; `repeated`
    says that the draw had been paid for and kept before. Made by `release_table`.
    """

    plan: Plan
    private: Release
    request: str
    receipt: Receipt
    cost: Fraction
    balance: Fraction
    bound: Fraction
    repeated: bool = False

    def record(self) -> dict[str, Any]:
        """Return what `release.json` holds, less what is computed from the draw afterwards."""
        plan, private, groups = self.plan, self.private, None
        if plan.by is not None:
            outer, inner = plan.attributes
            groups = {"labels": list(outer.labels), "within": list(inner.labels)}
        return {
            "schema": SCHEMA,
            "dataset": plan.dataset,
            "request": self.request,
            "labels": list(plan.labels),
            "columns": [attribute.name for attribute in plan.attributes],
            "by": plan.by,
            "groups": groups,
            "counts": private.counts.tolist(),
            "noisy": private.noisy.tolist(),
            "posterior": private.posterior.concentration.tolist(),
            "prior": plan.prior.tolist(),
            "records": private.n if plan.records == "public" else None,
            "mechanism": {"name": plan.mechanism, "options": plan.options},
            "epsilon": decimal_text(plan.epsilon, "up", 12),
            "unit": str(plan.unit),
            "records_of_a_person": plan.unit.keep,
            "neighbours": plan.neighbours,
            "guarantee": promise(plan),
            "cost": decimal_text(self.cost, "up", 12),
            "balance": decimal_text(self.balance, "down", 12),
            "bound": decimal_text(self.bound, "down", 12),
            "receipt": str(self.receipt),
        }


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

    For all tables x, x' that differ as the plan's unit and relation say, and every set S of
    outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] with the plan's epsilon. The same request on
    the same table returns the same draw and costs nothing more. `show_values` prints a value that
    the plan does not list.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from dpbayes.tables.opening import create_account
    >>> from dpbayes.tables.plan import read_plan
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\n" + 40 * "good\n" + 10 * "poor\n")
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\nunit = "record"\ncolumn = "health"\n'
    ...         'categories = ["good", "fair", "poor"]\nepsilon = "0.5"\n'
    ...     )
    ...     plan = read_plan(Path(folder) / "plan.toml")
    ...     _ = create_account(Path(folder) / "a", "clinic", 2, table, plan.unit)
    ...     first = release_table(table, plan)
    ...     again = release_table(table, plan)
    >>> int(first.private.counts.sum()), first.balance, again.balance, again.repeated
    (50, Fraction(3, 2), Fraction(3, 2), True)
    >>> bool((first.private.noisy == again.private.noisy).all())
    True
    >>> [first.record()[name] for name in ("labels", "records", "cost", "balance")]
    [['good', 'fair', 'poor'], 50, '0.5', '1.5']
    """
    place, chosen = Path(table), planned_mechanism(plan)
    account = open_account(plan.account)
    if account.dataset != plan.dataset:
        raise PlanError(
            f"{plan.file.where('dataset')}: dataset must be {account.dataset!r}, whose account "
            f"{account.path} is, got {plan.dataset!r}"
        )
    price = cost(plan, account)
    mark = account.check_table(place)
    request = plan.request_of(mark)
    kept = account.result(request, mark)
    repeated = kept is not None
    if kept is None:
        counts = count(place, plan.attributes, plan.rules, show_values)
        if account.fingerprint(place) != mark:
            raise AccountError(
                f"table {place} changed while it was counted; nothing was spent. Give the command "
                "again when nobody writes to the table"
            )
        n = int(counts.sum()) if plan.records == "public" else 1000
        if n == 0:
            raise AccountError(
                f"table {place} holds no record that the plan counts; look at column and categories"
            )
        rehearse(plan, n)
    # Whoever asks again must ask for the same: the account says so.
    account.reserve(request, price, plan.statement(), table=mark)
    if kept is None:
        drawn = release(chosen, counts, plan.prior)
        said = {"n": drawn.n, "noisy": drawn.noisy.tolist(), "counts": drawn.counts.tolist()}
        kept = account.keep(request, json.dumps(said))
    said = json.loads(kept)
    noisy, released = (np.array(said[name], dtype=np.int64) for name in ("noisy", "counts"))
    private = Release(chosen, plan.prior, int(said["n"]), noisy, released, plan.labels)
    paid = price, account.balance, account.bound
    return PaidRelease(plan, private, request, account.receipt, *paid, repeated)
