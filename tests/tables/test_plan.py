"""A plan is checked first; mistakes name line, key, value and what is allowed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpbayes.tables.attributes import Bins
from dpbayes.tables.files import PlanError
from dpbayes.tables.release import statement_of
from dpbayes.tables.rules import MISSING_VALUES
from dpbayes.tables.table import TableError, count
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


@pytest.mark.parametrize(
    "edges", ["[0, inf, 5]", "[inf, 0]", "[0, nan]", "[-inf, -inf]"]
)
def test_edges_follow_the_one_rule_of_bins(tmp_path, edges):
    text = changed("cat", f"categories = {{health = {{edges = {edges}}}}}")
    given = tuple(map(float, edges.strip("[]").split(",")))
    with pytest.raises(ValueError, match="health must be at least 2 numbers") as told:
        Bins("health", given)
    with pytest.raises(PlanError) as refused:
        planned(tmp_path, text)
    assert str(told.value).partition(", got")[0] in str(refused.value)


SPELLED = (*MISSING_VALUES, " n/a ", "null", "nan", "  ", "\t")


@pytest.mark.parametrize("text", SPELLED)
def test_what_counts_as_missing_is_what_it_is_in_a_cube(tmp_path, text):
    table = tmp_path / "t.csv"
    table.write_text(f'health\ngood\n"{text}"\n')
    refusing = planned(tmp_path, PLAN)
    with pytest.raises(TableError, match="row 2 has no value in 'health'"):
        count(table, refusing.attributes, refusing.rules)
    counting = planned(tmp_path, changed("x", 'missing = "poor"'))
    assert count(table, counting.attributes, counting.rules).tolist() == [1, 0, 1]
    dropping = planned(tmp_path, changed("x", 'missing = "drop"\nrecords = "secret"'))
    assert count(table, dropping.attributes, dropping.rules).tolist() == [1, 0, 0]


@pytest.mark.parametrize("text", SPELLED)
def test_who_has_no_name_is_nobody_in_a_plan(tmp_path, text):
    table = tmp_path / "t.csv"
    table.write_text(f'id,health\n1,good\n"{text}",good\n"{text}",poor\n')
    plan = planned(tmp_path, OF_NOBODY + 'person = "id"\n')
    with pytest.raises(TableError, match="row 2 has no value in 'id', the column that"):
        count(table, plan.attributes, plan.rules)


def test_a_number_that_is_none_is_nobody(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    rows = (
        "(VALUES (1.0, 'good'), ('nan'::DOUBLE, 'good'), (NULL, 'poor')) t(id, health)"
    )
    for i, order in enumerate(("id", "id DESC NULLS LAST", "id NULLS FIRST")):
        table = tmp_path / f"{i}.parquet"
        duckdb.sql(f"COPY (SELECT * FROM {rows} ORDER BY {order}) TO '{table}'")
        plan = planned(tmp_path, OF_NOBODY + 'person = "id"\n')
        with pytest.raises(TableError, match="has no value in 'id'"):
            count(table, plan.attributes, plan.rules)


def test_a_spelling_that_the_plan_lists_is_a_category(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("health\ngood\n?\nNone\n")
    listed = changed("cat", 'categories = ["good", "None"]\nmissing = "None"')
    plan = planned(tmp_path, listed)
    assert count(table, plan.attributes, plan.rules).tolist() == [1, 2]
    plan = planned(tmp_path, changed("cat", 'categories = ["good", "None", "?"]'))
    assert count(table, plan.attributes, plan.rules).tolist() == [1, 1, 1]
    more = 'missing_values = ["99"]\nmissing = "poor"'
    plan = planned(tmp_path, changed("x", more))
    table.write_text("health\ngood\n 99 \n")
    assert count(table, plan.attributes, plan.rules).tolist() == [1, 0, 1]
    table.write_text("health\ngood\nNA\n")
    with pytest.raises(TableError, match="row 2 has a value in 'health' that was not"):
        count(table, plan.attributes, plan.rules)


def test_how_spellings_are_listed_does_not_change_what_is_drawn(tmp_path):
    def statement(listed):
        return statement_of(
            planned(tmp_path, changed("x", f"missing_values = {listed}"))
        )

    assert (
        statement('["", "NA"]') == statement('["na", " "]') == statement('["NA", ""]')
    )
    assert statement('["", "NA"]') != statement('["NA"]')


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


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('unit = "record"', 'unit = "person"', 'unit must be "record"; where a person'),
        ('"0.5"', "half", "cannot be read: Invalid value .*; texts stand in quotation"),
        ('unit = "record"', 'unit = "record"\nprior = 1e-300', "from 1e-9 to 1e9"),
    ],
)
def test_a_likely_slip_is_told_with_what_to_write(tmp_path, old, new, told):
    with pytest.raises(PlanError, match=told):
        planned(tmp_path, PLAN.replace(old, new))
