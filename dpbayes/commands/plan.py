"""``dpbayes plan``: what a release would cost and how good it would be, without touching anything.

dpbayes plan release.toml --records 5000
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from dpbayes.planning import records_needed
from dpbayes.releasing.analysis import LEVEL
from dpbayes.tables.decimals import counted, decimal_text, significant_text
from dpbayes.releasing.forecast import WIDTH, compared, forecast
from dpbayes.releasing.from_table import rehearse
from dpbayes.releasing.opening import open_account
from dpbayes.releasing.plan import Plan, read_plan
from dpbayes.releasing.prices import cost, person_sentence, planned_mechanism
from dpbayes.releasing.witness import AccountError

ERRORS = (0.1, 0.05, 0.02)
CLASSES = {
    "all": "the mean over all data sets of {n} in {k} categories",
    "even": "evenly spread counts of {n} in {k} categories",
}
TIE = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("plan", help="plan of a release (TOML)")
    parser.add_argument("--records", type=int, help="number of records you expect")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan as understood, its price, its promise, its expected error, and rivals."""
    plan = read_plan(arguments.plan)
    chosen = planned_mechanism(plan)
    if arguments.records is not None and arguments.records < 1:
        raise ValueError(f"--records must be at least 1, got {arguments.records}")
    cells = " × ".join(f"{column.name} ({column.size})" for column in plan.columns)
    print(f"cells      {len(plan.labels)}: {cells}")
    print(f"mechanism  {chosen}")
    print(f"guarantee  {person_sentence(plan)}")
    print(f"cost       {price(plan)}")
    if arguments.records is None:
        print("forecast   give --records N for the error to expect and a comparison")
    else:
        rehearse(plan, arguments.records)
        print(comparison(plan, arguments.records))
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


def comparison(plan: Plan, records: int) -> str:
    """Return the expected error and width, and which mechanism has the smallest error."""
    request = {
        "name": plan.mechanism,
        "options": plan.options,
        "epsilon": str(plan.epsilon_of_a_record),
        "prior": plan.prior.tolist(),
        "records": records,
        "secret": plan.records == "secret",
    }
    found = forecast(request)
    own = next(iter(compared(request)))
    lines = [f"error      {own_error(found[own], records)}", f"width      {width(found[WIDTH])}"]
    rivals = {label: part for label, part in found.items() if label != WIDTH}
    return "\n".join([*lines, *advice(rivals, own, records, len(plan.labels))])


def own_error(part: Mapping[str, Any], records: int) -> str:
    """Return the errors of the plan's mechanism for two made-up data sets."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    made_up = f" (simulated, {part['draws']} made-up releases each)" if "draws" in part else ""
    return (
        f"{measured(part, 'even')} mean Hellinger distance for balanced counts of "
        f"{counted(records, 'record')}, {measured(part, 'halving')} where each category is half "
        f"the one before{made_up}"
    )


def measured(part: Mapping[str, Any], kind: str) -> str:
    """Return an error, with the standard error of a simulated one, or the largest of an average.

    >>> measured({"even": 0.25}, "even"), measured({"even": 0.25, "even_error": 0.004}, "even")
    ('0.25', '0.25 ± 0.004')
    """
    error = part.get(f"{kind}_error")
    return f"{part[kind]:.3g}" if error is None else f"{part[kind]:.3g} ± {error:.1g}"


def width(part: Mapping[str, Any]) -> str:
    """Return how wide the intervals will be."""
    if "missing" in part:
        return f"not computed: {part['missing']}"
    return (
        f"{part['aware']:.3g} (± {part['error']:.1g}) of the {LEVEL:.0%} noise-aware interval of a "
        f"share, balanced counts, mean of {part['draws']} made-up releases; {part['plain']:.3g} if "
        "the noise is ignored"
    )


def advice(rivals: Mapping[str, Mapping[str, Any]], own: str, records: int, k: int) -> list[str]:
    """Return the comparison, the mechanism with the smallest error in it, and over which data."""
    known = {label: part for label, part in rivals.items() if "missing" not in part}
    if not known:
        return ["recommended nothing: no error could be computed"]
    kind = "all" if all("all" in part for part in known.values()) else "even"
    errors = {label: part[kind] for label, part in known.items()}
    doubts = {label: part.get(f"{kind}_error", 0.0) for label, part in known.items()}
    first = min(errors, key=errors.__getitem__)
    equal = [
        label
        for label, error in errors.items()
        if error <= errors[first] + TIE + 2.0 * math.hypot(doubts[label], doubts[first])
    ]
    chosen = own if own in equal else first
    sort = "exact mean error" if not any(doubts.values()) else "mean error (± simulated)"
    where = CLASSES[kind].format(n=counted(records, "record"), k=k)
    ordered = sorted(errors.items(), key=last)
    listed = ", ".join(f"{label} {measured(known[label], kind)}" for label, _ in ordered)
    without = [label for label in rivals if label not in known]
    left_out = f"; not computed or not possible here: {', '.join(without)}" if without else ""
    others = [label for label in equal if label != chosen]
    tie = f" (as small: {', '.join(others)})" if others else ""
    reason = (
        f"the smallest {sort} of these {len(errors)}, at this epsilon, for {where}; for "
        "other data another may be better, and looking it up in the table would be a leak"
        if len(rivals) > 1
        else "the only mechanism here whose promise is for one record more or less"
    )
    lines = [f"compared   {listed}{left_out}", f"recommended  {chosen}{tie}: {reason}"]
    if own not in equal and own in errors:
        lines.append(
            f"           the plan has {own}, whose error there is {measured(known[own], kind)}"
        )
    return lines


def last(pair: tuple[str, float]) -> float:
    """Return the error in a pair of label and error."""
    return pair[1]


def needed(plan: Plan) -> str:
    """Return how many records are enough for some errors, by proof, for balanced data."""
    k = len(plan.labels)
    epsilon = float(plan.epsilon_of_a_record)
    found = [records_needed(e, epsilon, [1.0 / k] * k, plan.prior).records for e in ERRORS]
    pairs = ", ".join(f"{n:,} for {e:g}" for n, e in zip(found, ERRORS, strict=True))
    return f"records    enough for a mean error, balanced data: {pairs}"
