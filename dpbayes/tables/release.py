"""From a table of people to a release: count, pay, draw, keep, and only then look at
it.

The order makes it safe: the spend is durable before the draw, the draw before anybody
sees it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpbayes._validate import path
from dpbayes.mechanisms import Mechanism
from dpbayes.mechanisms.capabilities import Draws, Finishes, own
from dpbayes.mechanisms.protocol import guarantee, quantified
from dpbayes.mechanisms.spec import read_afterwards
from dpbayes.tables.account import Account
from dpbayes.tables.drawn import Release, no_sampler, release
from dpbayes.tables.files import PlanError
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import open_account
from dpbayes.tables.plan import Plan
from dpbayes.tables.published import SCHEMA, chosen_mechanism, noise_of
from dpbayes.tables.table import read
from dpbayes.tables.units import decimal_text


def planned_mechanism(plan: Plan) -> Mechanism:
    """Return the mechanism of a plan, at the epsilon of one record; PlanError if it has
    none.
    """
    where = plan.file.where(
        "mechanism" if "mechanism" in plan.file.settings else "options"
    )
    try:
        chosen = chosen_mechanism(
            plan.mechanism, plan.epsilon_of_a_record, plan.options
        )
        promised = guarantee(chosen, len(plan.labels))
    except (ValueError, TypeError) as error:
        raise PlanError(f"{where}: mechanism: {error}") from error
    if own(chosen, Draws) is None:
        raise PlanError(f"{where}: mechanism {no_sampler(chosen)}")
    if (
        promised.bound is None
        or promised.failure
        or promised.neighbours != plan.neighbours
    ):
        raise PlanError(
            f"{where}: mechanism must have a proved guarantee for {plan.neighbours}"
            f" (records = {plan.records!r}) without a delta, since accounts add up"
            f" epsilons alone, got {plan.mechanism!r}. {promised.sentence}"
        )
    if promised.bound != plan.epsilon_of_a_record:
        bound = decimal_text(promised.bound * plan.unit.keep, "up")
        raise PlanError(
            f"{where}: mechanism must promise the plan's epsilon,"
            f" {decimal_text(plan.epsilon, 'up')}, got {plan.mechanism!r}, which with"
            f" these options promises {bound} for {len(plan.labels)} categories: leave"
            " out the option that changes it, or choose ilapMech or lattice, which"
            " promise the epsilon they are given"
        )
    return chosen


def promised_epsilon(plan: Plan) -> Fraction:
    """Return the epsilon that the planned mechanism promises one unit of the plan.

    It is the mechanism's own proved bound for one record, times the records that are
    kept of a person. This, and not the number in the plan, is paid and said.
    """
    bound = guarantee(planned_mechanism(plan), len(plan.labels)).bound
    assert bound is not None, "a planned mechanism has a proved guarantee"
    return bound * plan.unit.keep


def statement_of(plan: Plan) -> str:
    """Return what decides the law of the noisy value: plans that agree in it share a
    draw.
    """
    chosen = planned_mechanism(plan)
    noise = own(chosen, Finishes) is not None
    return plan.statement(read_afterwards(chosen) if noise else None)


def promise(plan: Plan) -> str:
    """Return what the release promises, and for whom it holds."""
    differ = f"tables x, x' that differ by {plan.unit.differ_by(plan.neighbours)}"
    said = quantified(differ, promised_epsilon(plan))
    return f"{said}. {plan.unit.holds_for(plan.neighbours)}"


def meaning(plan: Plan) -> str:
    """Return what the promise means for one unit, in odds."""
    return plan.unit.odds(promised_epsilon(plan), plan.neighbours).sentence


def cost(plan: Plan, account: Account) -> Fraction:
    """Return what a release costs in the account's relation; AccountError where it has
    no price.
    """
    of_a_record = promised_epsilon(plan) / plan.unit.keep
    account.require_unit(plan.unit)
    return of_a_record * account.factor(plan.neighbours)


@dataclass(frozen=True)
class PaidRelease:
    """One paid release of a table; `repeated` says that it had been paid for and kept
    before.
    """

    plan: Plan
    private: Release
    request: str
    receipt: str
    cost: Fraction
    balance: Fraction
    bound: Fraction
    repeated: bool = False

    def record(self) -> dict[str, Any]:
        """Return what `release.json` holds, less what is computed from the draw
        afterwards.
        """
        plan, private = self.plan, self.private
        noise = noise_of(private.mechanism, len(plan.labels))
        return {
            "schema": SCHEMA,
            "dataset": plan.dataset,
            "request": self.request,
            "labels": list(plan.labels),
            "columns": [attribute.name for attribute in plan.attributes],
            "cells": [list(cell) for cell in plan.cells],
            "counts": private.counts.tolist(),
            "noisy": private.noisy.tolist(),
            "posterior": private.posterior.concentration.tolist(),
            "prior": plan.prior.tolist(),
            "prior_stated": private.prior_stated,
            "records": private.n if plan.records == "public" else None,
            "mechanism": {
                "name": plan.mechanism,
                "epsilon": str(plan.epsilon_of_a_record),
                "options": plan.options,
            },
            "noise": None if noise is None else noise.model_dump(),
            "epsilon": decimal_text(promised_epsilon(plan), "up", 12),
            "unit": str(plan.unit),
            "records_of_a_person": plan.unit.keep,
            "design_effect": plan.design_effect,
            "neighbours": plan.neighbours,
            "guarantee": promise(plan),
            "meaning": meaning(plan),
            "cost": decimal_text(self.cost, "up", 12),
            "balance": decimal_text(self.balance, "down", 12),
            "bound": decimal_text(self.bound, "down", 12),
            "receipt": self.receipt,
        }


def rehearse(plan: Plan, records: int) -> None:
    """Draw once from made-up, balanced counts and read a share, so that a refusal comes
    before anything is paid.
    """
    k = len(plan.labels)
    counts = np.full(k, records // k, dtype=np.int64)
    counts[: max(records % k, records == 0)] += 1
    made = release(planned_mechanism(plan), counts, plan.prior)
    try:
        made.shares().read([0]).interval()
    except ValueError as error:
        raise PlanError(
            f"{plan.file.where('epsilon')}: such a release could not be read: {error}"
        ) from error


def release_table(
    table: str | Path,
    plan: Plan,
    show_values: bool = False,
    check: Callable[[str], None] | None = None,
) -> PaidRelease:
    r"""Return the release of a table under a plan, paid from its account and kept
     there.

    For all tables x, x' that differ as the plan's unit and relation say, and every set
    S of outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] with the plan's epsilon. The
    same request on the same table returns the same draw and costs nothing more.
    `show_values` prints a value that the plan does not list. `check` is called with the
    request's name before anything is counted or paid, and ends the release with what it
    raises.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from dpbayes.tables import Plan, count, create_account, open_account, read_plan
    >>> here = tempfile.TemporaryDirectory()
    >>> name = here.name
    >>> with here, patch.dict(os.environ, DPBAYES_KEYS=name):
    ...     table, file = Path(name) / "people.csv", Path(name) / "plan.toml"
    ...     _ = table.write_text("health\n" + 40 * "good\n" + 10 * "poor\n")
    ...     _ = file.write_text(
    ...         'dataset = "clinic"\naccount = "clinic.account"\nunit = "record"\n'
    ...         'column = "health"\ncategories = ["good", "fair", "poor"]\n'
    ...         'epsilon = "0.5"\n'
    ...     )
    ...     plan: Plan = read_plan(file)
    ...     true = count(table, plan.attributes).tolist()  # or a TableError
    ...     made = plan.account, "clinic", 2, table, plan.unit
    ...     account: Account = create_account(*made)
    ...     first, again = (release_table(table, plan) for _ in range(2))
    ...     left = open_account(plan.account).balance
    >>> true, int(first.private.counts.sum()), first.repeated, again.repeated, left
    ([40, 0, 10], 50, False, True, Fraction(3, 2))
    """
    place, chosen = path("table", table), planned_mechanism(plan)
    account = open_account(plan.account)
    if account.dataset != plan.dataset:
        told = (
            f"{account.dataset!r}, whose account {account.path} is, got"
            f" {plan.dataset!r}"
        )
        raise PlanError(f"{plan.file.where('dataset')}: dataset must be {told}")
    price = cost(plan, account)
    mark = account.check_table(place)
    finish = own(chosen, Finishes)
    statement = statement_of(plan)
    request = plan.request_of(mark, statement)
    if check is not None:
        check(request)
    kept = account.result(request, mark)
    repeated = kept is not None
    if kept is None:
        counts, digest = read(place, plan.attributes, plan.rules, show_values)
        account.check_reading(place, mark, digest)
        n = int(counts.sum()) if plan.records == "public" else 1000
        if n == 0:
            told = "holds no record that the plan counts; look at column and categories"
            raise AccountError(f"table {place} {told}")
        rehearse(plan, n)
    # Whoever asks again must ask for the same: the account says so.
    account.reserve(request, price, statement, table=mark)
    if kept is None:
        drawn = release(chosen, counts, plan.prior)
        said = {
            "n": drawn.n,
            "noisy": drawn.noisy.tolist(),
            "counts": drawn.counts.tolist(),
        }
        kept = account.keep(request, json.dumps(said))
    said = json.loads(kept)
    noisy, released = (
        np.array(said[name], dtype=np.int64) for name in ("noisy", "counts")
    )
    n = int(said["n"])
    if finish is not None:  # with this plan's prior and options, from the same noise
        released = finish.finished(noisy, n, plan.prior)
    stated = plan.design_effect, "prior" in plan.file.settings
    named = tuple(plan.labels)
    private = Release(chosen, plan.prior, n, noisy, released, *stated, named)
    paid = price, account.balance, account.bound
    return PaidRelease(plan, private, request, account.receipt, *paid, repeated)
