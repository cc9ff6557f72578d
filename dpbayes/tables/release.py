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
from dpbayes.mechanisms.guarantees import given_epsilon, guarantee, quantified
from dpbayes.mechanisms.independent import IndependentNoise
from dpbayes.tables.account import Account
from dpbayes.tables.chain import Receipt
from dpbayes.tables.decimals import decimal_text, exp_above, significant_text
from dpbayes.tables.drawn import Release, release
from dpbayes.tables.files import PlanError
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import open_account
from dpbayes.tables.plan import Plan
from dpbayes.tables.table import count
from dpbayes.tables.units import RELATIONS

SCHEMA = "dpbayes.release/3"
_MOST_TERMS = 1000


@dataclass(frozen=True)
class Price:
    """An epsilon and a delta, both exact."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def times(self, steps: int) -> Price:
        """Return what holds for data sets so many neighbours apart; book: `thm-account`.

        (m epsilon, delta (1 + e^epsilon + ... + e^((m - 1) epsilon))), the delta rounded up.

        >>> Price(Fraction(1, 2)).times(3).epsilon, Price(Fraction(1), Fraction(0)).times(2).delta
        (Fraction(3, 2), Fraction(0, 1))
        """
        if not self.delta or steps == 1:
            return Price(self.epsilon * steps, self.delta)
        if steps > _MOST_TERMS:
            powers = steps * exp_above((steps - 1) * self.epsilon)
        else:
            powers = sum((exp_above(i * self.epsilon) for i in range(1, steps)), Fraction(1))
        return Price(self.epsilon * steps, self.delta * powers)


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
    if promised.neighbours != plan.neighbours:
        raise PlanError(
            f"{where}: mechanism must be one for {plan.neighbours} (records = "
            f"{plan.records!r}), got {plan.mechanism!r}, which is for {promised.neighbours}"
        )
    return chosen


def unit_price(plan: Plan) -> Price:
    """Return the epsilon of the plan and the delta that all counted records of a person have.

    PlanError where that delta is 1 or more, which would promise nothing.
    """
    failure = guarantee(planned_mechanism(plan), len(plan.labels)).failure
    # A float counts as the decimal it prints as where that is more, so that sums are plain.
    failure = max(failure, Fraction(repr(float(failure))))
    price = Price(plan.epsilon_of_a_record, failure).times(plan.unit.keep)
    if price.delta >= 1:
        raise PlanError(
            f"{plan.file.where('options')}: delta must be below 1 for all {plan.unit.keep} records "
            f"of a person together, got {float(failure):g} for one record"
        )
    return Price(plan.epsilon, price.delta)


def promise(plan: Plan) -> str:
    """Return what the release promises, quantified, and for whom it holds.

    The epsilon and the delta printed are at least the ones that hold.
    """
    price = unit_price(plan)
    differ = f"tables x, x' that differ by {plan.unit.differ_by(plan.neighbours)}"
    return (
        f"{quantified(differ, price.epsilon, price.delta)}. {plan.unit.holds_for(plan.neighbours)}"
    )


def cost(plan: Plan, account: Account) -> Price:
    """Return what a release costs in the account's relation; AccountError for another unit.

    A replaced record is one taken away and one added: two steps. The other way round there is no
    bound, and a plan that keeps n public does not fit an account for changing n.
    """
    account.require_unit(plan.unit)
    if plan.neighbours == account.neighbours:
        return unit_price(plan)
    if account.neighbours == RELATIONS[0]:
        return unit_price(plan).times(2)
    raise PlanError(
        f'{plan.file.where("records")}: records must be "secret" for account {account.path}, whose '
        'epsilon is for one record more or less, got "public"'
    )


@dataclass(frozen=True)
class PaidRelease:
    """One paid release of a table, and everything that may be published about it.

    `private` is the draw, `request` its name, `receipt` the account's last entry, `price` what it
    cost, `left` and `bounds` what is left and what there was, epsilon and delta; `repeated` says
    that the draw had been paid for and kept before. Made by `release_table`.
    """

    plan: Plan
    private: Release
    request: str
    receipt: Receipt
    price: Price
    left: Price
    bounds: Price
    repeated: bool = False

    def record(self) -> dict[str, Any]:
        """Return what `release.json` holds, less what is computed from the draw afterwards."""
        plan, private, groups = self.plan, self.private, None
        if plan.by is not None:
            outer, inner = plan.attributes
            groups = {"labels": list(outer.labels), "within": list(inner.labels)}
        record = {
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
            "delta": significant_text(unit_price(plan).delta, "up"),
            "unit": str(plan.unit),
            "records_of_a_person": plan.unit.keep,
            "neighbours": plan.neighbours,
            "guarantee": promise(plan),
            "receipt": str(self.receipt),
        }
        for name, price in (("cost", self.price), ("balance", self.left), ("bound", self.bounds)):
            way = "up" if name == "cost" else "down"
            record[name] = decimal_text(price.epsilon, way, 12)
            record[f"delta_{name}"] = significant_text(price.delta, way)
        return record


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
    outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, with the plan's epsilon and the
    mechanism's delta, which is 0 for most. The same request on the same table returns the same draw
    and costs nothing more. `show_values` prints a value that the plan does not list.

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
    >>> int(first.private.counts.sum()), first.left.epsilon, again.left.epsilon, again.repeated
    (50, Fraction(3, 2), Fraction(3, 2), True)
    >>> bool((first.private.noisy == again.private.noisy).all())
    True
    >>> [first.record()[name] for name in ("labels", "records", "cost", "balance")]
    [['good', 'fair', 'poor'], 50, '0.5', '1.5']
    """
    place = Path(table)
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
    account.reserve(request, price.epsilon, plan.statement(), table=mark, delta=price.delta)
    if kept is None:
        drawn = release(planned_mechanism(plan), counts, plan.prior)
        said = {"n": drawn.n, "noisy": drawn.noisy.tolist(), "counts": drawn.counts.tolist()}
        kept = account.keep(request, json.dumps(said))
    said = json.loads(kept)
    noisy, released = (np.array(said[name], dtype=np.int64) for name in ("noisy", "counts"))
    private = Release(
        planned_mechanism(plan), plan.prior, int(said["n"]), noisy, released, plan.labels
    )
    left = Price(account.balance, account.delta_balance)
    bounds = Price(account.bound, account.delta_bound)
    return PaidRelease(plan, private, request, account.receipt, price, left, bounds, repeated)
