"""Hostile plans and tables: refused in one line that shows no content, before anything
is paid.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from dpbayes.__main__ import main
from dpbayes.tables import release as releases
from dpbayes.tables.account import Account
from dpbayes.tables.files import PlanError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.plan import read_plan
from dpbayes.tables.table import count, read
from dpbayes.tables.units import RECORD

duckdb = pytest.importorskip("duckdb")

SECRET = "SECRET-CONTENT"
BASE = {
    "dataset": '"clinic"',
    "account": '"clinic.account"',
    "unit": '"record"',
    "column": '"health"',
    "categories": '["good", "fair", "poor", "unknown"]',
    "missing": '"unknown"',
    "epsilon": '"0.5"',
}
KEYS = (*BASE, "columns", "missing_values", "records", "person", "keep", "mechanism",
        "options", "prior", "request")  # fmt: skip
VALUES = (
    "true", "1979-05-27", "12:30:00", "0o17", "0xff", "-1", "0", "1", "1.5", "nan",
    "inf", "-inf",
    "1e400", "0x" + "f" * 2000, "9" * 4000, '""', '" "', r'"\u0000"', r'"a\u0000b"',
    r'"\u0435psilon"', '"\uff11"', '"1e999999999"', '"1/0"', '"1/2/3"', "[]", "[[]]",
    '[1, "a"]',
    "{}", "{a = 1}", "{a = {a = {}}}", '"../../etc/passwd"', "'*'", '":memory:"',
)  # fmt: skip
# The values above that a key may have; for names of columns every visible text will do.
TEXTS = {value for value in VALUES if value[0] in "\"'" and value.strip("\"' ")}
TEXTS -= {r'"\u0000"', r'"a\u0000b"'}
ALLOWED = {
    "column": TEXTS,
    "person": TEXTS,
    "account": TEXTS,
    "mechanism": TEXTS,
    "request": {'"1e999999999"'},
    "dataset": {'"1e999999999"'},
    "missing_values": {"[]"},
    "keep": {"0o17", "0xff", "1"},
    "options": {"{}", "{a = 1}", "{a = {a = {}}}"},
    "epsilon": {"0o17", "0xff", "1", "1.5"},
    "prior": {"0o17", "0xff", "1", "1.5"},
}


def text_of(settings: dict[str, str]) -> str:
    """Return a plan, one key a line."""
    return "".join(f"{key} = {value}\n" for key, value in settings.items())


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_every_key_with_every_value_is_taken_or_refused_with_its_line(tmp_path, key):
    more = {"person": '"id"'} if key == "keep" else {}
    less = {"columns": {"column"}, "person": {"unit"}, "keep": {"unit"}}.get(key, set())
    base = {k: v for k, v in (BASE | more).items() if k not in less}
    path = tmp_path / "plan.toml"
    for value in VALUES:
        path.write_text(text_of(base | {key: value}))
        if value in ALLOWED.get(key, ()):
            read_plan(path)
            continue
        with pytest.raises(PlanError, match=rf"plan.toml.*({key}|categories)") as told:
            read_plan(path)
        assert "\n" not in str(told.value)
        assert len(str(told.value)) < 1500
    for text in (
        text_of(base) + f'"{key}" = 1\n{key} = 1\n',
        text_of(base) + f'"{key} " = 1\n',
    ):
        path.write_text(text)
        with pytest.raises(PlanError, match=r"plan.toml"):
            read_plan(path)


GOOD = text_of(BASE)
TWO_COLUMNS = (
    'columns = ["x", "y"]\ncategories = {x = ["a", "a, b"], y = ["c", "b, c"]}\n'
)


def changed(key: str, line: str) -> str:
    """Return the plan with another line for a key, and without one for missing
    values."""
    less = {key, "missing"} if "edges" in line else {key}
    return text_of({k: v for k, v in BASE.items() if k not in less}) + line + "\n"


PLANS = [
    ("byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), True),
    ("lines end in CR LF", GOOD.replace("\n", "\r\n").encode(), True),
    (
        "edges close together",
        changed(
            "categories",
            "categories = {health = {edges = [1.0000001, 1.0000002, 1.0000003]}}",
        ).encode(),
        True,
    ),
    ("UTF-16", GOOD.encode("utf-16"), False),
    ("Latin-1", (GOOD + "# \u00e9\n").encode("latin-1"), False),
    ("null", GOOD.encode() + b"\0", False),
    ("empty", b"", False),
    (
        "lists in lists",
        GOOD.encode() + b"prior = " + b"[" * 50_000 + b"]" * 50_000,
        False,
    ),
    ("YAML", b"!!python/object/apply:os.system [id]\n", False),
    (
        "escapes",
        changed("categories", r'categories = ["a", "\u001b[2J"]').encode(),
        False,
    ),
    (
        "cells alike",
        (
            text_of(
                {
                    k: v
                    for k, v in BASE.items()
                    if k not in ("column", "categories", "missing")
                }
            )
            + TWO_COLUMNS
        ).encode(),
        False,
    ),
    (
        "10001 cells",
        changed("categories", f"categories = {list(map(str, range(10001)))}").encode(),
        False,
    ),
    *(
        (
            f"edges {edges[:9]}",
            changed(
                "categories", f"categories = {{health = {{edges = {edges}}}}}"
            ).encode(),
            False,
        )
        for edges in (
            "[0, 1e400]",
            "[0, 0x" + "f" * 2000 + "]",
            "[1, nan]",
            "[1, 1]",
            "[true, 2]",
            "3",
        )
    ),
    *(
        (f"options {option}", (GOOD + f"options = {option}\n").encode(), False)
        for option in (
            '{name = "geometric"}',
            "{epsilon = 9}",
            "{remap = 1}",
            "{remap = nan}",
        )
    ),
]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPBAYES_KEYS", str(folder / "keys"))
        patch.chdir(folder)
        (folder / "people.csv").write_bytes(TWO)
        (folder / "plan.toml").write_text(GOOD)
        create_account(
            folder / "clinic.account", "clinic", "1.2", folder / "people.csv", RECORD
        )
        yield folder


class Reached(Exception):
    """What a good plan comes to, or a good table."""


@pytest.fixture
def refused(clinic, monkeypatch, capsys):
    """Hand in a plan or a table; return the refusal, or None where the next step was
    reached.
    """

    def reach(*_, **__):
        raise Reached

    def hand_in(step, *more):
        with monkeypatch.context() as patch:
            patch.setattr(*step, reach)
            before = (clinic / "clinic.account").read_bytes()
            try:
                status = main(["release", *more])
            except Reached:
                return None
            finally:
                assert (clinic / "clinic.account").read_bytes() == before
        out, err = capsys.readouterr()
        assert (status, out) == (2, "")
        assert err.startswith("dpbayes release: ")
        assert err.count("\n") == 1
        assert len(err) < 1500
        assert SECRET not in err
        return err

    return hand_in


COUNT, PAY = (releases, "read"), (Account, "reserve")


@pytest.mark.parametrize(
    ("content", "good"), [p[1:] for p in PLANS], ids=[p[0] for p in PLANS]
)
def test_files_that_are_hardly_plans(clinic, refused, content, good):
    (clinic / "bad.toml").write_bytes(content)
    told = refused(COUNT, "people.csv", "--plan", "bad.toml")
    assert (told is None) == good, told
    assert told is None or "bad.toml" in told


def test_plans_and_tables_that_are_no_files(clinic, refused):
    for end in ("toml", "csv"):
        kinds = ("none", "folder", "pipe", "nothing", "self", "endless")
        none, folder, pipe, *links = (clinic / f"{kind}.{end}" for kind in kinds)
        folder.mkdir()
        os.mkfifo(pipe)
        for link, target in zip(links, ("no", f"self.{end}", "/dev/zero"), strict=True):
            link.symlink_to(target)
        for place in (none, folder, pipe, *links):
            plan, table = (
                (place, "people.csv") if end == "toml" else ("plan.toml", place)
            )
            told = refused(PAY, str(table), "--plan", str(plan))
            assert str(place) in told


def test_a_link_to_plan_and_table_is_as_good(clinic, refused):
    (clinic / "l.toml").symlink_to("plan.toml")
    (clinic / "l.csv").symlink_to("people.csv")
    assert refused(PAY, "l.csv", "--plan", "l.toml") is None


@pytest.fixture
def any_table(monkeypatch):
    """An account that stands for every table, so that a table's own faults are seen."""
    monkeypatch.setattr(
        Account, "check_table", lambda self, table: self.fingerprint(table)
    )
    monkeypatch.setattr(Account, "check_reading", lambda *_: None)


