"""Counting a table: against a plain count in Python, and what is refused, without its content."""

from __future__ import annotations

import csv
import random
from collections import Counter

import pytest

from dpbayes.releasing.plan import read_plan
from dpbayes.releasing.sources import TableError
from dpbayes.releasing.tables import count_table

duckdb = pytest.importorskip("duckdb")
LABELS = ["good", "it's fair", "poor", "unknown"]


def write(path, header, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def plan(tmp_path, more="", categories=LABELS):
    path = tmp_path / "plan.toml"
    path.write_text(
        'dataset = "clinic"\naccount = "a"\nepsilon = 1\ncolumn = "health"\n'
        f"categories = {categories}\n{more}"
    )
    return read_plan(path)


@pytest.fixture
def people():
    draw = random.Random(7)
    return [
        (draw.randrange(600), draw.choice([*LABELS[:3], "", "NA"]), draw.randrange(18, 90))
        for _ in range(2000)
    ]


def test_counts_agree_with_a_plain_count(tmp_path, people):
    table = write(tmp_path / "people.csv", ["id", "health", "age"], people)
    found = count_table(table, plan(tmp_path, 'missing = "unknown"'))
    wanted = Counter("unknown" if value in ("", "NA") else value for _, value, _ in people)
    assert found.tolist() == [wanted[label] for label in LABELS]


def test_parquet_gives_the_same(tmp_path, people):
    table = write(tmp_path / "people.csv", ["id", "health", "age"], people)
    parquet = tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{table}', header = true)) TO '{parquet}'")
    declared = plan(tmp_path, 'missing = "unknown"')
    assert count_table(parquet, declared).tolist() == count_table(table, declared).tolist()


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_each_person_counts_with_their_first_records(tmp_path, people, keep):
    table = write(tmp_path / "people.csv", ["id", "health", "age"], people)
    found = count_table(table, plan(tmp_path, f'missing = "unknown"\nperson = "id"\nkeep = {keep}'))
    seen: Counter[int] = Counter()
    wanted: Counter[str] = Counter()
    for person, value, _ in people:
        seen[person] += 1
        if seen[person] <= keep:
            wanted["unknown" if value in ("", "NA") else value] += 1
    assert found.tolist() == [wanted[label] for label in LABELS]


def test_numbers_are_put_into_bins(tmp_path, people):
    table = write(tmp_path / "people.csv", ["id", "health", "age"], people)
    text = tmp_path / "plan.toml"
    text.write_text(
        'dataset = "c"\naccount = "a"\nepsilon = 1\ncolumn = "age"\n'
        "categories = {age = {edges = [18, 40, 65, 90]}}\n"
    )
    wanted = [
        sum(low <= age < high for *_, age in people) for low, high in [(18, 40), (40, 65), (65, 90)]
    ]
    assert count_table(table, read_plan(text)).tolist() == wanted


def test_two_columns(tmp_path, people):
    rows = [(person, value or "NA", "f" if age % 2 else "m") for person, value, age in people]
    table = write(tmp_path / "people.csv", ["id", "health", "sex"], rows)
    path = tmp_path / "plan.toml"
    path.write_text(
        'dataset = "c"\naccount = "a"\nepsilon = 1\n'
        'columns = ["sex", "health"]\nmissing_values = []\n'
        f'[categories]\nsex = ["f", "m"]\nhealth = {[*LABELS[:3], "NA"]}\n'
    )
    wanted = Counter((sex, value) for _, value, sex in rows)
    cells = [(sex, value) for sex in "fm" for value in [*LABELS[:3], "NA"]]
    assert count_table(table, read_plan(path)).tolist() == [wanted[cell] for cell in cells]


def test_an_unknown_value_is_named_by_its_row_alone(tmp_path):
    table = write(tmp_path / "t.csv", ["health"], [["good"], ["secret disease"], ["poor"]])
    with pytest.raises(TableError, match="row 2 has a value in 'health'") as caught:
        count_table(table, plan(tmp_path))
    assert "secret" not in str(caught.value)
    with pytest.raises(TableError, match="row 2 has a value 'secret disease' in 'health'"):
        count_table(table, plan(tmp_path), show_values=True)


def test_missing_values_are_refused_dropped_or_counted(tmp_path):
    table = write(tmp_path / "t.csv", ["id", "health"], [[1, "good"], [2, "NA"], [3, ""]])
    with pytest.raises(TableError, match="row 2 has no value in 'health'"):
        count_table(table, plan(tmp_path))
    counted = count_table(table, plan(tmp_path, 'missing = "unknown"'))
    dropped = count_table(table, plan(tmp_path, 'missing = "drop"\nrecords = "secret"'))
    assert counted.tolist() == [1, 0, 0, 2]
    assert dropped.tolist() == [1, 0, 0, 0]


def test_a_person_without_a_name_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", ["id", "health"], [[1, "good"], ["", "poor"], ["NA", "good"]])
    with pytest.raises(TableError, match=r"row 2 \(and 1 more\) has no value in 'id'"):
        count_table(table, plan(tmp_path, 'person = "id"'))


def test_numbers_outside_the_edges_or_not_finite_are_refused(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        'dataset = "c"\naccount = "a"\nepsilon = 1\ncolumn = "age"\n'
        "categories = {age = {edges = [0, 10, 20]}}\n"
    )
    for bad in ("20", "-1", "nan", "inf", "old"):
        table = write(tmp_path / "t.csv", ["age"], [["5"], [bad]])
        with pytest.raises(TableError, match="row 2 has a value in 'age'"):
            count_table(table, read_plan(path))


def test_a_table_that_does_not_fit_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", ["helth"], [["good"]])
    # Without a first line of names, what stands there is a person's record.
    with pytest.raises(TableError, match="has no column 'health'; it has 1 column; --show-values"):
        count_table(table, plan(tmp_path))
    with pytest.raises(TableError, match="has no column 'health'; it has 1 column: 'helth'"):
        count_table(table, plan(tmp_path), show_values=True)
    table = write(tmp_path / "c.csv", ["Health "], [["good"]])
    with pytest.raises(TableError, match="'health', only one that differs from it by capitals or"):
        count_table(table, plan(tmp_path))
    for name, message in (("none.csv", "which is none"), ("plan.toml", "must end in .csv")):
        plan(tmp_path)
        with pytest.raises(TableError, match=message):
            count_table(tmp_path / name, plan(tmp_path))
    broken = tmp_path / "x.parquet"
    broken.write_bytes(b"nothing")
    with pytest.raises(TableError, match=r"cannot be read as \.parquet"):
        count_table(broken, plan(tmp_path))


def test_names_with_quotes_are_only_names(tmp_path):
    name = 'he"alth'
    table = write(tmp_path / "t.csv", [name], [["good"], ["poor"]])
    path = tmp_path / "plan.toml"
    path.write_text(
        f"dataset = 'c'\naccount = 'a'\nepsilon = 1\ncolumn = '{name}'\n"
        "categories = ['good', 'poor']\n"
    )
    assert count_table(table, read_plan(path)).tolist() == [1, 1]
