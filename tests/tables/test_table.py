"""One reader: what a table holds is counted as it is written, whatever its rows look
like.
"""

from __future__ import annotations

import hashlib
import math
import random
import sys
import time
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpbayes.tables import table as reader
from dpbayes.tables.attributes import Bins, Categories, Cube
from dpbayes.tables.table import Rules, TableError, count
from dpbayes.tables.units import Unit

SEX = Categories("sex", ("f", "m"))
SPELLINGS = [
    "yes", "True", "T", "t", "false", "F", "1", "0", "1.10", "1e3", "1E5", "12:30",
    "12:30:00", "01/02/2020", "2020-02-01", "2020-02-01 10:00:00",
    "2020-02-01T10:00:00Z",
    " 1", "1 ", "+1", "007", "0x1F", "1_000", "1,5", "NaN", "inf", "-inf", "NULL",
    "NA", "null",
    "None", "f", "m", "f\n", "a\nb", "#", "# remark", "é", "e\u0301", "Île", "'", '"',
    "\\", "{}", "[1]",
    "{'a': 1}", "true", "on", "P1D", "\ttab", "=1+1", "12345678901234567890",
    "0.1e-400",
]  # fmt: skip


def written(place: Path, rows: list[str], kind: str = ".csv") -> Path:
    """Write one column (every value of a CSV file in quotation marks if it needs
    them)."""
    if kind == ".parquet":
        return parquet(place, "SELECT unnest(?::VARCHAR[]) AS h", rows)
    return plain(place, "\n".join(["h", *map(field, rows)]) + "\n")


def plain(place: Path, text: str) -> Path:
    """Write a CSV file as it stands here."""
    (place / "table.csv").write_bytes(text.encode())
    return place / "table.csv"


def parquet(place: Path, query: str, *given: object) -> Path:
    """Write the answer to a query of DuckDB."""
    table = place / "table.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS {query}", given)
        connection.execute(f"COPY t TO '{table}' (FORMAT parquet)")
    return table


def field(text: str) -> str:
    special = not text.strip() or any(sign in text for sign in '",;\t|\n\r')
    return '"' + text.replace('"', '""') + '"' if special else text


def counted(table: Path, *attributes: Bins | Categories, **rules: object) -> list[int]:
    return count(table, attributes, Rules(outside="drop", **rules)).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("value", SPELLINGS)
@pytest.mark.parametrize("other", ["no", "x 7"])
def test_one_record_changes_a_count_by_at_most_one(tmp_path, value, other):
    """A type guessed from the rows made 500 of 900 records vanish or appear with one
    more.
    """
    declared = Categories("h", (value,))
    plain = [value] * 50 + [other] * 40
    before = counted(written(tmp_path, plain), declared)
    assert before == [50]
    for more in ("declined", value, "3", "2021-01-01"):
        assert (
            abs(counted(written(tmp_path, [*plain, more]), declared)[0] - before[0])
            <= 1
        )
    assert counted(written(tmp_path, plain, ".parquet"), declared) == [50]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(SPELLINGS)
        | st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"),
            max_size=6,
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(SPELLINGS),
)
def test_neighbouring_tables_have_neighbouring_counts(tmp_path, rows, more):
    values = tuple(dict.fromkeys(row for row in rows[:4]))
    # Where rows are dropped, what is not declared may have no line break.
    rows, more = (
        [row if row in values else row.replace("\n", " ") for row in texts]
        for texts in (rows, [more])
    )
    [more] = more
    declared = Categories("h", values)
    one = np.array(counted(written(tmp_path, rows), declared))
    two = np.array(counted(written(tmp_path, [*rows, more]), declared))
    np.testing.assert_array_equal(one, [rows.count(value) for value in values])
    assert np.abs(two - one).sum() <= 1
    bins = Bins("h", (0, 1, 2, 1000))
    rows, more = [row.replace("\n", " ") for row in rows], more.replace("\n", " ")
    one = np.array(counted(written(tmp_path, rows), bins))
    two = np.array(counted(written(tmp_path, [*rows, more]), bins))
    assert np.abs(two - one).sum() <= 1