TWO = b"id,health\n1,good\n"
# Tables to refuse: name of the file, content, what the message says.
BAD_TABLES: tuple[tuple[str, bytes, str], ...] = (
    (
        "short.csv",
        TWO + b"SECRET-CONTENT\n3,good\n",
        "line 3 does not have as many fields",
    ),
    (
        "latin.csv",
        TWO + "2,SECRET-CONTENT\xe9\n".encode("latin-1"),
        "line 3 is not UTF-8",
    ),
    ("wide.csv", TWO.decode().encode("utf-16"), "line 1 is not UTF-8"),
    (
        "null.csv",
        TWO + b"2,go\0od\n",
        "row 2 has a value in 'health' that was not declared",
    ),
    ("open.csv", TWO + b'2,"SECRET-CONTENT\n3,good\n', "line 3 cannot be read"),
    (
        "swallows.csv",
        TWO + b'"2,SECRET-CONTENT\n3,good\n4",good\n',
        "line 3 begins a value with a line break in it, field 1 of 2",
    ),
    ("after.csv", TWO + b'2,"good"SECRET-CONTENT\n', "line 3 cannot be read"),
    (
        "huge.csv",
        TWO + b"2," + b"x" * 3_000_000 + b"\n",
        "line 3 cannot be read (field",
    ),
    (
        "twice.csv",
        b"health,id,health\ngood,1,fair\n",
        "has 2 columns 'health'; rename all but one",
    ),
    (
        "case.csv",
        b"Health,id\ngood,1\n",
        "by capitals or spaces; it has 2 columns; --show",
    ),
    (
        "bare.csv",
        b"SECRET-CONTENT,good\n2,fair\n",
        "has no column 'health'; it has 2 columns",
    ),
    (
        "semicolons.csv",
        b"id;Health;age\n1;good;3\n",
        "only one that differs from it by capitals or spaces; it has 3 columns",
    ),
    ("other.csv", b"id;sex;age\n1;good;3\n", "no column 'health'; it has 3 columns"),
    ("title.csv", b"People of SECRET-CONTENT\n\n" + TWO, "has no column 'health'"),
    ("empty.csv", b"", "has no first line"),
    ("head.csv", b"id,health\n", "holds no record that the plan counts"),
    ("zipped.csv", gzip.compress(TWO, mtime=0), "line 1 is not UTF-8"),
    (
        "people.csv.gz",
        gzip.compress(TWO, mtime=0),
        "table must end in .csv, .tsv or .parquet",
    ),
    ("people.xlsx", TWO, "table must end in .csv, .tsv or .parquet"),
    ("half.parquet", b"PAR1", "cannot be read as .parquet; --show-values prints why"),
    ("upper.csv", TWO + b"2,Good\n", "row 2 has a value in 'health'"),
    ("padded.csv", TWO + b"2,good \n", "row 2 has a value in 'health'"),
    ("formula.csv", TWO + b"2,=SECRET-CONTENT\n", "row 2 has a value in 'health'"),
    ("sql.csv", TWO + b"2,good'; DROP TABLE x; --\n", "row 2 has a value in 'health'"),
    ("other.tsv", TWO, "has no column 'health'; it has 1 column;"),
)
# Tables to count: name of the file, content, counts of good, fair, poor and unknown.
GOOD_TABLES: tuple[tuple[str, bytes, list[int]], ...] = (
    ("plain.csv", TWO + b"2,fair\n3,\n4,NA\n", [1, 1, 0, 2]),
    ("hash.csv", b"id,health\n#1,good\n2,poor\n#3,good\n4,fair\n", [2, 1, 1, 0]),
    ("crlf.csv", TWO.replace(b"\n", b"\r\n") + b"2,poor\r\n", [1, 0, 1, 0]),
    ("mark.csv", b"\xef\xbb\xbfhealth,id\ngood,1\n", [1, 0, 0, 0]),
    ("tabs.tsv", b"id\thealth\n1\tgood\n", [1, 0, 0, 0]),
    ("quoted.csv", b'id,"health"\n"a, ""b"", c","good"\n2,""\n', [1, 0, 0, 1]),
    ("other twice.csv", b"x,x,health,X\n1,2,good,3\n", [1, 0, 0, 0]),
    ('it\'s "x"; DROP.csv', TWO, [1, 0, 0, 0]),
    ("UPPER.CSV", TWO, [1, 0, 0, 0]),
    (
        "names.csv",
        b'_row,c0,v0,person,"select ""; --",health\n1,2,3,4,5,good\n',
        [1, 0, 0, 0],
    ),
)


