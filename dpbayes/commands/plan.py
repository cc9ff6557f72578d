"""``dpbayes plan``: what a release would cost and how good it would be, without
touching anything.

dpbayes plan release.toml --records 5000
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import dpbayes as dp
from dpbayes.tables.analysis import ERROR, SHAPES, WIDTH, bounded_analysis
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import open_account
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.release import (
    cost,
    meaning,
    planned_mechanism,
    promise,
    promised_epsilon,
    rehearse,
)
from dpbayes.tables.report import LEVEL, distance_text, mechanism_text
from dpbayes.tables.units import RELATIONS, counted, decimal_text

ERRORS = (0.1, 0.05, 0.02)
MOST_CELLS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("plan", help="plan of a release (TOML)")
    parser.add_argument("--records", type=int, help="number of records you expect")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan as understood, its price, its promise and its expected error."""
    plan, records = read_plan(arguments.plan), arguments.records
    planned_mechanism(plan)  # or why there is none
    if records is not None and records < 1:
        raise ValueError(f"--records must be at least 1, got {records}")
    asked = {"name": plan.mechanism, "options": plan.options}
    cells = " × ".join(f"{one.name} ({one.size})" for one in plan.attributes)
    print(f"cells      {len(plan.labels)}: {cells}")
    print(f"mechanism  {mechanism_text(asked)}")
    print(f"guarantee  {promise(plan)}")
    print(f"meaning    {meaning(plan)}")
    print(f"cost       {price(plan)}", flush=True)
    if records is None:
        print("forecast   give --records N for the error to expect")
    else:
        rehearse(plan, records)
        asked |= {"records": records, "epsilon": str(plan.epsilon_of_a_record)}
        found = bounded_analysis(asked | {"prior": plan.prior.tolist()})
        print(
            f"error      {error(found[ERROR], records)}\nwidth     "
            f" {width(found[WIDTH])}"
        )
    if plan.mechanism == "lattice":
        print(needed(plan))
    return 0


def price(plan: Plan) -> str:
    """Return the cost beside what the account holds, or why the account cannot be
    asked.
    """
    try:
        account = open_account(plan.account)
        wanted, left = cost(plan, account), account.balance
    except AccountError as error:
        return f"{unpaid(plan)}; {error}"
    said = f"{decimal_text(wanted, 'up')} of the {decimal_text(left, 'down')} left"
    return said if wanted <= left else f"{said}, not enough"


def unpaid(plan: Plan) -> str:
    """Return the cost where no account says in which relation it is paid."""
    epsilon = promised_epsilon(plan)
    text, twice = (decimal_text(times * epsilon, "up") for times in (1, 2))
    if plan.neighbours == RELATIONS[0]:
        return text
    return (
        f"{twice} of an account for replaced records, which account create makes, or"
        f" {text} of one made with --neighbours {RELATIONS[1]}"
    )


def error(part: Mapping[str, Any], records: int) -> str:
    """Return the errors for two made-up data sets."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    even, halving = (distance_text(part[shape]) for shape in SHAPES)
    return (
        f"{even} mean Hellinger distance for balanced counts of"
        f" {counted(records, 'record')}, {halving} where each category is half the one"
        " before"
    )


def width(part: Mapping[str, Any]) -> str:
    """Return how wide the intervals will be."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    return (
        f"{part['aware']:.3g} (± {part['error']:.1g}) of the {LEVEL:.0%} noise-aware"
        f" interval of a share, balanced counts, mean of {part['draws']} made-up"
        f" releases; {part['plain']:.3g} if the noise is ignored"
    )


def needed(plan: Plan) -> str:
    """Return how many records are enough for some errors, by proof, for balanced
    data."""
    k, epsilon = len(plan.labels), float(plan.epsilon_of_a_record)
    if k > MOST_CELLS:  # each of the numbers takes a minute for 10,000 cells
        return f"records    not computed for more than {MOST_CELLS:,} cells"
    enough = [
        dp.records_needed(e, epsilon, [1.0 / k] * k, plan.prior).records for e in ERRORS
    ]
    pairs = ", ".join(f"{n:,} for {e:g}" for n, e in zip(enough, ERRORS, strict=True))
    return f"records    enough for a mean error, balanced data: {pairs}"
