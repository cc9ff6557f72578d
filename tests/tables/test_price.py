"""What is paid and said is the promise of what is drawn, and what it means in odds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.__main__ import main
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.mechanisms.protocol import guarantee
from dpbayes.tables.files import PlanError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.release import cost, planned_mechanism, promise
from dpbayes.tables.units import RECORD, Unit
from tests.tables.clinic import OF_NOBODY, PLAN, planned, released

TWO = OF_NOBODY.replace('["good", "fair", "poor"]', '["good", "poor"]')

# The mechanism promises something else than the plan's epsilon.
ELSEWHERE = [
    ("lapMech", "sensitivity = 0.001", "1000"),
    ("ilapMech", "sensitivity = 0.5", "2"),
    ("ilapMech", "sensitivity = 3", "0.333333"),
    ("lapMech", "sensitivity = 2.0000001", "0.4"),
    ("lapMech", "", "0.333333"),
    ("expMech", "divisor = 0.002", "500"),
    ("expMech-smooth", "divisor = 4.1", "0.4878"),
    ("expMech-smooth", "gamma = 0.5\ndivisor = 1", "1.5"),
]


@pytest.mark.parametrize(("name", "options", "promised"), ELSEWHERE)
@pytest.mark.parametrize("whom", ['unit = "record"', 'person = "id"\nkeep = 2'])
def test_a_plan_whose_mechanism_promises_something_else_is_refused(
    tmp_path, name, options, promised, whom
):
    text = f'{OF_NOBODY}{whom}\nmechanism = "{name}"\n[options]\n{options}\n'
    plan = planned(tmp_path, text)
    with pytest.raises(
        PlanError, match=r"must promise the plan's epsilon, 0\.5"
    ) as told:
        planned_mechanism(plan)
    assert name in str(told.value)
    for priced in (promise, lambda one: cost(one, None)):
        with pytest.raises(PlanError, match="must promise the plan's epsilon"):
            priced(plan)


def test_the_true_counts_are_not_sold_as_private(clinic, capsys):
    """The noise of a thousandth of a record is none; once it was sold for 0.5."""
    said = 'mechanism = "lapMech"\noptions = {sensitivity = 0.001}\n'
    (clinic / "plan.toml").write_text(PLAN + said)
    for command in (["plan"], ["release", "people.csv", "--plan"]):
        assert main([*command, "plan.toml"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "promises 1000" in printed.err
        assert printed.err.count("\n") == 1
    assert open_account(clinic / "clinic.account").spent == 0


# What is left of the options: the promise is the plan's epsilon.
ALIKE = [
    ("lapMech", "sensitivity = 2"),
    ("ilapMech", "rounding = 'nearest'"),
    ("expMech-smooth", "gamma = 0.3"),
    ("expMech-smooth", "gamma = 0.3\ndistance = 'l1'"),
    ("expMech", "divisor = 2"),
    ("permute-and-flip", "sensitivity = 'smooth'\ngamma = 0.05"),
    ("lattice", "projection = 'l1'"),
    ("optimal", "objective = 'worst'"),
]


@pytest.mark.parametrize(("name", "options"), ALIKE)
@pytest.mark.parametrize("keep", [1, 3])
def test_the_price_and_the_sentence_are_the_promise_of_the_mechanism(
    two_people, tmp_path, name, options, keep
):
    unit = Unit("id", keep)
    account = create_account(tmp_path / "a", "d", 3, two_people, unit)
    whom = f'person = "id"\nkeep = {keep}\nmechanism = "{name}"\n[options]\n{options}'
    plan = planned(tmp_path, OF_NOBODY + whom)
    bound = guarantee(planned_mechanism(plan), 3).bound
    assert cost(plan, account) == keep * bound == Fraction(1, 2)
    assert "P[M(x) in S] <= e^0.5 P[M(x') in S]" in promise(plan)


def test_price_and_promise_follow_the_mechanism_and_not_the_plan(
    two_people, tmp_path, monkeypatch
):
    """Were the refusal gone, the account would still be charged what is lost."""
    from dpbayes.tables import release as releases

    account = create_account(tmp_path / "a", "d", 3, two_people, RECORD)
    other = dp.mechanism("ilapMech", "0.5", sensitivity=0.5)
    monkeypatch.setattr(releases, "planned_mechanism", lambda plan: other)
    plan = planned(tmp_path, PLAN)
    assert cost(plan, account) == 2
    assert "<= e^2 P[M(x') in S]" in promise(plan)


def test_what_no_release_can_draw_has_no_price(tmp_path):
    plan = planned(tmp_path, PLAN + 'mechanism = "parameter-laplace"\n')
    with pytest.raises(PlanError, match="mechanism must have an exact sampler"):
        planned_mechanism(plan)


# --- odds ---------------------------------------------------------------------------


def _loss(mechanism, one, other):
    """The largest log ratio of the exact laws at two count vectors, both directions."""
    laws = [mechanism.law(x, np.ones(len(x))) for x in (one, other)]
    found = [
        dict(zip(map(tuple, p.outputs), p.log_probabilities, strict=True)) for p in laws
    ]
    shared = found[0].keys() & found[1].keys()
    return max(abs(found[0][key] - found[1][key]) for key in shared)


def test_odds_of_an_answer_are_those_of_the_exact_laws():
    """Where n is secret a changed answer is one record taken away and one added."""
    epsilon, changed = Fraction(1, 2), ([3, 2], [2, 3])
    secret = RECORD.odds(epsilon, "add-or-remove")
    public = RECORD.odds(epsilon, "replace-one")
    noise, lattice = IndependentNoise(epsilon), dp.mechanism("lattice", epsilon)
    assert _loss(noise, *changed) == pytest.approx(float(secret.answer), abs=1e-9)
    assert _loss(lattice, *changed) == pytest.approx(float(public.answer), abs=1e-9)
    assert _loss(noise, [3, 2], [3, 1]) == pytest.approx(float(secret.presence))
    assert public.presence is None


@pytest.mark.parametrize(("person", "keep"), [(None, 1), ("id", 1), ("id", 3)])
def test_odds_follow_unit_relation_and_keep(person, keep):
    unit, epsilon = Unit(person, keep), Fraction(3)
    public = unit.odds(epsilon, "replace-one")
    secret = unit.odds(epsilon, "add-or-remove")
    assert (public.answer, public.presence, public.record) == (
        3,
        None,
        Fraction(3, keep),
    )
    assert (secret.answer, secret.presence, secret.record) == (6, 3, Fraction(6, keep))


def test_odds_and_chances_are_rounded_up():
    odds = RECORD.odds(Fraction(1), "add-or-remove")
    assert odds.text(odds.answer) == "7.39"
    assert odds.text(odds.presence) == "2.72"
    assert odds.chance(odds.presence) == pytest.approx(math.e / (1 + math.e))
    assert odds.chance(odds.answer, before=0.9) == pytest.approx(
        9 * math.e**2 / (1 + 9 * math.e**2)
    )
    assert odds.chance(Fraction(10_000)) == 1.0
    assert odds.text(Fraction(10_000)) == "more than 1e+100"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('unit = "record"\n', ["odds on one record's answer", "at most 1.65 to 1"]),
        (
            'unit = "record"\nrecords = "secret"\n',
            ["whether one record is in the table", "at most 1.65 to 1", "2.72 to 1"],
        ),
        ('person = "id"\n', ["odds on one person's answer", "at most 1.65 to 1"]),
        (
            'person = "id"\nkeep = 2\nrecords = "secret"\n',
            ["whether one person is in the table", "1.65 to 1", "answers", "2.72 to 1"],
        ),
    ],
)
def test_the_sentence_about_odds_names_what_is_guessed(tmp_path, more, words):
    plan = planned(tmp_path, OF_NOBODY + more)
    said = plan.unit.odds(plan.epsilon, plan.neighbours).sentence
    for word in words:
        assert word in said


# --- records that change hands ------------------------------------------------------


def _counted(rows, keep):
    """Counts of a small table of (person, answer), by the first `keep` rows each."""
    taken, counts = {}, [0, 0]
    for person, answer in rows:
        taken[person] = taken.get(person, 0) + 1
        counts[answer] += taken[person] <= keep
    return counts


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_record_that_changes_hands_costs_what_is_said(keep):
    """All tables of six rows: one row gets another person and another answer."""
    most, n_changes = 0, False
    for owners in itertools.product("ab", repeat=6):
        for answers in itertools.product((0, 1), repeat=6):
            rows = list(zip(owners, answers, strict=True))
            before = _counted(rows, keep)
            for answer in (0, 1):
                other = "a" if owners[0] == "b" else "b"
                after = _counted([(other, answer), *rows[1:]], keep)
                change = sum(abs(p - q) for p, q in zip(before, after, strict=True))
                n_changes |= sum(before) != sum(after)
                most = max(most, change)
    assert n_changes
    said = Unit("id", keep).holds_for("replace-one")
    assert "not covered where" in said
    secret = Unit("id", keep).holds_for("add-or-remove")
    assert most <= 4
    factor = Fraction(4, keep)
    assert f"{float(factor):.3g} times" in secret or factor.denominator > 1


# --- what follows a draw is free ------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("", "prior = 2"),
        ("", "prior = [1, 2, 3]"),
        ("", 'options = {projection = "l1"}'),
        ("", "prior = 0.5\noptions = {remap = false}"),
        ('mechanism = "ilapMech"', 'mechanism = "ilapMech"\nprior = 3'),
        ('records = "secret"', 'records = "secret"\nprior = 3'),
    ],
)
def test_another_prior_reads_the_draw_that_is_kept(clinic, first, then):
    paid = released(clinic, PLAN + first + "\n")
    again = released(clinic, PLAN + then + "\n")
    assert again.repeated
    assert again.request == paid.request
    assert again.balance == paid.balance
    assert again.private.noisy.tolist() == paid.private.noisy.tolist()
    chosen, n = again.private.mechanism, again.private.n
    finished = chosen.finished(again.private.noisy, n, again.plan.prior)
    assert again.private.counts.tolist() == finished.tolist()


def test_a_draw_that_needs_the_prior_is_made_anew(clinic):
    pytest.importorskip("flint")
    (clinic / "people.csv").write_text("health\n" + 4 * "good\n" + 3 * "poor\n")
    open_account(clinic / "clinic.account").accept(clinic / "people.csv")
    paid = released(clinic, PLAN + 'mechanism = "permute-and-flip"\n')
    again = released(clinic, PLAN + 'mechanism = "permute-and-flip"\nprior = 2\n')
    assert not again.repeated
    assert again.balance == paid.balance - Fraction(1, 2)


@pytest.mark.parametrize("keep", [1, 3])
def test_a_plan_without_an_account_names_both_prices_of_a_secret_number(
    tmp_path, capsys, monkeypatch, keep
):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    whom = f'person = "id"\nkeep = {keep}\nrecords = "secret"\n'
    planned(tmp_path, OF_NOBODY + whom)
    assert main(["plan", str(tmp_path / "plan.toml")]) == 0
    printed = capsys.readouterr().out
    assert "cost       1 of an account for replaced records" in printed
    assert "or 0.5 of one made with --neighbours add-or-remove" in printed