@pytest.mark.parametrize(("name", "content", "message"), BAD_TABLES)
def test_tables_that_disagree_with_the_plan(
    clinic, refused, any_table, name, content, message
):
    (clinic / name).write_bytes(content)
    assert message in refused(PAY, name, "--plan", "plan.toml")


@pytest.mark.parametrize(("name", "content", "counts"), GOOD_TABLES)
def test_every_row_of_a_strange_table_is_counted(
    clinic, tmp_path, name, content, counts
):
    (tmp_path / name).write_bytes(content)
    # What a pattern in the name would count as well.
    (tmp_path / "ab1.csv").write_bytes(TWO * 5)
    plan = read_plan(clinic / "plan.toml")
    assert count(tmp_path / name, plan.attributes, plan.rules).tolist() == counts


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("{'a': 'SECRET-CONTENT'}", "'health' is of type STRUCT(a VARCHAR), in which"),
        ("'\\xAA'::BLOB", "cannot be read as .parquet"),
        ("'nan'::DOUBLE", "in which no cell can be 'good', a value that is declared"),
        ("NULL::INTEGER", "'health' is of type INTEGER, in which no cell can be"),
        ("NULL::VARCHAR", None),
    ],
)
def test_parquet_of_other_types(clinic, refused, any_table, sql, message):
    duckdb.sql(f"COPY (SELECT {sql} AS health) TO '{clinic}/t.parquet'")
    told = refused(PAY, "t.parquet", "--plan", "plan.toml")
    assert told is None if message is None else message in told


