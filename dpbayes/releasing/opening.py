"""Making the account of a data set, and opening it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpbayes.mechanisms.guarantees import NEIGHBOURS, Epsilon, exact_epsilon, given_epsilon
from dpbayes.releasing.account import Account
from dpbayes.releasing.account_file import SCHEMA, connected
from dpbayes.releasing.witness import (
    AccountError,
    all_witnesses,
    dataset_name,
    file_digest,
    new_witness,
    read_witness,
    sync_folder,
    write_witness,
)

FORMAT = 1


def create_account(
    path: str | Path,
    dataset: str,
    epsilon: Epsilon,
    table: str | Path,
    neighbours: str = "replace-one",
    receipts: str | Path | None = None,
) -> Account:
    r"""Make the account of a data set and return it; its key goes to the folder of keys.

    `epsilon` > 0 bounds all spends together, `table` is the file the data set consists of,
    `receipts` a second file to which a line is added for each entry. A data set or a table that has
    an account already is refused, and so is a path that exists.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\n")
    ...     account = create_account(Path(folder) / "clinic.account", "clinic", "0.3", table)
    ...     account.dataset, account.bound, account.receipt.sequence
    ('clinic', Fraction(3, 10), 1)
    """
    place, name = _file_path(path), dataset_name(dataset)
    bound = exact_epsilon(given_epsilon(epsilon))
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours must be one of {', '.join(NEIGHBOURS)}, got {neighbours!r}")
    if place.exists():
        raise AccountError(f"account {place} exists already")
    _refuse_second_account(Path(table))
    witness = new_witness(name, place)
    second = None if receipts is None else str(Path(receipts).absolute())
    terms = {"format": FORMAT, "dataset": name, "bound": str(bound), "neighbours": neighbours}
    account = Account(place, name, bound, neighbours, second, witness)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    fingerprint = witness.fingerprint(Path(table))
    with connected(part, new=True) as connection:
        connection.execute(SCHEMA)
        body = json.dumps({**terms, "receipts": second}, sort_keys=True)
        account._append(connection, "open", "", Fraction(0), body)
        account._append(connection, "table", "", Fraction(0), fingerprint)
    last = account._entries[-1]
    write_witness(replace(witness.seen(last.sequence, last.digest), tables=(fingerprint,)))
    try:
        os.link(part, place)
    except FileExistsError:
        raise AccountError(f"account {place} exists already") from None
    finally:
        part.unlink()
    sync_folder(place.parent)
    account._settled()
    return open_account(place)


def open_account(path: str | Path) -> Account:
    """Return the account at `path`; AccountError where there is none, or it is not whole.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     open_account(Path(folder) / "clinik.account")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.releasing.witness.AccountError: no account at ...clinik.account; make one with: ...
    """
    place = _file_path(path)
    if not place.is_file():
        raise AccountError(
            f"no account at {place.absolute()}; make one with: dpbayes account create"
        )
    with connected(place) as connection:
        row = connection.execute("SELECT body FROM entries WHERE sequence = 0").fetchone()
    try:
        terms = json.loads(row[0])
        witness = read_witness(terms["dataset"])
        account = Account(
            place,
            terms["dataset"],
            Fraction(terms["bound"]),
            terms["neighbours"],
            terms["receipts"],
            witness,
        )
    except (TypeError, KeyError, json.JSONDecodeError) as error:
        raise AccountError(f"account {place} is damaged: its terms cannot be read") from error
    if Path(witness.account).resolve() != place.resolve():
        raise AccountError(
            f"the account of data set {account.dataset!r} is {witness.account}; {place} is a copy "
            f"of it. If it was moved on purpose, correct the path in the key file"
        )
    account.verify([])
    return account


def _refuse_second_account(table: Path) -> None:
    file_digest(table)
    for other in all_witnesses():
        if other.fingerprint(table) in other.tables:
            raise AccountError(
                f"table {table} has an account already: {other.account} (data set "
                f"{other.dataset!r})"
            )


def _file_path(path: str | Path) -> Path:
    text = str(path)
    if not text.strip() or text.startswith(":") or "\0" in text:
        raise ValueError(f"account must be the path of a file, got {text!r}")
    return Path(text)