@pytest.mark.parametrize(
    "names", [("H", "h"), ("h", "H"), ("straße", "STRASSE"), ("İ", "i̇")]
)
def test_names_that_differ_by_capitals_are_different_columns(tmp_path, names):
    table = plain(tmp_path, f"{names[0]},{names[1]}\na,b\n")
    assert counted(table, Categories(names[0], ("a", "b"))) == [1, 0]
    assert counted(table, Categories(names[1], ("a", "b"))) == [0, 1]


def test_parquet_names_that_differ_by_capitals_are_never_mixed_up(tmp_path):
    table = parquet(tmp_path, "SELECT 'b' AS HEALTH, 'a' AS heulth, 'x' AS s")
    table.write_bytes(table.read_bytes().replace(b"heulth", b"health"))
    assert counted(table, Categories("s", ("x", "y"))) == [1, 0]
    assert counted(table, Categories("HEALTH", ("a", "b"))) == [0, 1]
    with pytest.raises(
        TableError, match="no column 'health', only one that differs from it by"
    ):
        counted(table, Categories("health", ("a", "b")))


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
@pytest.mark.parametrize("folder", ["h=b", "h=b/g=1", "a*b", "a[1]", "a?"])
def test_a_folder_is_not_a_column_and_not_a_pattern(tmp_path, kind, folder):
    place = tmp_path / folder
    place.mkdir(parents=True)
    assert counted(
        written(place, ["a", "a", "a"], kind), Categories("h", ("a", "b"))
    ) == [3, 0]
    with pytest.raises(TableError, match="has no column 'g'"):
        counted(place / f"table{kind}", Categories("g", ("1", "2")))


