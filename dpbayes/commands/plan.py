"""``dpbayes plan``: what a release would cost and how good it would be, without
touching anything.

dpbayes plan release.toml --records 5000
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import dpbayes as dp
from dpbayes.commands.waiting import waiting
from dpbayes.tables.analysis import COUNT, DOUBT, ERROR, SHAPES, bounded_analysis
from dpbayes.tables.attributes import MOST_RECORDS
from dpbayes.tables.forecast import HARDLY, records_for
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
    statement_of,
)
from dpbayes.tables.report import LEVEL, distance_text, mechanism_text
from dpbayes.tables.shares import NOISE, PRIOR
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
    if records is not None and not 1 <= records <= MOST_RECORDS:
        raise ValueError(f"--records must be from 1 to 2^53, got {records}")
    asked: dict[str, Any] = {"name": plan.mechanism, "options": plan.options}
    cells = " × ".join(f"{one.name} ({one.size})" for one in plan.attributes)
    print(f"cells      {len(plan.labels)}: {cells}")
    print(f"mechanism  {mechanism_text(asked)}")
    print(f"guarantee  {promise(plan)}")
    print(f"meaning    {meaning(plan)}")
    said, enough = price(plan)
    print(f"cost       {said}", flush=True)
    if records is None:
        print("forecast   give --records N for the error to expect")
    else:
        with waiting("working out the error"):
            rehearse(plan, records)
        asked |= {"records": records, "epsilon": str(plan.epsilon_of_a_record)}
        asked |= {"prior": plan.prior.tolist(), "design_effect": plan.design_effect}
        asked["prior_stated"] = "prior" in plan.file.settings
        with waiting("working out the error"):
            found = bounded_analysis(asked)
        print("\n".join(counts_text(found[COUNT])))
        print("\n".join(doubt_text(found[DOUBT], len(plan.labels))))
        print(f"distance   {error(found[ERROR], records, len(plan.labels))}")
    if hardly := hardly_wider(plan):
        print(hardly)
    if plan.mechanism == "lattice":
        print(needed(plan))
    return 0 if enough else 1


def price(plan: Plan) -> tuple[str, bool]:
    """Return the cost beside what the account holds, or why the account cannot be
    asked, and whether what is left is enough.
    """
    try:
        account = open_account(plan.account)
        wanted, left = cost(plan, account), account.balance
    except AccountError as error:
        return f"{unpaid(plan)}; {error}", True
    said = f"{decimal_text(wanted, 'up')} of the {decimal_text(left, 'down')} left"
    paid = [
        entry
        for entry in account.entries
        if entry.kind == "spend" and entry.fields["statement"] == statement_of(plan)
    ]
    if paid and plan.request in (None, paid[-1].request):
        again = f"already paid as request {paid[-1].request}, entry {paid[-1].sequence}"
        return f"{said}; {again}: on the same table it is drawn and costs nothing", True
    return (said, True) if wanted <= left else (f"{said}, not enough", False)


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


IN_WORDS = dict(
    zip(SHAPES, ("balanced", "each count half the one before"), strict=True)
)


def counts_text(part: Mapping[str, Any]) -> list[str]:
    """Return the error of the largest count of two made-up tables, in records."""
    if "missing" in part:
        return [f"error      not computed: {part['missing']}"]
    told = []
    for shape, words in IN_WORDS.items():
        one = part[shape]
        told += [
            f"error      {words}: {one['sentence']}",
            f"           The interval is {one['width']:.3g} wide in the mean; before"
            f" the release it is {LEVEL:g}. {one['advice']}",
        ]
    return told


def doubt_text(part: Mapping[str, Any], k: int) -> list[str]:
    """Return how many intervals the report would mark, and why."""
    if "missing" in part:
        return [f"intervals  not computed: {part['missing']}"]
    told = []
    for shape, words in IN_WORDS.items():
        one = part[shape]
        if n := one[NOISE]:
            told.append(
                f"intervals  {words}: {n} of {k} would hold more than half of all"
                " shares; the noise hides them"
            )
        if n := one[PRIOR]:
            told.append(
                f"intervals  {words}: {n} of {k} would be decided by the plan's prior"
                " rather than by the release; leave prior out unless you can defend it"
            )
    return told or ["intervals  none decided by the prior or hidden by the noise"]


def error(part: Mapping[str, Any], records: int, k: int) -> str:
    """Return the mean distances for two made-up data sets."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    even, halving = (distance_text(part[shape]) for shape in SHAPES)
    return (
        f"{even} mean Hellinger distance of all {k} shares together for balanced"
        f" counts of {counted(records, 'record')}, {halving} where each category is"
        " half the one before"
    )


def hardly_wider(plan: Plan) -> str:
    """Return how many records make the noise matter little, "" where no law tells."""
    k = len(plan.labels)
    try:
        records = records_for(planned_mechanism(plan), 1.0 / k, k, HARDLY)
    except ValueError:
        return ""
    return (
        f"records    from about {records:,} on the interval of a share of 1/{k} is at"
        f" most {HARDLY:.0%} wider than without noise"
    )


def needed(plan: Plan) -> str:
    """Return how many records are enough for some distances of all shares together, by
    proof, for balanced data.
    """
    k, epsilon = len(plan.labels), float(plan.epsilon_of_a_record)
    if k > MOST_CELLS:  # each of the numbers takes a minute for 10,000 cells
        return f"records    not computed for more than {MOST_CELLS:,} cells"
    lattice, balanced = dp.mechanism("lattice", epsilon), [1.0 / k] * k
    enough = [
        dp.records_needed(lattice, balanced, plan.prior, error).records
        for error in ERRORS
    ]
    pairs = ", ".join(f"{n:,} for {e:g}" for n, e in zip(enough, ERRORS, strict=True))
    return (
        f"records    at most so many for a mean distance of all {k} shares together,"
        f" balanced data: {pairs}"
    )
