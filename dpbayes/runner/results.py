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
from typing import Any

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
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        yield


@contextlib.contextmanager
def stages(folder: Path) -> Iterator[Path]:
    """Give this process a folder of its own below another, and take it away at the end.

    The signal of a cancelled job (SIGTERM) ends the process by way of that, too. What a
    process left that was killed goes when the next one begins.
    """
    folder.mkdir(parents=True, exist_ok=True)
    here = f".{platform.node()}-"
    for old in folder.glob(f"{here}*.part"):
        if not is_alive(int(old.name.removeprefix(here).partition("-")[0])):
            shutil.rmtree(old, ignore_errors=True)
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    if main:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    stage = Path(tempfile.mkdtemp(".part", f"{here}{os.getpid()}-", folder)).absolute()
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if main:
            signal.signal(signal.SIGTERM, before)


def is_alive(process: int) -> bool:
    """Say whether there is a process of this number here."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def claimed(wanted: Path, name: str) -> Path:
    """Make and return a new folder ``<wanted>/<name>``, or in ``<wanted>-2`` and so on:
    no other run gets it.
    """
    for number in range(1, 10**6):
        root = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).mkdir()
        except (FileExistsError, NotADirectoryError) as error:
            if (root / name).is_dir():
                continue
            raise ValueError(f"{root} cannot be a folder: a file is there") from error
        return root / name
    raise ValueError(f"{wanted} has too many folders beside it")


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
