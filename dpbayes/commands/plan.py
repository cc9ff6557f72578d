"""``dpbayes plan``: what a release would cost and how good it would be, without touching anything.

dpbayes plan release.toml --records 5000
"""

from __future__ import annotations

import argparse

import numpy as np

from dpbayes.mechanisms import Mechanism
from dpbayes.planning import records_needed
from dpbayes.releasing.decimals import decimal_text, significant_text
from dpbayes.releasing.from_table import rehearse
from dpbayes.releasing.opening import open_account
from dpbayes.releasing.plan import Plan, read_plan
from dpbayes.releasing.prices import cost, person_sentence, planned_mechanism
from dpbayes.releasing.witness import AccountError

ERRORS = (0.1, 0.05, 0.02)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("plan", help="plan of a release (TOML)")
    parser.add_argument("--records", type=int, help="number of records you expect")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan as understood, its price, its promise and its expected error."""
    plan = read_plan(arguments.plan)
    chosen = planned_mechanism(plan)
    cells = " × ".join(f"{column.name} ({column.size})" for column in plan.columns)
    print(f"cells      {len(plan.labels)}: {cells}")
    print(f"mechanism  {chosen}")
    print(f"guarantee  {person_sentence(plan)}")
    print(f"cost       {price(plan)}")
    if arguments.records is not None:
        if arguments.records < 1:
            raise ValueError(f"--records must be at least 1, got {arguments.records}")
        rehearse(plan, arguments.records)
        print(expected(plan, chosen, arguments.records))
    if plan.mechanism == "lattice":
        print(needed(plan))
    return 0


def price(plan: Plan) -> str:
    """Return the cost beside what the account holds, or why the account cannot be asked."""
    try:
        account = open_account(plan.account)
    except AccountError as error:
        return f"{decimal_text(plan.epsilon, 'up')}; {error}"
    wanted, left, spare = cost(plan, account), account.balance, account.delta_balance
    verdict = "" if wanted.epsilon <= left and wanted.delta <= spare else ", not enough"
    slack = ""
    if wanted.delta:
        texts = significant_text(wanted.delta, "up"), significant_text(spare, "down")
        slack = ", and delta {} of the {} left".format(*texts)
    amount = f"{decimal_text(wanted.epsilon, 'up')} of the {decimal_text(left, 'down')} left"
    return f"{amount}{slack}{verdict}"


def expected(plan: Plan, chosen: Mechanism, records: int) -> str:
    """Return the mean error for balanced data and for halving shares of this size."""
    k = len(plan.labels)
    halving = 0.5 ** np.arange(1, k + 1)
    errors = []
    for shares in (np.full(k, 1.0 / k), halving / halving.sum()):
        counts = np.floor(shares * records).astype(np.int64)
        counts[0] += records - counts.sum()
        errors.append(float(chosen.law(counts, plan.prior).mean_distance()))
    return (
        f"error      {errors[0]:.3g} mean Hellinger distance for balanced counts of {records:,} "
        f"records, {errors[1]:.3g} where each category is half the one before"
    )


def needed(plan: Plan) -> str:
    """Return how many records are enough for some errors, by proof, for balanced data."""
    k = len(plan.labels)
    epsilon = float(plan.epsilon_of_a_record)
    found = [records_needed(e, epsilon, [1.0 / k] * k, plan.prior).records for e in ERRORS]
    pairs = ", ".join(f"{n:,} for {e:g}" for n, e in zip(found, ERRORS, strict=True))
    return f"records    enough for a mean error, balanced data: {pairs}"
