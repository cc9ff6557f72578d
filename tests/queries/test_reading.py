"""How the file of a cube is read: one row more changes one count, whatever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes import queries
from dpbayes.queries.reading import reader

XY = queries.Categories("a", ("x", "y"))


def counted(place: Path, text: str, name: str = "people.csv") -> list[int]:
    (place / name).write_text(text)
    cube = queries.build_cube(place / name, [XY], outside="drop")
    return [int(count) for count in cube.counts]


ROWS = "x,1\nx,2\ny,3\n"


@pytest.mark.parametrize(
    "row",
    ["'x',4", "'x,4'", '"x",4', '"x, or y",4', "x;y,4", "x\t4|,4", "#x,4", ",4", "x|y|,4", "'',''"],
)  # fmt: skip
def test_one_row_more_changes_one_count_by_one_at_most(tmp_path, row):
    for many in (1, 3_000):
        before = counted(tmp_path, "a,b\n" + ROWS * many)
        after = counted(tmp_path, f"a,b\n{row}\n" + ROWS * many)
        assert before == [2 * many, many]
        assert sum(abs(one - other) for one, other in zip(before, after, strict=True)) <= 1


def test_single_quotation_marks_are_letters(tmp_path):
    attribute = queries.Categories("a", ("'x'", "'z'"))
    (tmp_path / "a.csv").write_text("a,b\n'x',1\n'z',2\n'z',3\n")
    assert queries.build_cube(tmp_path / "a.csv", [XY], outside="drop").counts.tolist() == [0, 0]
    marked = Path(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="without quotation marks"):
        queries.Categories("'a'", ("x",))
    assert queries.build_cube(marked, [attribute]).counts.tolist() == [1, 2]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_that_of_the_first_line(tmp_path, separator):
    text = f"b{separator}a\n1{separator}x\n2{separator}y\n"
    assert counted(tmp_path, text, "people.CSV") == [1, 1]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("a,a", "2 columns 'a'"),
        ("A,b", "no columns 'a', only one that differs from it by"),
        ("b,c", "no columns 'a'"),
    ],
)
def test_a_column_stands_once_in_the_first_line_as_it_is_written(tmp_path, head, message):
    (tmp_path / "people.csv").write_text(f"{head}\nx,y\n")
    with pytest.raises(ValueError, match=message):
        queries.build_cube(tmp_path / "people.csv", [XY])


def test_of_two_columns_that_differ_in_case_the_wanted_one_is_counted(tmp_path):
    assert counted(tmp_path, "A,a\nx,y\nx,y\n") == [0, 2]


def test_names_hold_no_sql(tmp_path):
    name = "a) FROM x; DROP TABLE y --"
    attribute = queries.Categories(name, ("x", "y"))
    (tmp_path / "people.csv").write_text(f"{name}\nx\ny\ny\n")
    assert queries.build_cube(tmp_path / "people.csv", [attribute]).counts.tolist() == [1, 2]
    assert reader('t"; DROP TABLE t', ["a"])[0] == '"t""; DROP TABLE t"'
