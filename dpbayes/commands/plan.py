"""``dpbayes plan``: what a release would cost and how good it would be, without touching anything.

dpbayes plan release.toml --records 5000
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from dpbayes.planning import records_needed
from dpbayes.tables.account import AccountError
from dpbayes.tables.analysis import ERROR, WIDTH, forecast
from dpbayes.tables.decimals import counted, decimal_text, significant_text
from dpbayes.tables.opening import open_account
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.release import cost, planned_mechanism, promise, rehearse
from dpbayes.tables.report import LEVEL

ERRORS = (0.1, 0.05, 0.02)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("plan", help="plan of a release (TOML)")
    parser.add_argument("--records", type=int, help="number of records you expect")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan as understood, its price, its promise and its expected error."""
    plan = read_plan(arguments.plan)
    chosen = planned_mechanism(plan)
    if arguments.records is not None and arguments.records < 1:
        raise ValueError(f"--records must be at least 1, got {arguments.records}")
    cells = " × ".join(f"{one.name} ({one.size})" for one in plan.attributes)
    print(f"cells      {len(plan.labels)}: {cells}")
    print(f"mechanism  {chosen}")
    print(f"guarantee  {promise(plan)}")
    print(f"cost       {price(plan)}", flush=True)
    if arguments.records is None:
        print("forecast   give --records N for the error to expect")
    else:
        rehearse(plan, arguments.records)
        print(expected(plan, arguments.records))
    if plan.mechanism == "lattice":
        print(needed(plan))
    return 0


def price(plan: Plan) -> str:
    """Return the cost beside what the account holds, or why the account cannot be asked."""
    try:
        account = open_account(plan.account)
        wanted = cost(plan, account)
    except AccountError as error:
        return f"{decimal_text(plan.epsilon, 'up')}; {error}"
    left, spare = account.balance, account.delta_balance
    verdict = "" if wanted.epsilon <= left and wanted.delta <= spare else ", not enough"
    slack = ""
    if wanted.delta:
        texts = significant_text(wanted.delta, "up"), significant_text(spare, "down")
        slack = ", and delta {} of the {} left".format(*texts)
    amount = f"{decimal_text(wanted.epsilon, 'up')} of the {decimal_text(left, 'down')} left"
    return f"{amount}{slack}{verdict}"


def expected(plan: Plan, records: int) -> str:
    """Return the expected error and the width of intervals."""
    request = {
        "name": plan.mechanism,
        "options": plan.options,
        "epsilon": str(plan.epsilon_of_a_record),
        "prior": plan.prior.tolist(),
        "records": records,
    }
    found = forecast(request)
    return f"error      {error(found[ERROR], records)}\nwidth      {width(found[WIDTH])}"


def error(part: Mapping[str, Any], records: int) -> str:
    """Return the errors for two made-up data sets."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    made_up = f" (simulated, {part['draws']} made-up releases each)" if "draws" in part else ""
    return (
        f"{measured(part, 'even')} mean Hellinger distance for balanced counts of "
        f"{counted(records, 'record')}, {measured(part, 'halving')} where each category is half "
        f"the one before{made_up}"
    )


def measured(part: Mapping[str, Any], shape: str) -> str:
    """Return an error, with the standard error of a simulated one, or the largest of an average.

    >>> measured({"even": 0.25}, "even"), measured({"even": 0.25, "even_error": 0.004}, "even")
    ('0.25', '0.25 ± 0.004')
    """
    doubt = part.get(f"{shape}_error")
    return f"{part[shape]:.3g}" if doubt is None else f"{part[shape]:.3g} ± {doubt:.1g}"


def width(part: Mapping[str, Any]) -> str:
    """Return how wide the intervals will be."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    return (
        f"{part['aware']:.3g} (± {part['error']:.1g}) of the {LEVEL:.0%} noise-aware interval of a "
        f"share, balanced counts, mean of {part['draws']} made-up releases; {part['plain']:.3g} if "
        "the noise is ignored"
    )


def needed(plan: Plan) -> str:
    """Return how many records are enough for some errors, by proof, for balanced data."""
    k = len(plan.labels)
    epsilon = float(plan.epsilon_of_a_record)
    found = [records_needed(e, epsilon, [1.0 / k] * k, plan.prior).records for e in ERRORS]
    pairs = ", ".join(f"{n:,} for {e:g}" for n, e in zip(found, ERRORS, strict=True))
    return f"records    enough for a mean error, balanced data: {pairs}"
