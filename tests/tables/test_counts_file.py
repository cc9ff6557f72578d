"""A table that holds counts: one row a category, and a column with its number."""

from __future__ import annotations

import pytest

from dpbayes.__main__ import main
from dpbayes.tables.files import PlanError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.release import release_table
from dpbayes.tables.table import TableError, count
from dpbayes.tables.units import RECORD
from tests.tables.clinic import PLAN, planned

ROWS = {"good": 40, "fair": 25, "poor": 5}
COUNTED = PLAN + 'count = "n"\n'


@pytest.fixture
def survey(purse):
    """Return a folder with a file of counts, its account and a plan for it."""
    written(purse, *(f"{label},{number}" for label, number in ROWS.items()))
    (purse / "plan.toml").write_text(COUNTED)
    create_account(
        purse / "clinic.account", "clinic", "2", purse / "counts.csv", RECORD
    )
    return purse


def written(folder, *rows, head="health,n"):
    (folder / "counts.csv").write_text("\n".join([head, *rows]) + "\n")


def counted(folder, text=COUNTED):
    plan = planned(folder, text)
    return count(folder / "counts.csv", plan.attributes, plan.rules).tolist()


def test_a_file_of_counts_is_the_table_of_its_records(survey, capsys):
    """The same reader, account and report: 70 records, n public, paid once."""
    assert counted(survey) == [40, 25, 5]
    assert main(["release", "counts.csv", "--plan", "plan.toml"]) == 0
    assert "0.5 of 2; 1.5 left" in capsys.readouterr().out
    again = release_table(survey / "counts.csv", planned(survey, COUNTED))
    assert again.repeated
    assert again.record()["records"] == 70
    assert open_account(survey / "clinic.account").spent == 0.5


def test_an_absent_row_is_a_count_of_zero_and_the_order_is_the_plan_s(tmp_path):
    written(tmp_path, "poor,7", "good,3.0")
    assert counted(tmp_path) == [3, 0, 7]


def test_two_columns_and_a_missing_category_are_counted(tmp_path):
    written(tmp_path, "f,good,4", "m,,2", "m,good,0", head="sex,health,n")
    text = COUNTED.replace('column = "health"', 'columns = ["sex", "health"]').replace(
        'categories = ["good", "fair", "poor"]', 'missing = "none"'
    )
    text += '[categories]\nsex = ["f", "m", "none"]\nhealth = ["good", "none"]\n'
    assert counted(tmp_path, text) == [4, 0, 0, 2, 0, 0]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["good,2.5"], "row 1 must have a whole number of records in 'n'"),
        (["good,4", "poor,-3"], "row 2 must have a whole number of records in"),
        (["good,"], "row 1 must have a whole number"),
        (["good,1e3"], "row 1 must have a whole number"),
        (["good,4", "good,5"], "must have one row for 'good'.* got several"),
        (["good,4", "good,4"], "must have one row for 'good'.* got several"),
        (["good,4", "bad,1"], "row 2 has a value in 'health' that was not declared"),
    ],
)
def test_what_is_no_count_is_refused_and_costs_nothing(survey, capsys, rows, told):
    written(survey, *rows)
    open_account(survey / "clinic.account").accept(survey / "counts.csv")
    with pytest.raises(TableError, match=told):
        counted(survey)
    assert main(["release", "counts.csv", "--plan", "plan.toml"]) == 2
    assert open_account(survey / "clinic.account").spent == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PLAN + 'count = "health"\n',
            "line 7: count must be a column that is no attribute",
        ),
        (
            COUNTED.replace('unit = "record"', 'person = "id"'),
            "count must not be used where the unit is a person",
        ),
        (PLAN + 'count = ""\n', "count must be"),
        (PLAN + "count = 3\n", "count must be"),
    ],
)
def test_a_plan_with_a_wrong_column_of_counts_is_refused(tmp_path, text, told):
    with pytest.raises(PlanError, match=told):
        planned(tmp_path, text)
