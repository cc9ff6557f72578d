"""A plan is checked first; mistakes name line, key, value and what is allowed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpbayes.tables.files import PlanError
from dpbayes.tables.plan import read_plan
from dpbayes.tables.units import RECORD

GOOD = """dataset = "clinic"
account = "clinic.account"
unit = "record"
column = "health"
categories = ["good", "fair", "poor"]
epsilon = "0.1"
"""


def planned(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return read_plan(path)


def changed(key, line):
    kept = [row for row in GOOD.splitlines() if not row.startswith(key)]
    return "\n".join([*kept, line]) + "\n"


def test_a_short_plan_has_careful_defaults(tmp_path):
    plan = planned(tmp_path, GOOD)
    assert plan.epsilon == Fraction(1, 10)
    assert plan.account == tmp_path / "clinic.account"
    assert (plan.rules.missing, plan.records, plan.unit) == ("refuse", "public", RECORD)
    assert (plan.mechanism, plan.prior.tolist()) == ("lattice", [1.0, 1.0, 1.0])
    assert plan.labels == ("good", "fair", "poor")


def test_two_columns_give_cells_the_last_fastest(tmp_path):
    text = changed("c", 'columns = ["sex", "age"]\n[categories]\nsex = ["f", "m"]')
    plan = planned(tmp_path, text + "age = {edges = [0, 18, 65.5]}\n")
    assert plan.labels == ("f, 0 to 18", "f, 18 to 65.5", "m, 0 to 18", "m, 18 to 65.5")
    assert plan.attributes[1].edges == (0.0, 18.0, 65.5)


def test_the_budget_of_a_person_is_shared_by_the_records_kept(tmp_path):
    plan = planned(tmp_path, GOOD.replace('unit = "record"\n', "") + 'person = "id"\nkeep = 5\n')
    assert plan.epsilon_of_a_record == Fraction(1, 50)


def test_requests_follow_plan_and_table_unless_they_are_named(tmp_path):
    plan = planned(tmp_path, GOOD)
    assert plan.request_of("a") == planned(tmp_path, GOOD + "# a remark\n").request_of("a")
    assert plan.request_of("a") != plan.request_of("b")
    assert plan.request_of("a") != planned(tmp_path, GOOD + "prior = 2\n").request_of("a")
    assert planned(tmp_path, GOOD + 'request = "spring"\n').request_of("a") == "spring"


MISTAKES = [
    (
        "epsilon",
        'epsilon = "-1"',
        r"line 6: epsilon must be a positive number in the digits 0 to 9, got '-1'",
    ),
    ("epsilon", "epsilon = true", r"line 6: epsilon must be a positive number"),
    ("epsilon", 'epsilon = "one"', r"line 6: epsilon must be a positive number in the digits"),
    ("dataset", 'dataset = "a b"', r"line 6: dataset must be 1 to 64 letters"),
    ("categories", "categories = []", r"line 6: categories: values of health must be distinct"),
    (
        "categories",
        'categories = ["a", "a"]',
        r"line 6: categories: values of health must be distinct",
    ),
    ("categories", "categories = [1, 2]", r"line 6: categories must be a valid"),
    ("categories", 'categories = ["a"]', r"line 6: categories must be 2 to 10000 cells"),
    ("categories", 'categories = {x = ["a"]}', r"line 6: categories must be given for health"),
    (
        "categories",
        "categories = {health = {edges = [2, 1]}}",
        r"line 6: categories: edges of health must be at least 2",
    ),
    ("x", "keep = 2", r"line 7: keep must be used with person"),
    ("unit", 'person = "id"\nkeep = 0', r"line 7: keep must be greater than or equal to 1, got 0"),
    ("x", 'missing = "drop"', r"line 7: missing must be .* so it needs records = \"secret\""),
    ("x", 'missing = "other"', r"line 7: missing must be \"refuse\" or a category of health"),
    ("x", 'records = "known"', r"line 7: records must be 'public' or 'secret', got 'known'"),
    ("x", "prior = [1, 1]", r"line 7: prior must be one number, or 3"),
    ("x", "prior = 0", r"line 7: prior must be one number, or 3, above 0"),
    ("column", 'columns = ["health", "health"]', r"line 6: columns must be one or two different"),
    ("x", 'request = "a b"', r"line 7: request must be 1 to 64 letters"),
    ("x", 'colum = "x"', r"no such key 'colum'; there are unit, person, keep, dataset, account"),
    ("column", "", r"either column or columns must be given"),
    ("x", 'columns = ["a"]', r"either column or columns must be given"),
    ("account", "", r"account must be given"),
    ("x", "epsilon = 1", r"Cannot overwrite a value \(at line 7"),
    ("x", "what is this", r"at line 7, column"),
]


@pytest.mark.parametrize(("key", "line", "message"), MISTAKES)
def test_mistakes_are_named(tmp_path, key, line, message):
    with pytest.raises(PlanError, match=message):
        planned(tmp_path, changed(key, line))


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(PlanError, match=r"plan .* cannot be read"):
        read_plan(tmp_path / "none.toml")
