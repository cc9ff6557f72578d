"""``dpbayes account``: create, show, verify and accept, as a curator types them."""

from __future__ import annotations

import pytest

from dpbayes.cli import main
from dpbayes.tables.opening import open_account
from tests.tables.clinic import PLAN, released


def test_the_account_commands(clinic, capsys):
    released(clinic)
    assert main(["account", "show", "clinic.account"]) == 0
    receipt = str(open_account(clinic / "clinic.account").receipt)
    printed = capsys.readouterr().out
    assert "balance  0.7 of 1.2" in printed
    assert receipt in printed
    assert main(["account", "verify", "clinic.account", "--receipt", receipt]) == 0
    assert main(["account", "show", "clinik.account"]) == 2
    assert "no account at" in capsys.readouterr().err
    assert main(["release", "people.csv"]) == 2
    assert main(["release", "people.csv", "--plan", "plan.toml", "--epsilon", "1"]) == 2
    assert main(["release"]) == 2


def test_a_tiny_account_is_not_an_empty_one(clinic, capsys):
    (clinic / "other.csv").write_text("health\ngood\n")
    words = [
        "account",
        "create",
        "o.account",
        "--dataset",
        "o",
        "--unit",
        "record",
        "--epsilon",
        "1e-7",
    ]
    assert main([*words, "--table", "other.csv"]) == 0
    assert "balance  1e-7 of 1e-7" in capsys.readouterr().out
    assert main(["account", "verify", "o.account"]) == 0
    assert "2 entries and 0 receipts agree" in capsys.readouterr().out


def test_a_list_of_spends_and_a_newer_table(clinic, capsys):
    released(clinic)
    released(clinic, PLAN + 'request = "again"\n')
    assert main(["account", "show", "clinic.account"]) == 0
    spends = [line.split() for line in capsys.readouterr().out.splitlines()[:2]]
    assert [(words[0], words[2], words[3] == "again") for words in spends] == [
        ("2", "0.5", False),
        ("4", "0.5", True),
    ]
    (clinic / "newer.csv").write_text("health\ngood\n")
    assert main(["account", "accept", "clinic.account", "newer.csv"]) == 0
    assert "balance  0.2 of 1.2" in capsys.readouterr().out
    open_account("clinic.account").check_table(clinic / "newer.csv")


@pytest.mark.slow
def test_receipts_from_a_file_and_from_the_line(clinic, capsys):
    released(clinic)
    receipt = str(open_account("clinic.account").receipt)
    (clinic / "receipts").write_text(f"{receipt}\n\n")
    verify = ["account", "verify", "clinic.account"]
    assert main([*verify, "--receipts", "receipts", "--receipt", receipt]) == 0
    assert "4 entries and 2 receipts agree" in capsys.readouterr().out
    (clinic / "receipts").write_text(receipt.replace("clinic 3 ", "clinic 2 "))
    assert main([*verify, "--receipts", "receipts"]) == 2
    assert "rolled back or rewritten" in capsys.readouterr().err
    assert main([*verify, "--receipts", "nowhere"]) == 2
    assert "--receipts must be a readable file, got 'nowhere'" in capsys.readouterr().err
