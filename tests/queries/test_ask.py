"""`dpbayes ask` as a user runs it."""

import io
from pathlib import Path

import pytest

from dpbayes import cli

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
    return cli.main(["ask", "--cube", str(cube), "--ledger", ledger, *words])


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
    assert cli.main(["ask", *words, "--ledger", str(tmp_path / "spend.sqlite")]) == 0
    assert "fresh" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ("", ("height > 3", "--length", "20"), "no attribute 'height'"),
        ("", ("income >= 10",), "--length must be given"),
        ("", ("income >= 10", "--length", "20", "--confidence", "1"), "--confidence must lie"),
        ("", ("income >= 10", "--length", "-1"), "L must be positive"),
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
