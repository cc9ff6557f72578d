"""``dpbayes account``: the account of a data set, from which every release and answer is paid.

dpbayes account create clinic.account --dataset clinic --unit record --epsilon 3 --table people.csv
dpbayes account create clinic.account --dataset clinic --person id --keep 5 --epsilon 3 --table …
dpbayes account show clinic.account
dpbayes account verify clinic.account --receipt "clinic 4 1f0c…"
dpbayes account accept clinic.account people-2027.csv
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

from dpbayes.mechanisms.guarantees import NEIGHBOURS
from dpbayes.tables.account import Account, Receipt
from dpbayes.tables.decimals import counted, decimal_text, significant_text
from dpbayes.tables.keys import witness_file
from dpbayes.tables.opening import NOTE, create_account, leave_note, open_account
from dpbayes.tables.units import Unit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make the account of a data set")
    create.add_argument("account", help="file of the account, which must not exist")
    create.add_argument("--dataset", required=True, help="name of the data set")
    who = create.add_mutually_exclusive_group(required=True)
    who.add_argument("--unit", choices=["record"], help="each record is protected by itself")
    who.add_argument("--person", metavar="COLUMN", help="each person is: column that names them")
    create.add_argument("--keep", type=int, help="most records of a person that count (1)")
    create.add_argument("--epsilon", required=True, help="bound of all spends together")
    create.add_argument("--delta", default="0", help="bound of all deltas together (0)")
    create.add_argument("--table", required=True, help="file the data set consists of")
    create.add_argument("--neighbours", choices=list(NEIGHBOURS), default="replace-one")
    create.add_argument("--receipts", help="second file that gets a line for each entry")
    show = actions.add_parser("show", help="list what was spent and what is left")
    show.add_argument("account")
    verify = actions.add_parser("verify", help="check the account against its key and receipts")
    verify.add_argument("account")
    verify.add_argument("--receipt", action="append", default=[], help="a printed receipt")
    verify.add_argument("--receipts", help="a file of receipts, one a line")
    accept = actions.add_parser("accept", help="let the account stand for a newer table, too")
    accept.add_argument("account")
    accept.add_argument("table")


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action."""
    if arguments.action == "create":
        if arguments.keep is not None and arguments.person is None:
            raise ValueError(f"--keep must be used with --person, got {arguments.keep}")
        account = create_account(
            arguments.account,
            arguments.dataset,
            arguments.epsilon,
            arguments.table,
            Unit(arguments.person, 1 if arguments.keep is None else arguments.keep),
            arguments.neighbours,
            arguments.receipts,
            arguments.delta,
        )
        print(f"{summary(account)}\nkey      {witness_file(account.dataset)}")
        tell_note(arguments.table)
        return 0
    account = open_account(arguments.account)
    if arguments.action == "accept":
        account.accept(Path(arguments.table))
        leave_note(Path(arguments.table), account)
        tell_note(arguments.table)
    if arguments.action == "verify":
        receipts = [Receipt.parse(text) for text in arguments.receipt]
        if arguments.receipts is not None:
            receipts += receipts_in(Path(arguments.receipts))
        account.verify(receipts)
        entries = counted(len(account.entries), "entry", "entries")
        print(f"{entries} and {counted(len(receipts), 'receipt')} agree")
        absent = ", ".join(map(str, account.without_receipt()))
        if absent:
            print(f"no line in {account.receipts} for entry {absent}; the next command adds it")
        return 0
    if arguments.action == "show":
        print(listing(account))
    print(summary(account))
    return 0


def tell_note(table: str) -> None:
    """Say where the note beside a table is, or that none could be left."""
    note = Path(table + NOTE)
    print(f"note     {note if note.is_file() else 'none: the folder of the table is read-only'}")


def receipts_in(path: Path) -> list[Receipt]:
    """Return the receipts in a file, or raise ValueError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--receipts must be a readable file, got {str(path)!r}: {error}"
        ) from None
    return [Receipt.parse(line) for line in lines if line.strip()]


def listing(account: Account) -> str:
    """Return one line a spend."""
    spends = [entry for entry in account.entries if entry.kind == "spend"]
    return "\n".join(
        f"{entry.sequence:>6}  {entry.time}  {amount(entry.epsilon, entry.delta):>10}  "
        f"{entry.request}"
        for entry in spends
    )


def summary(account: Account) -> str:
    """Return name, balance and receipt of an account."""
    left, bound = (decimal_text(value, "down") for value in (account.balance, account.bound))
    slack = (account.delta_balance, account.delta_bound)
    deltas = " of ".join(significant_text(value, "down") for value in slack)
    return (
        f"account  {account.path} of {account.dataset}, {account.neighbours}\n"
        f"unit     {account.unit}\n"
        f"balance  {left} of {bound}{f', delta {deltas}' if account.delta_bound else ''}\n"
        f"receipt  {account.receipt}"
    )


def amount(epsilon: Fraction, delta: Fraction) -> str:
    """Return an epsilon, and a delta where there is one, rounded up."""
    slack = f" + delta {significant_text(delta, 'up')}" if delta else ""
    return f"{decimal_text(epsilon, 'up')}{slack}"
