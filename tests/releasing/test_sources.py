"""A file of people is read in one way: its own rows, under its own name."""

from __future__ import annotations

import pytest

from dpbayes.releasing.sources import Source, TableError, first_line, source

duckdb = pytest.importorskip("duckdb")


def test_a_source_has_a_plain_name(tmp_path):
    table = tmp_path / "a*[b].CSV"
    table.write_text("x\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    found = source(table, folder)
    assert (found.kind, found.place.name, found.name) == (".csv", "table.csv", str(table))
    assert found.place.read_text() == "x\n"


@pytest.mark.parametrize(
    ("text", "separator", "names"),
    [
        ("a,b\n", ",", ["a", "b"]),
        ("a;b,c\n", ";", ["a", "b,c"]),
        ("\ufeffa|b\n", "|", ["a", "b"]),
        ('"a\nb"\tb\n', "\t", ["a\nb", "b"]),
        ("x,y\n", ",", ["x", "y"]),
        ("", ",", []),
    ],
)
def test_the_separator_finds_the_wanted_names(tmp_path, text, separator, names):
    place = tmp_path / "t.csv"
    place.write_text(text, encoding="utf-8")
    assert first_line(Source("t", place), ["a", "b"]) == (separator, names)


def test_guessing_would_leave_people_out(tmp_path):
    """What is guarded against is real: DuckDB by itself leaves out the rows that begin with #."""
    place = tmp_path / "t.csv"
    place.write_text("id,health\n#1,good\n2,poor\n#3,good\n4,good\n")
    with duckdb.connect() as connection:
        guessed = connection.execute("SELECT count(*) FROM read_csv(?)", [str(place)]).fetchall()
    assert guessed == [(2,)]


def test_what_is_no_file_is_no_source(tmp_path):
    with pytest.raises(TableError, match="which is none"):
        source(tmp_path, tmp_path)
