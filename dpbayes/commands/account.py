"""``dpbayes account``: the account of a data set, from which every release and answer
is paid.

dpbayes account create clinic.account --dataset clinic --unit record --epsilon 3 --table
people.csv dpbayes account show clinic.account dpbayes account verify clinic.account
--receipt "clinic 4 1f0c…" dpbayes account accept clinic.account people-2027.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.tables.account import Account
from dpbayes.tables.keys import witness_file
from dpbayes.tables.notes import leave_note
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RELATIONS, Unit, counted, decimal_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make the account of a data set")
    create.add_argument("account", help="file of the account, which must not exist")
    create.add_argument("--dataset", required=True, help="name of the data set")
    who = create.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--unit", choices=["record"], help="each record is protected by itself"
    )
    who.add_argument(
        "--person", metavar="COLUMN", help="each person is: column that names them"
    )
    create.add_argument(
        "--keep", type=int, default=1, help="most records of a person that count"
    )
    create.add_argument("--epsilon", required=True, help="bound of all spends together")
    create.add_argument("--table", required=True, help="file the data set consists of")
    create.add_argument("--neighbours", choices=RELATIONS, default="replace-one")
    show = actions.add_parser("show", help="list what was spent and what is left")
    verify = actions.add_parser(
        "verify", help="check the account against its key and receipts"
    )
    accept = actions.add_parser(
        "accept", help="let the account stand for a newer table, too"
    )
    for parser in (show, verify, accept):
        parser.add_argument("account")
    verify.add_argument(
        "--receipt", action="append", default=[], help="a printed receipt"
    )
    verify.add_argument("--receipts", help="a file of receipts, one a line")
    accept.add_argument("table")


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action."""
    action, place = arguments.action, arguments.account
    if action == "create":
        unit = Unit(arguments.person, arguments.keep)
        given = (
            arguments.dataset,
            arguments.epsilon,
            arguments.table,
            unit,
            arguments.neighbours,
        )
        account = create_account(place, *given)
    else:
        account = open_account(place)
    if action == "verify":
        return verified(account, arguments)
    if action == "accept":
        account.accept(Path(arguments.table))
    if action == "show":
        for entry in account.entries:
            if entry.kind == "spend":
                amount = decimal_text(entry.epsilon, "up")
                print(
                    f"{entry.sequence:>6}  {entry.time}  {amount:>10}  {entry.request}"
                )
    else:
        print(f"key      {witness_file(account.dataset)}")
        print(
            f"note     {leave_note(Path(arguments.table), account.path, account.dataset)}"
        )
    left, bound = (
        decimal_text(value, "down") for value in (account.balance, account.bound)
    )
    print(f"account  {account.path} of {account.dataset}, {account.neighbours}")
    print(
        f"unit     {account.unit}\nbalance  {left} of {bound}\nreceipt "
        f" {account.receipt}"
    )
    return 0


def verified(account: Account, arguments: argparse.Namespace) -> int:
    """Compare an account with receipts, from the command line and from a file."""
    lines, file = list(arguments.receipt), arguments.receipts
    try:
        lines += (
            [] if file is None else Path(file).read_text(encoding="utf-8").splitlines()
        )
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--receipts must be a readable file, got {file!r}: {error}"
        ) from None
    receipts = [line for line in lines if line.strip()]
    account.verify(receipts)
    entries = counted(len(account.entries), "entry", "entries")
    print(f"{entries} and {counted(len(receipts), 'receipt')} agree")
    return 0