def test_a_blank_line_within_a_value_is_part_of_it(tmp_path):
    table = written(tmp_path, ["a\n\nb", "", "c"])
    assert counted(table, Categories("h", ("a\n\nb", ""))) == [1, 1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("h,x\na,1\n\nb,2\n", "line 3 is blank"),
        ("h\na\nb\n\n\n\n", "line 4 is blank"),
        ("h\n\na\n", "line 2 is blank"), ("h\r\na\r\n\r\n", "line 3 is blank"),
        ("h\n" + "a\n" * 5000 + "\n", "line 5002 is blank"),
        ('h\n"a\n\nb"\n\n', "line 5 is blank"), ('h\n"a"\n\n"b"\n', "line 3 is blank"),
        ("h\ra\rb\r", "line 1 has a carriage return"),
        ("h\na\rb\n", "line 2 has a carriage return .* save it with line feeds"),
        (f"h,{'y' * 200_000}\na,1\n", "line 1 cannot be read .field larger than"),
        ('h,x\na,1\nb,"5" pipe\nc,3\n', "line 3 cannot be read"),
        ("\nh\na\n", "has no first line"),
        ("h,x\na,1\n \t\n", "line 3 does not have as many fields"),
        ("h\n" + "a\n" * 5000 + '"a', "line 5002 cannot be read"),
        ("h\n" + "a\n" * 5000 + "b,c\n", "line 5002 does not have as many fields"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(tmp_path, text, reason):
    with pytest.raises(TableError, match=reason):
        counted(plain(tmp_path, text), Categories("h", ("a", "b")))


def test_a_quotation_mark_within_a_value_and_mixed_line_ends_move_no_other_record(
    tmp_path,
):
    table = plain(tmp_path, 'h,x\r\na,5" pipe\nb,1\r\na,7" pipe\n')
    assert counted(table, Categories("h", ("a", "b"))) == [2, 1]


@pytest.mark.parametrize(
    "value",
    [
        "n/a", "NA", "", "4_0", "٤٠", "4 0", "0x28", "inf", "nan", "1e9999", "40y",
        "--4", "1e", ".", "40,5", "1e400000",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_what_is_no_number_is_outside(tmp_path, value, kind):
    table = written(tmp_path, ["20", value, "30"], kind)
    assert counted(table, Bins("h", (18, 40, 65))) == [2, 0]
    why = "has a value in 'h' that was not declared"
    if Rules().is_missing(value):
        why = rf"has no value in 'h' \({'a text' if value.strip() else 'an empty cell'}"
    with pytest.raises(TableError, match=f"data row 2 {why}"):
        count(table, [Bins("h", (18, 40, 65))])


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("17.999999999999999999", None), ("18.000000000000000000001", 0), ("18", 0),
        ("18.0", 0),
        ("1.8e1", 0), ("39." + "9" * 60, 0), ("40", 1), ("+40.", 1), (" 40 ", 1),
        ("64.99", 1),
        ("65", None), ("64." + "9" * 99, 1), ("-0", None), ("1800e-2", 0), ("0018", 0),
    ],
)  # fmt: skip
def test_numbers_are_placed_by_their_decimals(tmp_path, value, place):
    found = counted(written(tmp_path, [value]), Bins("h", (18, 40, 65)))
    assert found == [int(place == 0), int(place == 1)]


def test_listed_numbers_are_compared_by_their_decimals(tmp_path):
    rows = [
        "1",
        "1.0",
        "01",
        "1e0",
        "1." + "0" * 30 + "1",
        "0.1",
        ".10",
        "0.1" + "0" * 20 + "1",
    ]
    assert counted(written(tmp_path, rows), Categories("h", (1, 0.1))) == [4, 2]


@pytest.mark.parametrize(
    "edges", [(0.1, 0.2, 0.30000000000000004), (-1e300, 0, 1e300), (1e-320, 1)]
)
def test_bins_agree_with_decimals_one_by_one(tmp_path, edges):
    draw = random.Random(5)
    near = [
        f"{e!r}{end}" for e in edges for end in ("", "0", "1") if "e" not in repr(e)
    ]
    rows = [*near, *(repr(draw.uniform(edges[0], edges[-1])) for _ in range(40))]
    bins = Bins("h", edges)
    cuts = [Decimal(repr(edge)) for edge in edges]
    places = [sum(cut <= Decimal(row) for cut in cuts) - 1 for row in rows]
    expected = [places.count(i) for i in range(bins.size)]
    assert counted(written(tmp_path, rows), bins) == expected


def test_a_nested_field_is_no_column(tmp_path):
    table = parquet(
        tmp_path, "SELECT {'h': 'a', 'g': {'h': 'c'}} AS s, 'b' AS h, ['a'] AS l"
    )
    assert counted(table, Categories("h", ("a", "b"))) == [0, 1]
    for name, kind in (("s", "STRUCT"), ("l", r"VARCHAR\[\]")):
        with pytest.raises(
            TableError, match=f"'{name}' is of type {kind}.* no cell can be 'a'"
        ):
            count(table, [Categories(name, ("a", "b"))])
    with pytest.raises(TableError, match="no column 'g'"):
        counted(table, Categories("g", ("c",)))


def test_typed_parquet_columns_count_like_their_texts(tmp_path):
    rows = "1 AS a, 2.5 AS b, true AS c, DATE '2020-01-31' AS d, encode('é') AS e"
    table = parquet(tmp_path, f"SELECT {rows}")
    assert counted(table, Categories("a", ("1",))) == [1]
    assert counted(table, Bins("b", (2, 2.5, 3))) == [0, 1]
    assert counted(table, Categories("c", ("true",))) == [1]
    assert counted(table, Categories("d", ("2020-01-31",))) == [1]
    assert counted(table, Categories("e", ("é",))) == [1]


@pytest.mark.parametrize("separator", ",;\t|")
def test_the_separator_is_looked_for_in_the_first_line_alone(tmp_path, separator):
    others = ",;\t|".replace(separator, "")
    table = plain(tmp_path, f"h{separator}g\na{separator}b{others}\n")
    assert counted(table, Categories("h", ("a",))) == [1]


def test_the_first_records_of_a_person_count(tmp_path):
    table = plain(tmp_path, "id,h\n1,a\n2,b\n1,a\n1,b\n2,b\n3,c\n")
    declared = Categories("h", ("a", "b"))
    assert counted(table, declared, unit=Unit("id")) == [1, 1]
    assert counted(table, declared, unit=Unit("id", 2)) == [2, 2]
    assert sum(counted(table, declared, unit=Unit("id", 9))) == 5
    table.write_text("id,h\n1,a\n,b\n")
    with pytest.raises(TableError, match="row 2 has no value in 'id'"):
        counted(table, declared, unit=Unit("id"))
    with pytest.raises(
        ValueError, match="count must not be used where the unit is a person"
    ):
        Rules(unit=Unit("id"), count="n")
    with pytest.raises(ValueError, match="outside must be one of"):
        Rules(outside="guess")


@pytest.mark.parametrize("bad", ["-1", "1.5", "", "x", "1e3", "99999999999999999999"])
def test_a_number_of_records_is_a_whole_number(tmp_path, bad):
    table = plain(tmp_path, "h,n\na,3\na,4.0\nb,2\n")
    assert counted(table, Categories("h", ("a", "b")), count="n") == [7, 2]
    table.write_text(f"h,n\na,3\nb,{bad}\n")
    with pytest.raises(
        TableError, match="row 2 must have a whole number of records in 'n'"
    ):
        counted(table, Categories("h", ("a", "b")), count="n")


def test_missing_values_are_refused_dropped_or_counted(tmp_path):
    table = written(tmp_path, ["a", "NA", "", "a"])
    declared = [Categories("h", ("a", "none"))]
    absent = ("", "NA")
    with pytest.raises(
        TableError, match=r"row 2 has no value in 'h' \(a text .*; missing values are"
    ):
        count(table, declared, Rules(missing_values=absent))
    assert count(
        table, declared, Rules(missing="drop", missing_values=absent)
    ).tolist() == [2, 0]
    assert count(
        table, declared, Rules(missing="none", missing_values=absent)
    ).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Six digits write each of these pairs alike.
        (Bins("t", (0, 1700001000, 2e9)), Bins("t", (0, 1700003600, 2e9))),
        (Bins("t", (0, 1, 2)), Bins("t", (0, 1 + 1e-9, 2))),
        (Categories("t", (1, 1234567)), Categories("t", (1, 1234568))),
        (Categories("t", (1, 2)), Categories("t", ("1", "2"))),
        (Bins("t", (0, 1, 2)), Bins("t", (0, 1, 2), whole=True)),
    ],
)
def test_edges_that_look_alike_make_different_cubes(first, second):
    one, other = (Cube((attribute,), [40, 60]) for attribute in (first, second))
    assert one.statement() != other.statement()
    assert one.statement() == Cube((first,), [1, 2]).statement()  # never by the counts
    assert len(set(first.labels)) == 2


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_count_says_how_far_it_is_at_a_terminal_alone(
    tmp_path, monkeypatch, capsys, terminal
):
    monkeypatch.setattr(reader, "PROGRESS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert counted(written(tmp_path, ["a"] * 3000), Categories("h", ("a",))) == [3000]
    told = "counting: 2,048 rows so far\ncounting: 3,000 rows so far\n"
    assert capsys.readouterr().err == (told if terminal else "")


NOBODY = ["N/A", "null", "-", "", " ", "nan", "None", "?", ".", "#N/A", "<NA>", "nat"]


@pytest.mark.parametrize("none", NOBODY)
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_name_that_names_nobody_is_refused_with_its_row(tmp_path, none, kind):
    """Else all who have it would be one person, and compete for its places."""
    if kind == ".csv":
        quoted = f'"{none}"'
        table = plain(tmp_path, f"id,h\n1,a\n{quoted},a\n{quoted},a\n")
    else:
        rows = [{"id": one, "h": "a"} for one in ("1", none, none)]
        table = parquet(tmp_path, "SELECT unnest(?, recursive := true)", rows)
    with pytest.raises(TableError, match="row 2 has no value in 'id'"):
        counted(table, Categories("h", ("a",)), unit=Unit("id"))
    named = (
        counted(
            table,
            Categories("h", ("a",)),
            unit=Unit("id"),
            missing_values=("none at all",),
        )
        if none.strip()
        else [2]
    )
    assert named == [2]  # the two with the same name are one person


def test_numbers_that_are_none_name_nobody_and_are_no_answer(tmp_path):
    nan = "SELECT * FROM (VALUES (1.0::DOUBLE, 'a'), ('nan'::DOUBLE, 'a')) AS t(id, h)"
    with pytest.raises(TableError, match="row 2 has no value in 'id'"):
        counted(parquet(tmp_path, nan), Categories("h", ("a",)), unit=Unit("id"))
    with pytest.raises(TableError, match=r"row 2 has no value in 'id' \(an empty cell"):
        count(parquet(tmp_path, nan), [Bins("id", (0, 5))])


EVERY_RULES = [
    Rules(unit, outside, missing, count=count)
    for unit, count in ((Unit(), None), (Unit(), "n"), (Unit("id", 2), None))
    for outside in ("refuse", "drop")
    for missing in ("refuse", "drop", "b")
]
BEGINS = "begins a value with a line break"


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_within_a_quotation_mark_are_refused_whatever_is_declared(
    tmp_path, end, at
):
    """`"5 foot` begins a value that ends rows below at `6 foot"`: in a column that is
    read or not, in the names of columns or below, with as many fields as the others.
    """
    names, row = ["id", "h", "n", "size", "text"], ["1", "a", "1", "6", "x"]
    line = ",".join
    before = line([*row[:at], '"5 foot'])
    inside = end.join([line(row)] * 5)
    behind = line(['6 foot"', *row[at + 1 :]])
    swallowed = f"{before}{end}{inside}{end}{behind}"
    heads = line([*names[:at], f'"{names[at]}'])
    more = line([f'{names[at]}"', *names[at + 1 :]])
    above = f"{line(names)}\n{line(row)}\n"
    texts = {
        f"line 3 {BEGINS}.*close the mark": above + swallowed,
        "line 3 cannot be read .*end of data": above + before,
        f"line 1 ({BEGINS}|has a carriage return)": end.join([heads, inside, more]),
    }
    for reason, text in texts.items():
        table = plain(tmp_path, text + "\n")
        for rules in EVERY_RULES:
            with pytest.raises(TableError, match=reason):
                count(table, [Categories("h", ("a", "b"))], rules)


def test_a_declared_value_may_have_a_line_break_in_its_own_column_alone(tmp_path):
    declared = [Categories("h", ("a\nb", "c")), Categories("g", ("x", "y"))]
    table = plain(tmp_path, 'h,g\n"a\nb",x\nc,y\n')
    assert count(table, declared).tolist() == [1, 0, 0, 1]
    table = plain(tmp_path, 'h,g,z\n"a\nb",x,1\nc,y,"a\nb"\n')
    with pytest.raises(TableError, match=f"line 4 {BEGINS} in it, field 3 of 3"):
        count(table, declared)


@pytest.mark.parametrize(
    ("sql", "attribute", "reason"),
    [
        ("true", Categories("h", ("1", "0")), "is of type BOOLEAN, .* be '1'"),
        ("true", Categories("h", (1, 0)), "is of type BOOLEAN"),
        ("true", Bins("h", (0, 1)), "is of type BOOLEAN, whose cells are no numbers"),
        ("1.0::DOUBLE", Categories("h", ("1",)), "would be '1.0' there"),
        ("1.50::DECIMAL(6, 2)", Categories("h", ("1.5",)), "would be '1.50' there"),
        ("1", Categories("h", (1.5,)), "is of type INTEGER"),
        ("1", Categories("h", ("yes",)), "is of type INTEGER"),
        ("DATE '2020-01-31'", Categories("h", ("31/1/2020",)), "is of type DATE"),
        ("DATE '2020-01-31'", Bins("h", (0, 1)), "whose cells are no numbers"),
    ],
)
@pytest.mark.parametrize("outside", ["drop", "refuse"])
def test_a_value_that_no_cell_of_a_type_can_be_is_refused(
    tmp_path, sql, attribute, reason, outside
):
    table = parquet(tmp_path, f"SELECT {sql} AS h")
    with pytest.raises(TableError, match=reason):
        count(table, [attribute], Rules(outside=outside))


def test_values_that_a_type_can_be_are_counted(tmp_path):
    rows = (
        "SELECT 1.0::DOUBLE AS d, 1.50::DECIMAL(6, 2) AS m, 'a' AS e,"
        " NULL::INTEGER AS n, NULL::BOOLEAN AS b"
    )
    table = parquet(tmp_path, rows)
    for attribute in (
        Categories("d", (1,)),
        Categories("d", ("1.0",)),
        Categories("m", (1.5, 2)),
        Categories("e", ("a", "b")),
        Categories("n", ("", "3")),
        Bins("d", (0, 2)),
    ):
        assert counted(table, attribute)[0] == 1
    unknown = Categories("b", ("unknown", "true"))
    assert count(table, [unknown], Rules(missing="unknown")).tolist() == [1, 0]


def test_moments_are_told_alike_on_every_machine(tmp_path, monkeypatch):
    moment = "TIMESTAMPTZ '2020-02-01 10:00:00+00' AS h"
    table = parquet(tmp_path, f"SELECT {moment}")
    for zone in ("UTC", "Asia/Tehran", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert counted(table, Categories("h", ("2020-02-01 10:00:00+00",))) == [1]
    monkeypatch.undo()
    time.tzset()


def test_a_column_that_weighs_rows_is_no_attribute(tmp_path):
    """One row of 2000 records against one of 1999 would move all of them."""
    table = plain(tmp_path, "size\n2000\n1\n")
    with pytest.raises(ValueError, match="count must be a column that is no attribute"):
        count(table, [Bins("size", (0, 2000, 3000))], Rules(count="size"))


def test_codes_that_stand_for_none_win_over_bins_and_not_over_what_is_listed(tmp_path):
    table = plain(tmp_path, "h\n5\n99\n-\n")
    rules = Rules(missing="drop", missing_values=("99", "-"))
    assert count(table, [Bins("h", (0, 120))], rules).tolist() == [1]
    assert counted(table, Categories("h", ("5", "-"))) == [1, 1]
    with pytest.raises(ValueError, match="missing_values must not have what h lists"):
        count(table, [Categories("h", ("5", "99"))], rules)


def test_counts_and_digest_come_from_one_reading(tmp_path):
    for kind in (".csv", ".parquet"):
        table = written(tmp_path, ["a", "b"], kind)
        found = reader.read(table, [Categories("h", ("a", "b"))])
        assert found.digest == hashlib.sha256(table.read_bytes()).digest()


def test_bins_may_have_open_ends(tmp_path):
    age = Bins("h", (-math.inf, 18, 40, math.inf), whole=True)
    assert age.labels == ("below 18", "18 to 40", "40 or more")
    rows = ["-1e300", "17", "18", "39.5", "40", "1e300", "inf"]
    assert counted(written(tmp_path, rows), age) == [2, 2, 2]
    assert Cube((age,), [1, 2, 3]).query("h < 18").tolist() == [1, 0, 0]
    assert Cube((age,), [1, 2, 3]).query("h > 17 and h < 40").tolist() == [0, 1, 0]
    assert Bins("h", (0, math.inf)).labels == ("0 or more",)
    assert Bins("h", (-math.inf, math.inf)).labels == ("any number",)
    with pytest.raises(ValueError, match="cuts through the bin 40 or more"):
        age.select(">", 60)
    for bad in ((0, math.inf, 5), (math.inf, 5), (0, math.nan), (-math.inf, -math.inf)):
        with pytest.raises(ValueError, match="-inf may be the first and inf the last"):
            Bins("h", bad)


@pytest.mark.parametrize("nested", ["{'a': NULL}", "[NULL]", "MAP {'a': 1}"])
def test_a_name_is_one_value(tmp_path, nested):
    table = parquet(tmp_path, f"SELECT {nested} AS id, 'a' AS h WHERE ? IS NOT NULL", 1)
    with pytest.raises(TableError, match=r"'id' is of type .* no single values"):
        counted(table, Categories("h", ("a",)), unit=Unit("id"))
