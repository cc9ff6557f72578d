"""The key of an account and the last entry seen, kept in a folder away from the account.

Whoever can write the account file but not this folder cannot forge an entry, since entries are
chained with the key, nor bring back an older state, since the number and the digest of the last
entry are kept here as well. The folder is the one named by the environment variable
``DPBAYES_KEYS``, else ``.config/dpbayes/keys`` in the home directory; its files are readable by
their owner alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

FOLDER = "DPBAYES_KEYS"
PATIENCE = 60.0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"[0-9a-f]{64}")


class AccountError(ValueError):
    """An account is missing, damaged, rolled back, or belongs to another data set."""


@dataclass(frozen=True)
class Witness:
    """What is kept of one account: `key` (hexadecimal), `sequence` and `digest` of its last entry.

    `tables` are the keyed fingerprints of the tables the account stands for. `pending` says that
    the account was being made when this was written: nothing has been spent under such a key.
    """

    dataset: str
    account: str
    key: str
    sequence: int
    digest: str
    tables: tuple[str, ...] = ()
    pending: bool = False

    def sign(self, before: str, content: str) -> str:
        """Return the digest of an entry that follows the one with digest `before`."""
        message = f"{before}|{content}".encode()
        return hmac.new(bytes.fromhex(self.key), message, hashlib.sha256).hexdigest()

    def fingerprint(self, table: Path) -> str:
        """Return the keyed fingerprint of a table's bytes; without the key it tells nothing."""
        return self.of_digest(file_digest(table))

    def of_digest(self, digest: bytes) -> str:
        """Return the keyed fingerprint that belongs to the SHA-256 of a table."""
        return hmac.new(bytes.fromhex(self.key), digest, hashlib.sha256).hexdigest()

    @property
    def abandoned(self) -> bool:
        """Whether the making of the account was interrupted before there was one."""
        return self.pending and not Path(self.account).exists()

    def seen(self, sequence: int, digest: str) -> Witness:
        """Return the witness of a later entry."""
        return replace(self, sequence=sequence, digest=digest)


def dataset_name(value: object) -> str:
    """Return the name of a data set, or raise ValueError."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(
            "dataset must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or "
            f"digit, got {value!r}"
        )
    return value


def new_witness(dataset: str, account: Path) -> Witness:
    """Return a witness with a fresh key, or raise AccountError where the data set has one."""
    path = witness_file(dataset)
    if path.exists():
        raise AccountError(
            f"data set {dataset!r} has an account already: {read_witness(dataset).account}"
        )
    return Witness(dataset, str(account.absolute()), secrets.token_hex(32), 0, "")


def read_witness(dataset: str) -> Witness:
    """Return the witness of a data set; AccountError names the file where there is none."""
    path = witness_file(dataset)
    try:
        return _checked(json.loads(path.read_text(encoding="utf-8")), dataset)
    except FileNotFoundError:
        raise AccountError(
            f"the key of data set {dataset!r} is not at {path}; set {FOLDER} to the folder it is in"
        ) from None
    except OSError as error:
        raise AccountError(f"the key file {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AccountError(f"the key file {path} is damaged: {error}") from error


def _checked(fields: dict[str, Any], dataset: str) -> Witness:
    """Return the witness that is written in these fields, each of its kind."""
    witness = Witness(**{**fields, "tables": tuple(fields["tables"])})
    good = {
        "dataset": witness.dataset == dataset,
        "account": isinstance(witness.account, str) and bool(witness.account),
        "key": isinstance(witness.key, str) and bool(_KEY.fullmatch(witness.key)),
        "sequence": type(witness.sequence) is int and witness.sequence >= 0,
        "digest": isinstance(witness.digest, str),
        "tables": isinstance(fields["tables"], list)
        and all(isinstance(table, str) for table in witness.tables),
        "pending": isinstance(witness.pending, bool),
    }
    wrong = [name for name, kept in good.items() if not kept]
    if wrong:
        raise ValueError(f"it is of another kind or value: {', '.join(wrong)}")
    return witness


def write_witness(witness: Witness) -> None:
    """Replace a witness durably; a crash leaves the old one or the new one."""
    path = witness_file(witness.dataset)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(asdict(witness), stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def forget_abandoned() -> None:
    """Remove the keys of accounts whose making was interrupted; hold `creating` meanwhile."""
    for witness in all_witnesses():
        if witness.abandoned:
            witness_file(witness.dataset).unlink()


@contextmanager
def creating() -> Iterator[None]:
    """Let one process at a time make an account; the lock ends with the process that holds it."""
    folder = keys_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = sqlite3.connect(folder / "creating.lock", timeout=PATIENCE, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise AccountError(f"the folder of keys {folder} cannot be used: {error}") from error
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    except sqlite3.Error as error:
        raise AccountError(f"the folder of keys {folder} cannot be used: {error}") from error
    finally:
        lock.close()


def all_witnesses() -> list[Witness]:
    """Return the witnesses of all accounts in the folder of keys."""
    return [read_witness(path.stem) for path in sorted(keys_folder().glob("*.key"))]


def others_for(table: Path) -> Iterator[tuple[str, str]]:
    """Return account and data set of each key that stands for a table, here or in the known folder.

    What cannot be read in the known folder, where DPBAYES_KEYS names another, is passed over.
    """
    digest = file_digest(table)
    for witness in all_witnesses():
        if witness.of_digest(digest) in witness.tables:
            yield witness.account, witness.dataset
    if keys_folder() == known_folder():
        return
    with suppress(OSError, RuntimeError):
        for path in sorted(known_folder().glob("*.key")):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                witness = _checked(json.loads(path.read_text(encoding="utf-8")), path.stem)
                if witness.of_digest(digest) in witness.tables:
                    yield witness.account, witness.dataset


def witness_file(dataset: str) -> Path:
    """Return where the witness of a data set is kept."""
    return keys_folder() / f"{dataset_name(dataset)}.key"


def keys_folder() -> Path:
    """Return the folder of keys."""
    given = os.environ.get(FOLDER)
    return Path(given) if given else known_folder()


def known_folder() -> Path:
    """Return the folder of keys of whoever names no other."""
    return Path.home() / ".config" / "dpbayes" / "keys"


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes, read in pieces; a pipe or a folder is refused."""
    if path.exists() and not path.is_file():
        raise AccountError(f"table {path} cannot be read: it is not a file")
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise AccountError(f"table {path} cannot be read: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
