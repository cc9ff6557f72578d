"""Which account a table has: the note beside it, and the keys that know its digest."""

from __future__ import annotations

import os
from pathlib import Path

from dpbayes.tables import keys
from dpbayes.tables.keys import AccountError, Witness


def note_of(table: Path) -> Path:
    """Return where the note stands that says which account a table has: beside the
    table itself, where its path is a symbolic link.
    """
    itself = table.resolve() if table.is_symlink() else table
    return itself.with_name(f"{itself.name}.dpbayes")


def noted(table: Path) -> str:
    """Return the path of the account that the note beside a table names, "" for no
    note.
    """
    try:
        name = os.fsdecode(note_of(table).read_bytes().partition(b"\n")[0])
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise AccountError(
            f"the note {note_of(table)} says which account the table has, and cannot be"
            f" read: {error.strerror}"
        ) from error
    if "\0" in name:
        raise AccountError(
            f"the note {note_of(table)} says which account the table has, and is"
            " damaged: it names no file"
        )
    return name


def leave_note(table: Path, account: Path, dataset: str) -> str:
    """Write beside a table which account it has; return where, or why that was not
    possible. A note of another account stays as it is.
    """
    place = note_of(table)
    # In bytes: a name need not be text in this language.
    note = os.fsencode(
        f"{account.absolute()}\nis the account of {table.name}, data set {dataset}: all"
        " releases and answers are paid there, and no other account is made for it.\n"
    )
    try:
        with place.open("xb") as stream:
            stream.write(note)
    except FileExistsError:
        if not same_account(noted(table), account):
            return f"{place} names another account; it stays"
    except OSError as error:
        return f"none: {place} cannot be written ({error.strerror})"
    return str(place)


def same_account(path: str, account: Path) -> bool:
    """Return whether a path is that of an account."""
    return bool(path) and Path(path).resolve() == account.resolve()


def owners(dataset: str, digest: bytes) -> list[tuple[Path, Witness, bool]]:
    """Return the keys of other accounts of a data set, or of a table with this digest:
    file, witness, and whether it has the data set's name.
    """
    found = []
    for folder in dict.fromkeys((keys.keys_folder(), keys.known_folder())):
        for path in sorted(folder.glob("*.key")) if folder is not None else ():
            witness = keys.read_witness(path)
            named = witness.dataset == dataset and folder == keys.keys_folder()
            if named or witness.sign(digest) in witness.tables:
                found.append((path, witness, named))
    return found


def refuse_noted(table: Path, account: Path | None = None) -> None:
    """Refuse a table beside which a note names another account than this one."""
    name = noted(table)
    if name and not (account is not None and same_account(name, account)):
        raise AccountError(
            f"table {table} has an account already, says {note_of(table)}: {name}. Pay"
            " from it; if its key is not here, it is in another folder, of another"
            " user, or lost, and a second account would promise twice as much. If"
            " nothing was ever spent there, delete the note"
        )


def refuse_owned(table: Path, witness: Witness, named: bool) -> None:
    """Raise that a data set or a table has an account already."""
    what = f"data set {witness.dataset!r}" if named else f"table {table}"
    told = f"{witness.account} (data set {witness.dataset!r}); pay from it"
    raise AccountError(f"{what} has an account already: {told}")
