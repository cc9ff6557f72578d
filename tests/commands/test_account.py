"""``dpbayes account``: create, show, verify and accept, as a curator types them."""

from __future__ import annotations

from dpbayes.__main__ import main
from dpbayes.tables.opening import open_account
from tests.tables.clinic import PLAN, released

CREATE = (
    "account",
    "create",
    "o.account",
    "--dataset",
    "o",
    "--table",
    "other.csv",
    "--epsilon",
)


def test_the_account_commands(clinic, capsys):
    released(clinic)
    released(clinic, PLAN + 'request = "again"\n')
    assert main(["account", "show", "clinic.account"]) == 0
    receipt = str(open_account("clinic.account").receipt)
    printed = capsys.readouterr().out
    assert "balance  0.2 of 1.2" in printed
    assert receipt in printed
    spends = [line.split() for line in printed.splitlines()[:2]]
    assert [(words[0], words[2], words[3] == "again") for words in spends] == [
        ("2", "0.5", False),
        ("4", "0.5", True),
    ]
    (clinic / "newer.csv").write_text("health\ngood\n")
    assert main(["account", "accept", "clinic.account", "newer.csv"]) == 0
    assert "note     newer.csv.dpbayes" in capsys.readouterr().out
    open_account("clinic.account").check_table(clinic / "newer.csv")
    assert main(["account", "show", "clinik.account"]) == 2
    assert "no account at" in capsys.readouterr().err


def test_a_tiny_account_is_not_an_empty_one(clinic, capsys):
    (clinic / "other.csv").write_text("health\ngood\n")
    assert main([*CREATE, "1e-7", "--unit", "record", "--keep", "3"]) == 2
    assert "keep must be used with person" in capsys.readouterr().err
    assert main([*CREATE, "1e-7", "--person", "id"]) == 0
    printed = capsys.readouterr().out
    assert "balance  1e-7 of 1e-7" in printed
    assert "unit     one person (column 'id', one record of each)" in printed


def test_receipts_from_a_file_and_from_the_line(clinic, capsys):
    released(clinic)
    receipt = str(open_account("clinic.account").receipt)
    (clinic / "receipts").write_text(f"{receipt}\n\n")
    verify = ["account", "verify", "clinic.account"]
    assert main([*verify, "--receipts", "receipts", "--receipt", receipt]) == 0
    assert "4 entries and 2 receipts agree" in capsys.readouterr().out
    (clinic / "receipts").write_text(receipt.replace("clinic 3 ", "clinic 2 "))
    for given, message in (
        (("--receipts", "receipts"), "rolled back or rewritten"),
        (("--receipt", "clinic 3"), "'dataset number digest', got 'clinic 3'"),
        (
            ("--receipts", "nowhere"),
            "--receipts must be a readable file, got 'nowhere'",
        ),
        (("--receipt", receipt.replace("clinic", "other")), "rolled back or rewritten"),
    ):
        assert main([*verify, *given]) == 2
        assert message in capsys.readouterr().err
