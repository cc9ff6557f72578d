"""`dpbayes ask` as a user runs it."""

import io
import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbayes import cli, queries
from dpbayes.releasing.opening import open_account

CUBE = """
source = "people.csv"
bound = 1.0
[[attribute]]
name = "income"
edges = [0, 10, 20, 30]
[[attribute]]
name = "sex"
values = ["f", "m"]
"""


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    pytest.importorskip("duckdb")
    rows = [f"{income},{sex}" for income in range(30) for sex in ("f", "m", "m")]
    (tmp_path / "people.csv").write_text("income,sex\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.toml").write_text(CUBE)
    return tmp_path / "people.toml"


def ask(cube: Path, *words: str) -> int:
    ledger = str(cube.parent / "spend.sqlite")
    return cli.main(["ask", "--cube", str(cube), "--ledger", ledger, "--create-ledger", *words])


def test_fresh_then_derived_then_refused(cube: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = ("income >= 10", "--length", "20", "--confidence", ".95")
    assert ask(cube, *question) == 0
    first = capsys.readouterr().out
    assert "fresh, cost 0.299573; spent 0.299573, left 0.700427" in first
    assert "at confidence 0.95" in first
    assert ask(cube, *question, "--explain") == 0
    second = capsys.readouterr().out
    assert "derived, cost 0; spent 0.299573" in second
    assert "answer 1  weight +1.0000  100.0% of the variance  income >= 10" in second
    estimates = [
        line for text in (first, second) for line in text.splitlines() if "estimate" in line
    ]
    assert estimates[0] == estimates[1]
    assert ask(cube, "sex = f", "--length", "2") == 1
    assert "rejected: the bound does not allow it" in capsys.readouterr().out


def test_a_confidence_is_printed_with_all_its_digits(
    cube: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(cube, "all", "--length", "200", "--confidence", "0.99999999") == 0
    assert "at confidence 0.99999999\n" in capsys.readouterr().out


def test_a_session_goes_on_after_a_mistake(
    cube: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "# a day\nincome >= 10\n\nincome >= 15\nsex = f --length 60 --confidence .9 --explain\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert ask(cube, "--length", "40") == 0
    captured = capsys.readouterr()
    assert captured.out.count("estimate") == 2
    assert "at confidence 0.9\n" in captured.out
    assert "answer 2  new" in captured.out
    assert "income >= 15: income >= 15 cuts through the bin 10 to 20" in captured.err


def test_the_real_table_needs_no_cube_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["health = poor and visits >= 10", "--cube", "rand-hie", "--length", "60"]
    assert (
        cli.main(["ask", *words, "--ledger", str(tmp_path / "spend.sqlite"), "--create-ledger"])
        == 0
    )
    assert "fresh" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ("", ("height > 3", "--length", "20"), "no attribute 'height'"),
        ("", ("income >= 10",), "--length must be given"),
        ("", ("income >= 10", "--length", "20", "--confidence", "1"), "--confidence must lie"),
        ("", ("income >= 10", "--length", "20", "--confidence", "1e-17"), "--confidence must"),
        ("", ("income >= 10", "--length", "-1"), "--length must be positive"),
        ("", ("income >= 10", "--length", "nan"), "--length must be finite"),
        ("surprise = 1\n", ("all", "--length", "20"), r"unknown ['surprise']"),
        ("= 3\n", ("all", "--length", "20"), "is not TOML"),
    ],
)
def test_mistakes_are_explained(
    cube: Path,
    capsys: pytest.CaptureFixture[str],
    change: str,
    words: tuple[str, ...],
    message: str,
) -> None:
    cube.write_text(change + CUBE)
    assert ask(cube, *words) == 2
    assert message in capsys.readouterr().err
    assert not (cube.parent / "spend.sqlite").exists() or not change


def test_missing_cube_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path / "none.toml", "all", "--length", "9") == 2
    assert "--cube must be a readable file" in capsys.readouterr().err


