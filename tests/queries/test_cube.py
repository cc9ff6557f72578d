"""Cubes counted by DuckDB against counts in numpy, and query texts against boolean arrays."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpbayes import queries

AGE = queries.Bins("age", (20, 35, 50, 65), whole=True)
SEX = queries.Categories("sex", ("f", "m"))
INCOME = queries.Bins("income", (0, 10, 20, 30))
GRADE = queries.Categories("grade", (1, 2, 3))


@pytest.fixture(scope="module")
def records() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(12)
    return {
        "age": rng.integers(20, 65, 500),
        "sex": rng.choice(["f", "m"], 500),
        "income": rng.uniform(0, 30, 500).round(3),
    }


@pytest.fixture(scope="module")
def table(records: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cube") / "people.csv"
    rows = zip(*records.values(), strict=True)
    path.write_text("\n".join([",".join(records), *(",".join(map(str, row)) for row in rows)]))
    return path


def expected_counts(records: dict[str, np.ndarray]) -> np.ndarray:
    counts = np.zeros((3, 2, 3), dtype=int)
    for age, sex, income in zip(*records.values(), strict=True):
        counts[(age - 20) // 15, "fm".index(sex), int(income // 10)] += 1
    return counts.reshape(-1)


def test_csv_parquet_and_table_give_the_same_counts(
    records: dict[str, np.ndarray], table: Path
) -> None:
    duckdb = pytest.importorskip("duckdb")
    attributes = (AGE, SEX, INCOME)
    from_csv = queries.build_cube(table, attributes)
    np.testing.assert_array_equal(from_csv.counts, expected_counts(records))
    parquet = table.with_suffix(".parquet")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{table}')")
    connection.execute(f"COPY people TO '{parquet}'")
    np.testing.assert_array_equal(queries.build_cube(parquet, attributes).counts, from_csv.counts)
    direct = queries.build_cube("people", attributes, connection=connection)
    np.testing.assert_array_equal(direct.counts, from_csv.counts)
    connection.close()


def test_records_outside_the_bins(table: Path) -> None:
    pytest.importorskip("duckdb")
    narrow = (queries.Bins("age", (30, 40)),)
    with pytest.raises(ValueError, match="lie outside; widen the bins"):
        queries.build_cube(table, narrow)
    assert 0 < queries.build_cube(table, narrow, outside="drop").counts.sum() < 500


def test_counted_rows_are_summed() -> None:
    pytest.importorskip("duckdb")
    counted = queries.build_cube(
        queries.rand_hie_cells(), queries.rand_hie_cube().attributes, count="records"
    )
    np.testing.assert_array_equal(counted.counts, queries.rand_hie_cube().counts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "missing.csv"}, "source 'missing.csv' cannot be counted"),
        ({"source": "no_table"}, "source 'no_table' cannot be counted"),
        ({"attributes": [queries.Bins("height", (0, 1))]}, "cannot be counted"),
        ({"attributes": [queries.Bins("sex", (0, 1))]}, "cannot be counted"),
        ({"outside": "guess"}, "outside must be one of"),
        ({"attributes": [AGE, AGE]}, "different names"),
        ({"count": "nothing"}, "cannot be counted"),
    ],
)
def test_sources_that_cannot_be_counted(
    table: Path, arguments: dict[str, object], message: str
) -> None:
    pytest.importorskip("duckdb")
    chosen = {"source": table, "attributes": (AGE,), **arguments}
    source, attributes = chosen.pop("source"), chosen.pop("attributes")
    with pytest.raises(ValueError, match=message):
        queries.build_cube(source, attributes, **chosen)  # type: ignore[arg-type]


CUBE = queries.Cube((AGE, SEX, INCOME, GRADE), np.arange(54))
A, S, K, G = (index.reshape(-1) for index in np.indices((3, 2, 3, 3)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", A >= 0),
        ("age >= 35", A >= 1),
        ("age > 34", A >= 1),
        ("age <= 49 and sex = f", (A <= 1) & (S == 0)),
        ("age <= 64", A >= 0),
        ("income < 10 or income >= 20", K != 1),
        ("not (income < 10 or income >= 20)", K == 1),
        ("sex in (f, m) and grade in (1, 3)", G != 1),
        ("sex != 'f'", S == 1),
        ("grade >= 2 and not sex == m", (G >= 1) & (S == 0)),
        ("income > -5", A >= 0),
        ("2 * (income >= 10)", 2 * (K >= 1)),
        ("2 * income >= 10 and sex = f - 0.5 * all", 2.0 * ((K >= 1) & (S == 0)) - 0.5),
        ("- sex = m + 3 * grade = 1", 3 * (G == 0) - 1 * (S == 1)),
    ],
)
def test_query_texts(text: str, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(CUBE.query(text), expected.astype(float))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must not be empty"),
        ("   ", "must not be empty"),
        ("income >= 15", "cuts through the bin 10 to 20"),
        ("income > 10", "cuts through the bin 10 to 20"),
        ("income = 10", "cuts through the bin"),
        ("age = 36", "cuts through the bin 35 to 50"),
        ("height > 3", "no attribute 'height'"),
        ("sex = x", "sex must be one of f, m, got 'x'"),
        ("sex < f", "has no order"),
        ("sex = 3", "sex must be one of f, m, got '3'"),
        ("income = low", "is numeric"),
        ("income >=", "ends too early"),
        ("income 10", "a comparison must be one of"),
        ("(income >= 10", r"expected '\)'"),
        ("income >= 10 sex = f", "unexpected 'sex'"),
        ("2 income >= 10", r"expected '\*'"),
        ("income >= 10; drop table", "unexpected ';'"),
        ("__import__('os')", "no attribute '__import__'"),
        ("income in 10", r"expected '\('"),
        ("sex = and", "a value must stand here"),
    ],
)
def test_texts_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CUBE.query(text)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: queries.Bins("a", (1,)), ValueError, "at least 2 and increase"),
        (lambda: queries.Bins("a", (1, 1)), ValueError, "at least 2 and increase"),
        (lambda: queries.Bins("a", (0, float("nan"))), ValueError, "edges must be finite, got nan"),
        (lambda: queries.Bins("", (0, 1)), ValueError, "name must be text"),
        (lambda: queries.Categories("a", ()), ValueError, "distinct and at least 1"),
        (lambda: queries.Categories("a", ("x", "x")), ValueError, "distinct"),
        (lambda: queries.Categories("a", ("x", 1)), TypeError, "all text or all numbers"),
        (lambda: queries.Cube((SEX,), [1, 2, 3]), ValueError, "counts must have 2 entries"),
        (lambda: queries.Cube((SEX,), [1, -2]), ValueError, "whole numbers from 0"),
        (lambda: queries.Cube((SEX,), [1, 2.5]), ValueError, "whole numbers from 0"),
        (lambda: queries.Cube((SEX,), [1, np.nan]), ValueError, "finite"),
        (lambda: queries.Cube((), [1]), TypeError, "at least 1"),
        (lambda: CUBE.query(3), TypeError, "query must be text"),
    ],
)
def test_bad_input(call: object, error: type[Exception], message: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=message):
        call()


def test_real_table() -> None:
    cube = queries.rand_hie_cube()
    assert cube.counts.size == 1024
    assert cube.counts.sum() == 20190
    by_health = cube.counts.reshape(4, -1).sum(axis=1)
    np.testing.assert_array_equal(by_health, [11019, 7309, 1560, 302])
    assert cube.query("health = poor") @ cube.counts == 302


def test_bins_are_part_of_a_cube_s_identity() -> None:
    one = queries.Cube((queries.Bins("a", (0, 1, 2)),), [1, 2])
    other = queries.Cube((queries.Bins("a", (0, 1, 3)),), [1, 2])
    assert one.content() != other.content()
    assert one.content() == queries.Cube(one.attributes, [1, 2]).content()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Six digits write each of these pairs alike.
        (queries.Bins("t", (0, 1700001000, 2e9)), queries.Bins("t", (0, 1700003600, 2e9))),
        (queries.Bins("t", (0, 1, 2)), queries.Bins("t", (0, 1 + 1e-9, 2))),
        (queries.Categories("t", (1, 1234567)), queries.Categories("t", (1, 1234568))),
    ],
)  # fmt: skip
def test_edges_that_look_alike_make_cubes_that_share_no_ledger(first, second, tmp_path):
    one, other = (queries.Cube((attribute,), [40, 60]) for attribute in (first, second))
    assert one.content() != other.content()
    server = queries.QueryServer(one, 1.0, ledger=tmp_path / "spend")
    server.ask([0.0, 1.0], 10.0, 0.05)
    server.close()
    # A record between the edges is in the second cell of one and the first cell of the other, and
    # would lose twice what a ledger for both adds up.
    with pytest.raises(queries.LedgerError, match="another cube"):
        queries.QueryServer(other, 1.0, ledger=tmp_path / "spend")
    assert len(set(first.labels)) == 2


def test_short_numbers_keep_the_labels_that_ledgers_know():
    assert queries.Bins("a", (0, 0.5, 1e6, 1e22)).labels == (
        "0 to 0.5",
        "0.5 to 1e+06",
        "1e+06 to 1e+22",
    )
    assert queries.Categories("a", (1, 2.5, 123456)).labels == ("1", "2.5", "123456")


@pytest.mark.parametrize(
    "counts",
    [("10", "-4"), ("0.5", "0.5"), ("3", ""), ("3", "nan"), (str(2**53), "1"), (str(2**62),) * 3],
)  # fmt: skip
def test_every_row_has_a_whole_number_of_records(counts, tmp_path):
    source = tmp_path / "counts.csv"
    source.write_text("a,k\n" + "".join(f"0,{count}\n" for count in counts) + "1,2\n")
    with pytest.raises(ValueError, match=r"count must be a whole number from 0 to 2\^53"):
        queries.build_cube(source, [queries.Bins("a", (0, 1, 2))], count="k")


def test_counts_may_be_written_with_a_point(tmp_path):
    source = tmp_path / "counts.csv"
    source.write_text(f"a,k\n0,3.0\n0,4\n1,{2**53 - 1}\n")
    cube = queries.build_cube(source, [queries.Bins("a", (0, 1, 2))], count="k")
    assert cube.counts.tolist() == [7, 2**53 - 1]


def test_duckdb_is_imported_only_to_count_and_missed_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "import sys, dpbayes.queries; print({'duckdb', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"install dpbayes\[queries\]"):
        queries.build_cube("people.csv", (AGE,))


def test_every_row_is_counted_however_it_begins(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("name,age\n#a,10\nb,20\n#c,30\n# d,10\n")
    cube = queries.build_cube(table, [queries.Bins("age", [0, 15, 40])])
    assert cube.counts.tolist() == [2, 2]


def test_the_first_line_is_the_head_even_if_it_looks_like_a_row(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("a remark\nage\n10\n20\n")
    with pytest.raises(ValueError, match="cannot be counted"):
        queries.build_cube(table, [queries.Bins("age", [0, 15, 40])])


def test_a_file_name_is_no_pattern(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("age\n10\n")
    with pytest.raises(ValueError, match=r"source must be the name of one file"):
        queries.build_cube(tmp_path / "*.csv", [queries.Bins("age", [0, 15])])
    with pytest.raises(ValueError, match=r"source must be the name of one file"):
        queries.build_cube(tmp_path / "[ab].csv", [queries.Bins("age", [0, 15])])
