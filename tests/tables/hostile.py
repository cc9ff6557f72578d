"""Hostile plans and tables, generated: what a mistake, a program or an attacker may hand in."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

SECRET = "SECRET-CONTENT"
HEALTH = ("good", "fair", "poor", "unknown")
BASE = {
    "dataset": '"clinic"',
    "account": '"clinic.account"',
    "unit": '"record"',
    "column": '"health"',
    "categories": '["good", "fair", "poor", "unknown"]',
    "missing": '"unknown"',
    "epsilon": '"0.5"',
}
NEEDED = ("dataset", "account", "unit", "column", "categories", "epsilon")
KEYS = (*BASE, "columns", "by", "missing_values", "records", "person", "keep", "mechanism")
KEYS = (*KEYS, "options", "prior", "request")

VALUES = (
    "true", "1979-05-27", "12:30:00", "0o17", "0xff", "-1", "0", "1", "1.5", "nan", "inf", "-inf",
    "1e400", "0x" + "f" * 2000, "9" * 4000, '""', '" "', r'"\u0000"', r'"a\u0000b"',
    r'"\u0435psilon"', '"\uff11"', '"1e999999999"', '"1/0"', '"1/2/3"', "[]", "[[]]", '[1, "a"]',
    "{}", "{a = 1}", "{a = {a = {}}}", '"../../etc/passwd"', "'*'", '":memory:"',
)  # fmt: skip
NAMES = {
    r'"\u0435psilon"', '"\uff11"', '"1e999999999"', '"1/0"', '"1/2/3"', '"../../etc/passwd"',
    "'*'", '":memory:"',
}  # fmt: skip
# What a key may be, of the values above; everything else must be refused.
ALLOWED = {
    "column": NAMES,
    "person": NAMES,
    "request": {'"1e999999999"'},
    "missing_values": {"[]"},
    "keep": {"0o17", "0xff", "1"},
    "options": {"{}"},
    "epsilon": {"0o17", "0xff", "1", "1.5"},
    "prior": {"0o17", "0xff", "1", "1.5"},
}


def written(settings: dict[str, str]) -> str:
    """Return a plan, one key a line."""
    return "".join(f"{key} = {value}\n" for key, value in settings.items())


def plans() -> Iterator[tuple[str, str, str, bool]]:
    """Yield name, text, key and whether it may pass: every key with every value."""
    for key in KEYS:
        more = {"person": '"id"'} if key == "keep" else {}
        less = {"columns": {"column"}, "person": {"unit"}, "keep": {"unit"}}.get(key, set())
        base = {k: v for k, v in (BASE | more).items() if k not in less}
        for value in VALUES:
            good = value in ALLOWED.get(key, ())
            yield f"{key}={value[:20]}", written(base | {key: value}), key, good
    for key in BASE:
        yield f"{key} twice", written(BASE) + f"{key} = {BASE[key]}\n", "", False
        yield f"{key} twice, quoted", written(BASE) + f'"{key}" = {BASE[key]}\n', "", False
    for key in NEEDED:
        yield f"no {key}", written({k: v for k, v in BASE.items() if k != key}), "", False
    for key in ("epsil\u043en", "Epsilon", "epsilon ", "", "__proto__", "columns.a"):
        yield f"key {key!r}", written(BASE) + f'"{key}" = 1\n', "no such key", False


def files() -> Iterator[tuple[str, bytes, bool]]:
    """Yield name, content and whether it may pass: whole files that are not quite a plan."""
    good = written(BASE)
    yield "byte order mark", b"\xef\xbb\xbf" + good.encode(), True
    yield "lines end in CR LF", good.replace("\n", "\r\n").encode(), True
    yield "no last line end", good.rstrip().encode(), True
    yield (
        "categories as a table",
        _with(good, "categories", 'categories.health = ["a", "unknown"]'),
        True,
    )
    yield "lines end in CR", good.replace("\n", "\r").encode(), True
    yield "UTF-16", good.encode("utf-16"), False
    yield "Latin-1", (good + "# \u00e9\n").encode("latin-1"), False
    yield "null", good.encode() + b"\0", False
    yield "empty", b"", False
    yield "lists in lists", good.encode() + b"prior = " + b"[" * 50_000 + b"]" * 50_000, False
    yield "tables in tables", b"a = " + b"{a=" * 50_000, False
    yield "open text", good.encode() + b'request = "', False
    yield "YAML", b"dataset: clinic\naccount: &a x\nepsilon: *a\n", False
    yield "YAML tag", b"!!python/object/apply:os.system [id]\n", False
    yield "JSON", b'{"dataset": "clinic"}', False
    yield "names alike", _with(good, "categories", 'categories = ["a", "a"]'), False
    yield "escapes", _with(good, "categories", r'categories = ["a", "\u001b[2J"]'), False
    yield "missing as a category", _with(good, "missing", 'missing_values = ["good"]'), False
    more = 'columns = ["x", "y"]\ncategories = {x = ["a", "a, b"], y = ["c", "b, c"]}'
    bare = {k: v for k, v in BASE.items() if k not in ("column", "categories", "missing")}
    yield "cells alike", (written(bare) + more).encode(), False
    for edges in (
        "[0, 1e400]",
        "[0, 0x" + "f" * 2000 + "]",
        "[1, nan]",
        "[1, 1]",
        "[true, 2]",
        "3",
    ):
        text = f"categories = {{health = {{edges = {edges}}}}}"
        yield f"edges {edges[:20]}", _with(written(_less("missing")), "categories", text), False
    close = "categories = {health = {edges = [1.0000001, 1.0000002, 1.0000003]}}"
    yield "edges close together", _with(written(_less("missing")), "categories", close), True
    for option in ('{name = "geometric"}', "{epsilon = 9}", "{remap = 1}", "{remap = nan}"):
        yield f"options {option}", (good + f"options = {option}\n").encode(), False
    yield (
        "10001 cells",
        _with(good, "categories", f"categories = {list(map(str, range(10001)))}"),
        False,
    )


def _less(key: str) -> dict[str, str]:
    return {k: v for k, v in BASE.items() if k != key}


def _with(text: str, key: str, line: str) -> bytes:
    rows = [line if row.startswith(f"{key} =") else row for row in text.splitlines()]
    return ("\n".join(rows) + "\n").encode()


TWO = b"id,health\n1,good\n"
# Tables to refuse: name of the file, content, what the message says.
BAD_TABLES: tuple[tuple[str, bytes, str], ...] = (
    ("short.csv", TWO + b"SECRET-CONTENT\n3,good\n", "line 3 does not have as many fields"),
    ("long.csv", TWO + b"2,good,SECRET-CONTENT\n", "line 3 does not have as many fields"),
    ("latin.csv", TWO + "2,SECRET-CONTENT\xe9\n".encode("latin-1"), "line 3 is not UTF-8"),
    ("wide.csv", TWO.decode().encode("utf-16"), "line 1 is not UTF-8"),
    ("null.csv", TWO + b"2,go\0od\n", "row 2 has a value in 'health' that was not declared"),
    ("open.csv", TWO + b'2,"SECRET-CONTENT\n3,good\n', "line 3 cannot be read"),
    ("after.csv", TWO + b'2,"good"SECRET-CONTENT\n', "line 3 cannot be read"),
    ("huge.csv", TWO + b"2," + b"x" * 3_000_000 + b"\n", "line 3 cannot be read (field"),
    ("twice.csv", b"health,id,health\ngood,1,fair\n", "has 2 columns 'health'; rename all but one"),
    ("case.csv", b"Health,id\ngood,1\n", "by capitals or spaces; it has 2 columns; --show"),
    ("space.csv", b" health,id\ngood,1\n", "has no column 'health'"),
    ("bare.csv", b"SECRET-CONTENT,good\n2,fair\n", "has no column 'health'; it has 2 columns"),
    ("title.csv", b"People of SECRET-CONTENT\n\n" + TWO, "has no column 'health'"),
    ("empty.csv", b"", "has no first line"),
    ("head.csv", b"id,health\n", "holds no record that the plan counts"),
    ("zipped.csv", gzip.compress(TWO, mtime=0), "line 1 is not UTF-8"),
    ("people.csv.gz", gzip.compress(TWO, mtime=0), "table must end in .csv, .tsv, .parquet"),
    ("people.xlsx", TWO, "table must end in .csv, .tsv, .parquet"),
    ("csv.parquet", TWO, "cannot be read as .parquet; --show-values prints why"),
    ("half.parquet", b"PAR1", "cannot be read as .parquet; --show-values prints why"),
    ("other.csv", TWO + b"2,SECRET-CONTENT\n", "row 2 has a value in 'health'"),
    ("upper.csv", TWO + b"2,Good\n", "row 2 has a value in 'health'"),
    ("padded.csv", TWO + b"2,good \n", "row 2 has a value in 'health'"),
    ("formula.csv", TWO + b"2,=SECRET-CONTENT\n", "row 2 has a value in 'health'"),
    ("sql.csv", TWO + b"2,good'; DROP TABLE x; --\n", "row 2 has a value in 'health'"),
    ("other.tsv", TWO, "has no column 'health'; it has 1 column;"),
)  # fmt: skip

# Tables to count: name of the file, content, counts of good, fair, poor and unknown.
GOOD_TABLES: tuple[tuple[str, bytes, list[int]], ...] = (
    ("plain.csv", TWO + b"2,fair\n3,\n4,NA\n", [1, 1, 0, 2]),
    ("hash.csv", b"id,health\n#1,good\n2,poor\n#3,good\n4,fair\n", [2, 1, 1, 0]),
    ("hash2.csv", b"health,id\ngood,1\n#,2\n" .replace(b"#,2\n", b"NA,#2\n"), [1, 0, 0, 1]),
    ("crlf.csv", TWO.replace(b"\n", b"\r\n") + b"2,poor\r\n", [1, 0, 1, 0]),
    ("mark.csv", b"\xef\xbb\xbfhealth,id\ngood,1\n", [1, 0, 0, 0]),
    ("semicolons.csv", b"id;health\n1,5;good\n2,5;poor\n", [1, 0, 1, 0]),
    ("tabs.tsv", b"id\thealth\n1\tgood\n", [1, 0, 0, 0]),
    ("quoted.csv", b'id,"health"\n"a\nb, c","good"\n2,""\n', [1, 0, 0, 1]),
    ("other twice.csv", b"x,x,health,X\n1,2,good,3\n", [1, 0, 0, 0]),
    ("a[b]*?.csv", TWO, [1, 0, 0, 0]),
    ("it's \"x\"; DROP.csv", TWO, [1, 0, 0, 0]),
    ("UPPER.CSV", TWO, [1, 0, 0, 0]),
    ("names.csv", b'_row,c0,v0,person,"select ""; --",health\n1,2,3,4,5,good\n', [1, 0, 0, 0]),
)  # fmt: skip
