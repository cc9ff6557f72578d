"""The entries of an account; its key and the last entry seen, kept in a folder away
from it.

Whoever can write the account but not this folder (``DPBAYES_KEYS``, else
``.config/dpbayes/keys`` at home, its owner's alone) can neither forge an entry nor
bring back an older state.
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
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from urllib.parse import quote

FOLDER, KNOWN = "DPBAYES_KEYS", "~/.config/dpbayes/keys"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NAMES = "1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit"
FRESH = 1  # last entry of an account from which nothing was paid: its bound, its table


class AccountError(ValueError):
    """An account is missing, damaged, rolled back, or belongs to another data set."""


def dataset_name(value: object) -> str:
    """Return the name of a data set, or raise ValueError."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(f"dataset must be {NAMES}, got {value!r}")
    return value


@dataclass(frozen=True)
class Witness:
    """Key (hexadecimal) of an account, number and digest of its last entry, marks of
    its tables.
    """

    dataset: str
    account: str
    key: str
    sequence: int = FRESH
    digest: str = ""
    tables: list[str] = field(default_factory=list)

    def sign(self, content: bytes) -> str:
        """Return a keyed digest, which tells nothing without the key."""
        return hmac.digest(bytes.fromhex(self.key), content, "sha256").hex()


def keys_folder() -> Path:
    """Return the folder of keys."""
    return Path(os.environ.get(FOLDER) or KNOWN).expanduser()


def witness_file(dataset: str) -> Path:
    """Return where the witness of a data set is kept."""
    return keys_folder() / f"{dataset_name(dataset)}.key"


def read_witness(path: Path) -> Witness:
    """Return the witness in a file; AccountError names the file where there is none."""
    try:
        witness = Witness(**json.loads(path.read_text(encoding="utf-8")))
        if [type(value) for value in astuple(witness)] != [
            str,
            str,
            str,
            int,
            str,
            list,
        ]:
            raise ValueError("a field is of another kind")
        if witness.dataset != path.stem or not re.fullmatch(
            "[0-9a-f]{64}", witness.key
        ):
            raise ValueError(
                "it must name its data set, and a key of 64 hexadecimal digits"
            )
        return witness
    except OSError as error:
        told = f"cannot be read: {error.strerror}. Set {FOLDER} to the folder it is in"
        raise AccountError(
            f"the key of data set {path.stem!r}, {path}, {told}"
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise AccountError(f"the key file {path} is damaged: {error}") from error


def write_witness(witness: Witness) -> None:
    """Replace a witness durably; a crash leaves the old one or the new one."""
    path = witness_file(witness.dataset)
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


@contextmanager
def creating() -> Iterator[None]:
    """Let one process at a time make an account; the lock ends with the process that
    holds it.
    """
    folder = keys_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with connected(folder / "creating.lock", new=True) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes; a pipe or a folder is refused."""
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
    """Open the file of an account; what is not committed is undone when it is
    closed."""
    place = f"file:{quote(str(path))}?mode={'rwc' if new else 'rw'}"
    try:
        connection = sqlite3.connect(
            place, uri=True, timeout=60.0, isolation_level=None
        )
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
