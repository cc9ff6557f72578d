"""Folders of results: one process at a time writes them, each is whole or not there.

A run writes into a stage, a folder of its own process; what it recorded, and nothing
else, is then published with its provenance. Results whose files are not those that the
provenance lists are not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from dpbayes.notebooks import provenance
from dpbayes.record import PROVENANCE, json_bytes, read_json, write_atomically


@contextlib.contextmanager
def only_one(folder: Path, what: str) -> Iterator[None]:
    """Hold a folder as the only process that does `what` there, such as "a build".

    Another one raises BlockingIOError, which says who holds it. The lock ends with the
    process. Where the system has no such locks (Windows) there is none.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    new = _not_there(folder)
    place = folder / ".lock"
    with _open_lock(place) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not place.exists() or not os.path.samestat(
                os.fstat(file.fileno()), place.stat()
            ):
                raise BlockingIOError("its holder has just taken the file away")
        except OSError as error:
            file.seek(0)
            who = file.read().strip() or "another process"
            raise BlockingIOError(
                f"{what} is at work in {folder}: {who}; wait for its end"
            ) from error
        file.truncate(0)
        since = time.strftime("%H:%M:%S")
        file.write(f"process {os.getpid()} on {platform.node()} since {since}")
        file.flush()
        try:
            yield
        except BaseException:
            if [one.name for one in folder.iterdir()] == [place.name]:
                place.unlink()
            _take_away(new)
            raise


def _open_lock(place: Path) -> TextIO:
    """Open the file of a lock, in a folder that is made for it."""
    while True:
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # taken away by who ended early
            return place.open("a+", encoding="utf-8")


def _not_there(folder: Path) -> list[Path]:
    """Return the folders that are to be made for this one, itself first."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def _take_away(folders: list[Path]) -> None:
    """Take away those of some folders that are empty."""
    for one in folders:
        with contextlib.suppress(OSError):
            one.rmdir()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let the signal of a cancelled job (SIGTERM) end this process like an exception,
    so that nothing half made stays.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def stages(folder: Path) -> Iterator[Path]:
    """Give this process a folder of its own below another, and take it away at the end,
    also where SIGTERM ends it; what a process left that was killed goes when the next
    one begins.
    """
    with terminable():
        folder.mkdir(parents=True, exist_ok=True)
        here = f".{platform.node()}-"
        for old in folder.glob(f"{here}*.part"):
            if not is_alive(int(old.name.removeprefix(here).partition("-")[0])):
                shutil.rmtree(old, ignore_errors=True)
        made = tempfile.mkdtemp(".part", f"{here}{os.getpid()}-", folder)
        stage = Path(made).absolute()
        try:
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Say whether there is a process of this number here."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


@contextlib.contextmanager
def claimed(wanted: Path, name: str) -> Iterator[Path]:
    """Make a new folder ``<wanted>/<name>``, or in ``<wanted>-2`` and so on, which no
    other run gets; where the run fails or is stopped, it goes with all that was made
    for it.
    """
    with terminable():
        number, new, folder = 1, list[Path](), wanted / name
        try:
            while True:
                new = _not_there(folder)
                try:
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    folder.mkdir()
                    break
                except FileNotFoundError:  # its parent was another's, who ended early
                    continue
                except (FileExistsError, NotADirectoryError) as error:
                    new = []
                    if not folder.is_dir():
                        root = folder.parents[name.count("/")]
                        why = f"{root} cannot be a folder: a file is there"
                        raise ValueError(why) from error
                number += 1
                folder = wanted.with_name(f"{wanted.name}-{number}") / name
            yield folder
        except BaseException:
            if new:
                shutil.rmtree(folder, ignore_errors=True)
            _take_away(new)
            raise


def publish(
    stage: Path, files: Mapping[str, str], made: Mapping[str, Any], folder: Path
) -> None:
    """Make a folder hold the files that a run has written into its stage, and how they
    came to be; equal files are left alone.

    `files` has their names, or paths below the stage, with the SHA-256 that the run
    wrote: where the bytes are others, nothing is published.
    """
    content = {Path(path).name: (stage / path).read_bytes() for path in files}
    for path, digest in files.items():
        if hashlib.sha256(content[Path(path).name]).hexdigest() != digest:
            raise ValueError(f"{stage / path} is not what the run has written")
    known = {**made, **provenance.origin(), "sha256": {}}
    known["sha256"] = {Path(path).name: digest for path, digest in files.items()}
    for file, data in {**content, PROVENANCE: json_bytes(known)}.items():
        write_atomically(folder / file, data)
    for old in folder.glob("*"):
        if old.name not in content.keys() | {PROVENANCE} and old.is_file():
            old.unlink()


def kept(folder: Path) -> dict[str, Any]:
    """Return how the results in a folder came to be; nothing where they are missing or
    damaged, or where other files are among them.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
        made = read_json(folder / PROVENANCE)
        found = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.iterdir()
            if path.is_file() and path.name != PROVENANCE
        }
        if found == made["sha256"] and isinstance(made["made from"], dict):
            return made
    return {}
