"""What a planned release promises, and what it costs an account."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpbayes.mechanisms import Mechanism, mechanism
from dpbayes.mechanisms.guarantees import given_epsilon, guarantee, quantified
from dpbayes.mechanisms.independent import IndependentNoise
from dpbayes.tables.account import Account
from dpbayes.tables.decimals import exp_above
from dpbayes.tables.plan import Plan, PlanError
from dpbayes.tables.units import RELATIONS

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
