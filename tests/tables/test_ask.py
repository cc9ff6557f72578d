"""`dpbayes ask` as a user runs it, against an account and against a service."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpbayes import __main__ as cli
from dpbayes.tables.service import Service
from tests.tables.people import asking, opened
from tests.tables.test_service import ANALYSTS, ANNA, CUBE, served


@pytest.fixture(autouse=True)
def people(purse: Path) -> Path:
    opened(purse)
    (purse / "people.toml").write_text(CUBE)
    return purse


def ask(folder: Path, *words: str) -> int:
    files = (
        "--cube",
        str(folder / "people.toml"),
        "--account",
        str(folder / "people.account"),
    )
    return cli.main(["ask", *files, *words])


def test_fresh_then_derived_then_refused(people, capsys):
    question = ("income >= 10", "--length", "20", "--confidence", ".95")
    assert ask(people, *question, "--price") == 0
    assert "would be fresh, cost 0.299573" in capsys.readouterr().out
    assert opened(people).spent == 0
    assert ask(people, *question) == 0
    first = capsys.readouterr().out
    assert "fresh, cost 0.299573" in first
    assert "spent 0.299573 of this cube's bound; left 0.700427" in first
    assert "at confidence 0.95" in first
    assert ask(people, "income >= 10", "--length", "21") == 0
    second = capsys.readouterr().out
    assert "derived, cost 0\n" in second
    assert ask(people, "sex = f", "--length", "2") == 1
    assert "the shortest interval you can afford is" in capsys.readouterr().out


def test_by_value_with_an_id_in_json(people, capsys):
    words = ("all", "--by", "sex", "--length", "40", "--json", "--request", "may")
    assert ask(people, *words) == 0
    first = capsys.readouterr().out
    each = [json.loads(line) for line in first.splitlines()]
    assert [one["question"] for one in each] == [
        "(all) and sex = f",
        "(all) and sex = m",
    ]
    assert ask(people, *words) == 0
    assert capsys.readouterr().out == first
    assert ask(people, "income < 10", "--length", "40", "--request", "may") == 2
    assert "something else was asked" in capsys.readouterr().err


def test_the_unit_of_the_cube_is_that_of_the_account(people, capsys):
    text = CUBE.replace('unit = "record"', 'person = "income"\nkeep = 2')
    (people / "people.toml").write_text(text)
    assert ask(people, "all", "--length", "20") == 2
    assert "unit must be one record" in capsys.readouterr().err
    (people / "people.csv").write_text("income,sex\n1,f\n")
    (people / "people.toml").write_text(CUBE)
    assert ask(people, "all", "--length", "20") == 2
    assert "is not one that account" in capsys.readouterr().err
    assert opened(people).spent == 0


def test_over_a_service(people, capsys, monkeypatch):
    with served(Service(asking(people), ANALYSTS, 0.01)) as address:
        words = ["ask", "income >= 10", "--server", address, "--length", "40"]
        assert cli.main(words) == 2
        assert "a token in the variable DPBAYES_TOKEN" in capsys.readouterr().err
        monkeypatch.setenv("DPBAYES_TOKEN", ANNA)
        assert cli.main([*words, "--price"]) == 0
        assert "would be fresh" in capsys.readouterr().out
        assert cli.main(words) == 0
        assert "fresh, cost 0.149787" in capsys.readouterr().out
        assert cli.main([*words, "--by", "height"]) == 2
        assert "by must be an attribute of the cube" in capsys.readouterr().err
        elsewhere = [*words[:3], "http://example.org", *words[4:]]
        assert cli.main(elsewhere) == 2
        assert "must be http://127.0.0.1:PORT" in capsys.readouterr().err
        monkeypatch.setenv("DPBAYES_TOKEN", "wrong")
        assert cli.main(words) == 2
        assert "Bearer" in capsys.readouterr().err
    assert opened(people).paid_by("anna") > Fraction(1, 10)


def test_mistakes_are_explained_and_cost_nothing(people, capsys):
    question = ("income >= 10", "--length", "20")
    for words, message in (
        (("height > 3", "--length", "20"), "no attribute 'height'"),
        ((*question, "--confidence", "1e-17"), "confidence must be greater"),
        ((*question, "--request", "a b"), "request must match"),
        (
            (*question, "--server", "http://127.0.0.1:1"),
            "not allowed with argument --account",
        ),
        ((*question, "--cube", "none.toml"), "cannot be read"),
        ((*question, "--account", "none.account"), "no account at"),
    ):
        with suppress(SystemExit):  # of the parser
            assert ask(people, *words) == 2
        assert message in capsys.readouterr().err
    assert cli.main(["ask", *question, "--account", "a"]) == 2
    assert "--cube must be given with --account" in capsys.readouterr().err
    assert opened(people).spent == 0