def test_content_is_shown_on_demand_alone(clinic, any_table, capsys):
    for name, content in (
        ("v.csv", TWO + b"2,SECRET-CONTENT\n"),
        ("n.csv", b"SECRET-CONTENT\n"),
    ):
        (clinic / name).write_bytes(content)
        assert main(["release", name, "--plan", "plan.toml", "--show-values"]) == 2
        assert SECRET in capsys.readouterr().err


def test_a_table_that_changes_while_it_is_counted(clinic, monkeypatch):
    def counted(table, *given):
        Path(table).write_bytes(TWO + b"2,fair\n")
        return read(table, *given)

    (clinic / "plain.csv").write_bytes(TWO)
    monkeypatch.setattr(releases, "read", counted)
    with pytest.raises(ValueError, match="changed while it was counted"):
        releases.release_table(clinic / "people.csv", read_plan(clinic / "plan.toml"))
    (clinic / "people.csv").write_bytes(TWO)
    assert open_account(clinic / "clinic.account").spent == 0


def test_an_output_that_cannot_be_written_is_refused_before_payment(clinic, refused):
    for place in ("people.csv", "people.csv/below"):
        told = refused(PAY, "people.csv", "--plan", "plan.toml", "--output", place)
        assert f"--output must be a folder that can be written, got '{place}'" in told


@pytest.mark.slow
def test_a_million_different_values(clinic, refused, any_table):
    (clinic / "many.csv").write_text(
        "health\n" + "\n".join(f"v{i}" for i in range(1_000_000))
    )
    told = refused(PAY, "many.csv", "--plan", "plan.toml")
    assert "row 1 has a value in 'health' that was not declared" in told
