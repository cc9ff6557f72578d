"""The key of an account and the last entry seen, kept in a folder away from the account.

Whoever can write the account but not this folder cannot forge an entry, since entries are chained
with the key, nor bring back an older state, since number and digest of the last entry are kept here
as well. The folder is the one named by the environment variable ``DPBAYES_KEYS``, else
``.config/dpbayes/keys`` in the home directory; its files are readable by their owner alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

FOLDER = "DPBAYES_KEYS"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PATIENCE = 60.0


class AccountError(ValueError):
    """An account is missing, damaged, rolled back, or belongs to another data set."""


def dataset_name(value: object) -> str:
    """Return the name of a data set, or raise ValueError."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(
            "dataset must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or "
            f"digit, got {value!r}"
        )
    return value


@dataclass(frozen=True)
class Witness:
    """What is kept of one account: `key` (hexadecimal), `sequence` and `digest` of its last entry.

    `tables` are the keyed fingerprints of the tables the account stands for. An empty `digest` says
    that the account was being made when this was written: nothing has been spent under such a key.
    """

    dataset: str
    account: str
    key: str
    sequence: int = 0
    digest: str = ""
    tables: list[str] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        """Whether the account was still being made when this was written."""
        return not self.digest

    @property
    def abandoned(self) -> bool:
        """Whether the making of the account was interrupted before there was one."""
        return self.pending and not Path(self.account).exists()

    def sign(self, before: str, content: str) -> str:
        """Return the digest of an entry that follows the one with digest `before`."""
        return self.fingerprint(f"{before}|{content}".encode())

    def fingerprint(self, digest: bytes) -> str:
        """Return the keyed fingerprint of a table, which tells nothing without the key."""
        return hmac.digest(bytes.fromhex(self.key), digest, "sha256").hex()


def keys_folder() -> Path:
    """Return the folder of keys."""
    return Path(os.environ.get(FOLDER) or known_folder())


def known_folder() -> Path:
    """Return the folder of keys of whoever names no other."""
    return Path(os.path.expanduser("~/.config/dpbayes/keys"))


def witness_file(dataset: str) -> Path:
    """Return where the witness of a data set is kept."""
    return keys_folder() / f"{dataset_name(dataset)}.key"


def read_witness(path: Path) -> Witness:
    """Return the witness in a file; AccountError names the file where there is none."""
    try:
        witness = Witness(**json.loads(path.read_text(encoding="utf-8")))
        texts = (witness.dataset, witness.account, witness.key, witness.digest, *witness.tables)
        known = all(isinstance(text, str) for text in texts) and isinstance(witness.tables, list)
        if not known or type(witness.sequence) is not int or witness.dataset != path.stem:
            raise ValueError("a field is of another kind or value")
        if not re.fullmatch("[0-9a-f]{64}", witness.key):
            raise ValueError("key must be 64 hexadecimal digits")
        return witness
    except FileNotFoundError:
        raise AccountError(
            f"the key of data set {path.stem!r} is not at {path}; set {FOLDER} to the folder it is "
            "in"
        ) from None
    except OSError as error:
        raise AccountError(f"the key file {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise AccountError(f"the key file {path} is damaged: {error}") from error


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


def all_witnesses(folder: Path) -> list[Witness]:
    """Return the witnesses of all accounts with a key in a folder."""
    return [read_witness(path) for path in sorted(folder.glob("*.key"))]


@contextmanager
def creating() -> Iterator[None]:
    """Let one process at a time make an account; the lock ends with the process that holds it."""
    folder = keys_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with connected(folder / "creating.lock", new=True) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes, read in pieces; a pipe or a folder is refused."""
    if not path.is_file():
        raise AccountError(f"table {path} cannot be read: it is not a file")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def connected(path: Path, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file of an account; SQLite's errors become sentences that name the file."""
    place = f"file:{quote(str(path))}?mode={'rwc' if new else 'rw'}"
    try:
        connection = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise AccountError(f"account {path} cannot be used: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise AccountError(f"account {path} is damaged: {error}") from error
