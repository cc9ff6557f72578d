"""A plan is checked first; mistakes name line, key, value and what is allowed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpbayes.tables.files import PlanError
from dpbayes.tables.release import statement_of
from dpbayes.tables.table import count
from dpbayes.tables.units import RECORD
from tests.tables.clinic import OF_NOBODY, PLAN, planned


def changed(key, line):
    kept = [row for row in PLAN.splitlines() if not row.startswith(key)]
    return "\n".join([*kept, line]) + "\n"


def test_a_short_plan_has_careful_defaults(tmp_path):
    plan = planned(tmp_path, PLAN)
    assert plan.epsilon == Fraction(1, 2)
    assert plan.account == tmp_path / "clinic.account"
    assert (plan.rules.missing, plan.records, plan.unit) == ("refuse", "public", RECORD)
    assert (plan.mechanism, plan.prior.tolist()) == ("lattice", [1.0, 1.0, 1.0])
    assert plan.labels == ("good", "fair", "poor")


def test_two_columns_give_cells_the_last_fastest(tmp_path):
    text = changed("c", 'columns = ["sex", "age"]\n[categories]\nsex = ["f", "m"]')
    plan = planned(tmp_path, text + "age = {edges = [0, 18, 65.5]}\n")
    assert plan.labels == ("f, 0 to 18", "f, 18 to 65.5", "m, 0 to 18", "m, 18 to 65.5")
    assert plan.attributes[1].edges == (0.0, 18.0, 65.5)


def test_edges_may_be_open(tmp_path):
    text = changed("cat", "categories = {health = {edges = [-inf, 18, 40, inf]}}")
    plan = planned(tmp_path, text)
    assert plan.labels == ("below 18", "18 to 40", "40 or more")
    (tmp_path / "t.csv").write_text("health\n-3\n17.9\n18\n400\n")
    counts = count(tmp_path / "t.csv", plan.attributes, plan.rules)
    assert counts.tolist() == [2, 1, 1]


def test_the_budget_of_a_person_is_shared_by_the_records_kept(tmp_path):
    plan = planned(tmp_path, OF_NOBODY + 'person = "id"\nkeep = 5\n')
    assert plan.epsilon_of_a_record == Fraction(1, 10)


def test_records_of_one_person_are_taken_for_equal_unless_declared(tmp_path):
    """Kish: a share of n/keep people with keep equal answers has keep times the
    variance."""
    three = OF_NOBODY + 'person = "id"\nkeep = 3\n'
    assert planned(tmp_path, three).design_effect == 3.0
    assert planned(tmp_path, three + "correlation = 0.25\n").design_effect == 1.5
    assert planned(tmp_path, three + "correlation = 0\n").design_effect == 1.0
    assert planned(tmp_path, PLAN).design_effect == 1.0
    for line in ("correlation = 1.5", "correlation = -0.1"):
        with pytest.raises(PlanError, match=r"correlation must be .* than or equal to"):
            planned(tmp_path, three + line + "\n")
    with pytest.raises(PlanError, match="correlation must be left out where one"):
        planned(tmp_path, PLAN + "correlation = 0.5\n")


def test_requests_follow_what_is_drawn_and_the_table_unless_they_are_named(tmp_path):
    def request(more="", mark="a"):
        plan = planned(tmp_path, PLAN + more)
        return plan.request_of(mark, statement_of(plan))

    assert request() == request("# a remark\n") == request("prior = 2\n")
    assert request() != request(mark="b")
    assert request() != request('mechanism = "ilapMech"\n')
    scored = 'mechanism = "expMech"\n'
    assert request(scored) != request(scored + "prior = 2\n")
    assert request('request = "spring"\n') == "spring"


# What several keys say together, or a file that is none; each key by itself is in
# `test_hostile`.
MISTAKES = [
    ("categories", 'categories = ["a"]', "line 6: categories must be 2 to 10000 cells"),
    (
        "categories",
        'categories = {x = ["a"]}',
        "line 6: categories must be given for health",
    ),
    (
        "categories",
        "categories = {health = {edges = [2, 1]}}",
        "line 6: categories: edges of",
    ),
    (
        "categories",
        "categories = [1, 2, 3]",
        r'line 6: categories must be texts in quotation marks, such as \["1", "2"',
    ),
    ("categories", "categories = [true, false]", "must be texts in quotation marks"),
    ("categories", 'categories = "good"', "must be texts in quotation marks"),
    (
        "categories",
        'categories = {health = {edges = [0, 18, "40"]}}',
        "categories must be of edges that are numbers; -inf may be the first",
    ),
    (
        "categories",
        "categories = {health = {edge = [0, 18]}}",
        r"categories must be a list of texts or \{edges = \[18, 40, 65\]\}",
    ),
    ("x", "keep = 2", "line 7: keep must be used with person"),
    (
        "x",
        'missing = "drop"',
        r'line 7: missing must be .* so it needs records = "secret"',
    ),
    (
        "x",
        'missing = "other"',
        'line 7: missing must be "refuse" or a category of health',
    ),
    ("x", "prior = [1, 1]", "line 7: prior must be one number, or 3"),
    (
        "column",
        'columns = ["health", "health"]',
        "line 6: columns must be one or two different",
    ),
    (
        "x",
        'colum = "x"',
        "no such key 'colum'; there are unit, person, keep, dataset, account",
    ),
    ("column", "", "either column or columns must be given"),
    ("account", "", "account must be given"),
]


@pytest.mark.parametrize(("key", "line", "message"), MISTAKES)
def test_mistakes_are_named(tmp_path, key, line, message):
    with pytest.raises(PlanError, match=message):
        planned(tmp_path, changed(key, line))
