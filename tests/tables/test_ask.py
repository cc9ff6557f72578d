"""`dpbayes ask` as a user runs it, against an account and against a service."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpbayes import __main__ as cli
from dpbayes.tables.account import Account
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.service import Service
from dpbayes.tables.units import Unit
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


def test_several_questions_are_priced_together_before_any_is_paid(people, capsys):
    """What one answer says of the next is in the price, and nothing is drawn."""
    file = people / "questions.txt"
    file.write_text("# a survey\nincome >= 10\n\nincome >= 10  # again\nsex = f\n")
    words = ("--questions", str(file), "--length", "40")
    assert ask(people, *words, "--price") == 0
    told = capsys.readouterr().out
    assert told.count("would be fresh, cost 0.149787") == 2
    assert "would be derived, cost 0\n" in told
    assert "together would be 0.299573" in told
    assert "left 0.700427 of this cube's bound" in told
    assert opened(people).spent == 0
    assert ask(people, *words) == 0
    assert "together 0.299573" in capsys.readouterr().out
    assert float(opened(people).spent) == pytest.approx(0.299573, abs=1e-6)
    file.write_text("income >= 10\nheight > 3\n")
    assert ask(people, *words) == 2  # before the first is paid
    assert "no attribute 'height'" in capsys.readouterr().err
    for text, why in (("# none\n", "got none in"), (None, "No such file")):
        file.unlink() if text is None else file.write_text(text)
        assert ask(people, *words) == 2
        assert why in capsys.readouterr().err
    assert cli.main(["ask", "--account", "a", "--cube", "c", "--length", "3"]) == 2
    assert "a question must be given, or --questions" in capsys.readouterr().err


def test_costs_are_in_one_epsilon_which_is_named(people, capsys):
    assert ask(people, "income >= 10", "--length", "40") == 0
    told = capsys.readouterr().out
    assert "every cost is the epsilon for one record more or less" in told
    assert "chosen before looking at any answer" in told
    account = opened(people)
    line = f"spent {float(account.spent):.6g} of this cube's bound"
    assert line in told


def test_the_account_shows_questions_and_answers_to_its_curator(people, capsys):
    assert ask(people, "income >= 10", "--length", "40", "--request", "a") == 0
    interval = capsys.readouterr().out.split("interval ")[1].split(" at ")[0]
    assert cli.main(["account", "show", str(people / "people.account")]) == 0
    shown = capsys.readouterr().out
    assert "        income >= 10\n" in shown
    assert f"between {interval.replace(' to ', ' and ')} at confidence 0.95" in shown
    assert ": epsilon for one record more or less" in shown


def replaced(folder: Path, more: str = "", unit: Unit | None = None) -> Path:
    """Write a table with the account and the cube file that the pages show."""
    rows = "".join(f"{i},{'f' if i < 30 else 'm'},{i % 30}\n" for i in range(90))
    (folder / "r.csv").write_text("id,sex,income\n" + rows)
    create_account(folder / "r.account", "r", 3, folder / "r.csv", unit or Unit())
    who = 'unit = "record"' if unit is None else f'person = "id"\nkeep = {unit.keep}'
    (folder / "r.toml").write_text(
        f'source = "r.csv"\n{who}\nbound = 1.0\n{more}\n[[attribute]]\nname = "sex"\n'
        'values = ["f", "m"]\n'
    )
    return folder / "r.account"


def of_replaced(folder: Path, *words: str) -> int:
    files = "--cube", str(folder / "r.toml"), "--account", str(folder / "r.account")
    return cli.main(["ask", *files, *words])


def test_a_cube_counts_in_the_relation_of_its_account(people, capsys):
    replaced(people)
    assert of_replaced(people, "sex = f", "--length", "40", "--price") == 0
    told = capsys.readouterr()
    assert "cost 0.149787" in told.out
    assert "epsilon for one record replaced" in told.out
    assert told.err == ""
    assert of_replaced(people, "sex = f or sex = m", "--length", "40") == 2
    assert "its answer is public" in capsys.readouterr().err
    cube = people / "r.toml"
    cube.write_text('neighbours = "add-or-remove"\n' + cube.read_text())
    assert of_replaced(people, "sex = f", "--length", "40", "--price") == 0
    told = capsys.readouterr()
    assert "cost 0.299573" in told.out
    assert "every price is twice that of 'add-or-remove'" in told.err


@pytest.mark.parametrize("more", ['outside = "drop"', 'missing = "drop"'])
def test_what_is_dropped_is_a_value_like_any_other(people, capsys, more):
    """Two tables that differ in one record, m against declined."""
    account = replaced(people, more)
    question = "1000000 * (sex = f) + 1000001 * (sex = m)"
    assert of_replaced(people, question, "--length", "400") == 1
    assert "rejected" in capsys.readouterr().out
    assert of_replaced(people, question, "--length", "4e8", "--price") == 0
    price = 2 * math.log(20) * 1_000_001 / 4e8
    assert f"cost {price:.6g}" in capsys.readouterr().out
    assert of_replaced(people, "all", "--length", "40", "--price") == 0  # not public
    assert "cost 0.149787" in capsys.readouterr().out
    assert open_account(account).spent == 0


def test_the_bound_of_a_cube_is_in_the_epsilon_of_its_account(people, capsys):
    account = replaced(people, unit=Unit("id", 3))
    assert of_replaced(people, "sex = f", "--length", "40") == 0
    told = capsys.readouterr().out
    assert "cost 0.44936" in told
    assert "spent 0.44936 of this cube's bound; left 0.55064" in told
    assert "for the at most 3 counted records of one person replaced" in told
    assert float(open_account(account).spent) == pytest.approx(3 * 0.1497866)
    assert of_replaced(people, "sex = f", "--length", "15") == 1  # above the bound


def test_versions_have_histories_of_their_own_whatever_changed(people, capsys):
    """Derived here and fresh there would tell at no cost where a record changed."""
    account = open_account(replaced(people))
    assert of_replaced(people, "sex = f", "--length", "40") == 0
    text, told = (people / "r.csv").read_text(), []
    changed = text, text.replace("89,m,29", "89,m,2"), text.replace("89,m", "89,f")
    capsys.readouterr()
    for version in changed:
        (people / "r.csv").write_text(version)
        account.accept(people / "r.csv")
        assert of_replaced(people, "sex = f", "--length", "40", "--price") == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]
    assert "would be fresh" in told[0]


def test_the_history_of_an_older_version_is_not_had_by_putting_it_back(people, capsys):
    """Derived where a record changed, and fresh where none did, would tell which."""
    account = open_account(replaced(people))
    table = people / "r.csv"
    older = table.read_bytes()
    assert of_replaced(people, "sex = f", "--length", "40") == 0
    table.write_bytes(older.replace(b"89,m,29", b"89,f,29"))
    account.accept(table)
    table.write_bytes(older)
    capsys.readouterr()
    assert of_replaced(people, "sex = f", "--length", "40") == 2
    told = capsys.readouterr()
    assert "put that back" in told.err
    assert "derived" not in told.out
    account.accept(table)
    assert of_replaced(people, "sex = f", "--length", "40", "--price") == 0
    assert "would be fresh" in capsys.readouterr().out


def test_files_that_are_named_in_latin_1(people, capsys):
    """An account is made, and paid from, whatever bytes its name has."""
    if sys.getfilesystemencoding() != "utf-8":
        pytest.skip("names are in another encoding")
    name = os.fsdecode(b"caf\xe9")
    table, account = people / f"{name}.csv", people / f"{name}.account"
    table.write_text("sex\nf\nm\n")
    words = ["--dataset", "cafe", "--unit", "record", "--epsilon", "1"]
    words += ["--table", str(table)]
    assert cli.main(["account", "create", str(account), *words]) == 0
    assert cli.main(["account", "show", str(account)]) == 0
    opened = open_account(account)
    assert opened.reserve("a", Fraction(1, 2), "plan")
    assert opened.check_table(table)
    assert cli.main(["account", "accept", str(account), str(table)]) == 0
    assert "café" not in capsys.readouterr().err


@pytest.mark.parametrize("step", ["reserve", "keep"])
def test_ctrl_c_ends_in_words_and_nothing_is_half_made(
    people, capsys, monkeypatch, step
):
    """What was paid before is drawn once, and had again under its id."""
    words = ("sex = f", "--length", "40", "--request", "a")
    plain = getattr(Account, step)

    def interrupted(*given, **named):
        plain(*given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Account, step, interrupted)
        assert ask(people, *words) == 130
    told = capsys.readouterr().err
    assert told.startswith("dpbayes ask: interrupted after 0 answers; what was paid is")
    assert ask(people, *words) == 0
    assert ask(people, *words) == 0
    kinds = [entry.kind for entry in opened(people).entries]
    assert kinds == ["open", "table", "spend", "result"]


def test_ctrl_c_elsewhere_is_told(people, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbayes.commands.account.open_account", interrupted)
    assert cli.main(["account", "show", "a"]) == 130
    assert capsys.readouterr().err == "dpbayes account: interrupted\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("values", "others"),
    [(60, 6000), pytest.param(600, 600, marks=pytest.mark.slow)],
)
def test_a_question_by_value_of_many_cells_is_priced_in_little_memory(
    people, values, others
):
    """One after the other: all 600 queries of 360,000 cells together are 1.7 GB."""
    (people / "wide.csv").write_text("a,b\n1,1\n2,2\n")
    lines = ['source = "wide.csv"', 'unit = "record"', "bound = 1e3"]
    for name, size in (("a", values), ("b", others)):
        edges = list(range(size + 1))
        lines += ["[[attribute]]", f'name = "{name}"', f"edges = {edges}"]
    (people / "wide.toml").write_text("\n".join(lines) + "\n")
    create_account(people / "wide", "wide", "1e3", people / "wide.csv", Unit())
    # What getrusage says of a child is never less than what its parent held.
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from dpbayes.__main__ import main\n"
        "status = main(sys.argv[1:])\n"
        "said = Path('/proc/self/status').read_text()\n"
        "most = int(re.search(r'VmHWM:\\s+(\\d+) kB', said)[1])\n"
        "print(1024 * most, file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    asked = ["ask", "all", "--by", "a", "--cube", "wide.toml", "--account", "wide"]
    done = subprocess.run(
        [sys.executable, "-c", program, *asked, "--length", "40", "--price"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=people,
    )
    assert done.stdout.count("would be fresh") == values
    assert int(done.stderr) < 300e6
