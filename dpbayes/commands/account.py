r"""``dpbayes account``: the account of a data set, from which every release and answer
is paid.

    dpbayes account create clinic.account --dataset clinic --unit record --epsilon 3 \
        --table people.csv
    dpbayes account show clinic.account
    dpbayes account verify clinic.account --receipt "clinic 4 1f0c…"
    dpbayes account accept clinic.account people-2027.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dpbayes.tables.account import Account
from dpbayes.tables.keys import witness_file
from dpbayes.tables.notes import leave_note
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RELATIONS, WORTHLESS, Unit, counted, decimal_text


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
    show = actions.add_parser(
        "show", help="list questions, answers, what was spent and what is left"
    )
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
        given = arguments.dataset, arguments.epsilon, arguments.table, unit
        account = create_account(place, *given, arguments.neighbours)
    else:
        account = open_account(place)
    if action == "verify":
        return verified(account, arguments)
    if action == "accept":
        account.accept(Path(arguments.table))
    if action == "show":
        print_spends(account)
    else:
        note = leave_note(Path(arguments.table), account.path, account.dataset)
        print(f"key      {witness_file(account.dataset)}\nnote     {note}")
    if action == "accept":
        print("version  a new one: what is asked of it is drawn and paid anew")
    left, bound = (
        decimal_text(value, "down") for value in (account.balance, account.bound)
    )
    differ = account.unit.differ_by(account.neighbours)
    print(f"account  {account.path} of {account.dataset}, {account.neighbours}")
    print(f"unit     {account.unit}")
    print(f"balance  {left} of {bound}: epsilon for {differ}")
    if account.bound > WORTHLESS:
        print(f"warning  an epsilon above {WORTHLESS} promises next to nothing")
    print(f"receipt  {account.receipt}")
    return 0


def print_spends(account: Account) -> None:
    """Print what was paid for: of a question its text, who asked, and the answer."""
    from dpbayes.tables.answering import answer_of

    for spend, drawn in account.spends():
        amount = decimal_text(spend.epsilon, "up")
        print(f"{spend.sequence:>6}  {spend.time}  {amount:>10}  {spend.request}")
        answer = answer_of(spend, drawn)
        if "asked" in spend.fields:
            payer = spend.fields["payer"]
            by = f", asked by {payer}" if payer else ""
            print(f"        {_plain(spend.fields['statement'])}{by}")
        if answer is not None and answer.interval is not None:
            low, high = answer.interval
            print(
                f"        {answer.estimate:.2f}, between {low:.2f} and {high:.2f} at"
                f" confidence {answer.confidence:.15g}"
            )


def _plain(text: str) -> str:
    """Return a text of an analyst without what moves the cursor of a terminal."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


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
