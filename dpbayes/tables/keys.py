"""The entries of an account; its key and the last entry seen, kept in a folder away
from it.

Whoever can write the account but not this folder (``DPBAYES_KEYS``, else
``.config/dpbayes/keys`` at home, its owner's alone) can neither forge an entry nor
bring back an older state.
"""

from __future__ import annotations

import glob
import hashlib
import hmac
import json
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from urllib.parse import quote

FOLDER, KNOWN = "DPBAYES_KEYS", "~/.config/dpbayes/keys"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NAMES = "1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit"
FRESH = 1  # last entry of an account from which nothing was paid: its bound, its table


_FIELDS = [str, str, str, int, str, list]
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DENIED = {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
WAIT = 20.0  # seconds in which another process may finish what it writes


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
    """Return the folder of keys; AccountError where it cannot be told, or where others
    may write to it.
    """
    given = os.environ.get(FOLDER)
    folder = Path(given) if given else known_folder()
    if folder is None:
        raise AccountError(
            f"the folder of keys must be named in {FOLDER}: the user has no home here"
        )
    with suppress(OSError):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if folder.is_dir() and mode & 0o022:
            raise AccountError(
                f"the folder of keys, {folder}, has mode {mode:04o}: others can write"
                f" there, and so bring back an older state. Give: chmod 700 {folder}"
            )
    return folder


def known_folder() -> Path | None:
    """Return the folder of keys at home, None where the user has no home."""
    try:
        return Path(KNOWN).expanduser()
    except RuntimeError:
        return None


def witness_file(dataset: str) -> Path:
    """Return where the witness of a data set is kept."""
    return keys_folder() / f"{dataset_name(dataset)}.key"


def read_witness(path: Path) -> Witness:
    """Return the witness in a file; AccountError names the file where there is none."""
    try:
        witness = Witness(**json.loads(path.read_text(encoding="utf-8")))
        if [type(value) for value in astuple(witness)] != _FIELDS:
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
    except OSError as error:
        raise AccountError(
            f"the key of data set {witness.dataset!r} cannot be written in"
            f" {path.parent}: {error.strerror}; nothing is paid without it"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    sync_folder(path.parent)


def clear_parts(dataset: str) -> None:
    """Take away what processes that were killed have left of a key."""
    path = witness_file(dataset)
    for part in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
        number = part.suffixes[-2].strip(".")
        if number.isdigit() and not _alive(int(number)):
            with suppress(OSError):
                part.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def creating() -> Iterator[None]:
    """Let one process at a time make an account or take in a table; the lock ends with
    the process that holds it.
    """
    folder = keys_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise AccountError(
            f"the folder of keys, {folder}, cannot be made: {error.strerror}. Set"
            f" {FOLDER} to a folder of yours"
        ) from error
    with connected(folder / "creating.lock", new=True) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def require_file(path: Path, otherwise: str) -> None:
    """Raise AccountError unless a path is that of a file that may be looked at."""
    try:
        there = stat.S_ISREG(path.stat().st_mode)
    except PermissionError as error:
        raise _denied(path) from error
    except (OSError, ValueError):
        there = False
    if not there:
        raise AccountError(otherwise)


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes; a pipe or a folder is refused."""
    try:
        if not path.is_file():
            raise AccountError(f"table {path} cannot be read: it is not a file")
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


@contextmanager
def connected(path: Path, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file of an account; what is not committed is undone when it is closed.

    AccountError says that the file is in use, that it is not this user's, or that it is
    damaged: only then is anything lost.
    """
    place = f"file:{quote(os.fsencode(path))}?mode={'rwc' if new else 'rw'}"
    try:
        with closing(
            sqlite3.connect(place, uri=True, timeout=WAIT, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in _BUSY:
            raise AccountError(
                f"account {path} is in use by another program, which has held it for"
                f" {WAIT:g} seconds; nothing was changed. Try again when it is done"
            ) from error
        if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
            raise AccountError(
                f"account {path} is not there any more: put the file back; nothing is"
                " paid without it"
            ) from error
        if code in _DENIED:
            raise _denied(path) from error
        if isinstance(error, sqlite3.OperationalError) and code not in _DAMAGED:
            raise AccountError(f"account {path} cannot be used: {error}") from error
        raise AccountError(f"account {path} is damaged: {error}") from error


def _denied(path: Path) -> AccountError:
    return AccountError(
        f"account {path}: permission denied. It must be a file that this user can read"
        " and write, in a folder that this user can write; nothing is wrong with it"
    )
