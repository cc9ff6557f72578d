"""A command whose extra is not installed says in one line which one to install."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from dpbayes.tables.opening import open_account
from tests.tables.clinic import PLAN as CLINIC
from tests.tables.clinic import opened

PROGRAM = """
import sys
sys.modules[sys.argv[1]] = None
from dpbayes.__main__ import main
sys.exit(main(sys.argv[2:]))
"""
PLAN = ("release", "people.csv", "--plan", "plan.toml")
CREATE = (
    "account",
    "create",
    "b",
    "--dataset",
    "b",
    "--unit",
    "record",
    "--epsilon",
    "1",
)
ASK = (
    "ask",
    "all",
    "--cube",
    "cube.toml",
    "--account",
    "clinic.account",
    "--length",
    "9",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "extra", "words"),
    [
        ("pydantic", "tables", ("plan", "plan.toml")),
        ("pydantic", "tables", PLAN),
        ("pydantic", "tables", ASK),
        ("pydantic", "tables", ("serve", "service.toml")),
        ("starlette", "tables,serve", ("serve", "service.toml")),
        ("uvicorn", "tables,serve", ("serve", "--new-token")),
        ("jinja2", "tables", PLAN),
        ("duckdb", "tables", ("release", "people.parquet", *PLAN[2:])),
        ("flint", "tables", ("release", "people.csv", "--plan", "scores.toml")),
        ("pydantic", "", (*CREATE, "--table", "other.csv")),
        ("duckdb", "", PLAN),
    ],
)
def test_a_missing_extra_is_named_in_one_line(
    tmp_path, monkeypatch, missing, extra, words
):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    opened(tmp_path)
    rows, parquet = tmp_path / "people.csv", tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT * FROM '{rows}') TO '{parquet}'")
    open_account(tmp_path / "clinic.account").accept(parquet)
    (tmp_path / "other.csv").write_text("health\ngood\n")
    (tmp_path / "scores.toml").write_text(CLINIC + 'mechanism = "expMech"\n')
    command = [sys.executable, "-c", PROGRAM, missing, *words]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if extra else 0), done.stderr
    assert done.stderr.count("\n") == (1 if extra else 0), done.stderr
    assert f"dpbayes[{extra}]" in done.stderr or not extra