def test_ledger_of_another_cube(cube: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(cube, "all", "--length", "40") == 0
    with (cube.parent / "people.csv").open("a") as stream:
        stream.write("5,f\n")
    assert ask(cube, "all", "--length", "40") == 2
    assert "belongs to another cube" in capsys.readouterr().err


def test_a_mistyped_ledger_is_no_new_budget(cube: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", "all", "--cube", str(cube), "--length", "20", "--ledger", "typo.sqlite"]
    assert cli.main(words) == 2
    assert "--ledger must be a ledger that exists" in capsys.readouterr().err
    assert not Path("typo.sqlite").exists()


def test_a_ledger_cut_to_nothing_is_no_new_budget(
    cube: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(cube, "all", "--length", "40") == 0
    ledger = cube.parent / "spend.sqlite"
    os.truncate(ledger, 0)
    words = ["ask", "all", "--cube", str(cube), "--length", "20", "--ledger", str(ledger)]
    assert cli.main(words) == 2
    assert "--ledger must be a ledger that exists" in capsys.readouterr().err
    assert ask(cube, "all", "--length", "40") == 0  # which says --create-ledger


@pytest.fixture
def account(cube: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPBAYES_KEYS", str(cube.parent / "keys"))
    path = cube.parent / "people.account"
    words = ["--dataset", "people", "--epsilon", "0.8", "--table", str(cube.parent / "people.csv")]
    assert cli.main(["account", "create", str(path), *words]) == 0
    return path


def paid(cube: Path, account: Path, *words: str) -> int:
    return cli.main(["ask", "--cube", str(cube), "--account", str(account), *words])


def test_answers_and_releases_are_paid_from_one_account(
    cube: Path, account: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = cube.parent / "plan.toml"
    plan.write_text(
        f'dataset = "people"\naccount = "{account}"\ncolumn = "sex"\n'
        'categories = ["f", "m"]\nepsilon = "0.25"\n'
    )
    table = str(cube.parent / "people.csv")
    release = ["release", table, "--plan", str(plan), "--output", str(cube.parent / "out")]
    assert cli.main(release) == 0
    assert paid(cube, account, "income >= 10", "--length", "60") == 0
    assert open_account(account).balance == Fraction(8, 10) - Fraction(1, 4) - spent(account)
    # One record replaced is one taken away and one added: .0998578 costs twice that.
    assert float(spent(account)) == pytest.approx(2 * 0.0998577, abs=1e-6)
    capsys.readouterr()
    assert paid(cube, account, "sex = f", "--length", "10") == 1
    assert "the shortest interval that is affordable is" in capsys.readouterr().out
    # A coarser cube of the same table is paid from the same account.
    coarse = cube.parent / "coarse.toml"
    coarse.write_text(CUBE.replace("[0, 10, 20, 30]", "[0, 30]"))
    before = spent(account)
    assert paid(coarse, account, "sex = f", "--length", "60") == 0
    assert spent(account) > before


def spent(account: Path) -> Fraction:
    entries = open_account(account).entries
    return sum((e.epsilon for e in entries if e.request.startswith("answer-")), Fraction(0))


def test_a_price_costs_nothing_and_is_what_the_answer_costs(
    cube: Path, account: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("income >= 10", "--length", "60", "--json")
    assert paid(cube, account, *words, "--price") == 0
    priced = json.loads(capsys.readouterr().out)
    assert spent(account) == 0
    assert paid(cube, account, *words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (priced["outcome"], priced["cost"]) == ("fresh", answer["cost"])
    assert priced["estimate"] is None
    low, high = answer["interval"]
    assert low <= answer["estimate"] <= high


def test_one_question_for_each_value(
    cube: Path, account: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert paid(cube, account, "all", "--by", "income", "--length", "90", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["question"] == "(all) and income between 0.0 and 10.0"
    assert len(lines) == 3
    # Disjoint parts: together they cost what the dearest costs.
    assert float(spent(account)) == pytest.approx(2 * lines[0]["cost"], rel=1e-9)
    assert paid(cube, account, "all", "--by", "age", "--length", "90") == 2
    assert "--by must be an attribute of the cube (income, sex)" in capsys.readouterr().err


def test_the_shortest_affordable_interval_is_affordable(cube: Path, account: Path) -> None:
    server = queries.QueryServer(np.arange(6) * 100, bound=0.1)
    q = np.ones(6)
    rejected = server.ask(q, 1.0, 0.05)
    assert rejected.outcome == "rejected"
    assert rejected.affordable is not None
    assert server.price(q, rejected.affordable * 0.998, 0.05).outcome == "rejected"
    assert server.ask(q, rejected.affordable, 0.05).outcome == "fresh"
