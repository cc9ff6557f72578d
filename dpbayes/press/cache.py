"""Finished runs, kept between builds: one folder a run, replaced whole or not at all.

An entry lists the digests of its files. They are verified before the entry is used, so that what
was edited, cut short or only half written is run again and never shown.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbayes.press.keys import PARTS, Key, sha256
from dpbayes.press.record import synced, write_atomically

ENTRY = "entry.json"


@dataclass(frozen=True)
class Kept:
    """What an entry says of itself: what it was made from, how long that took, and its files."""

    key: Key
    seconds: float
    digests: dict[str, str]


@dataclass(frozen=True)
class Cache:
    """The folder of finished runs."""

    folder: Path

    def entry(self, name: str) -> Path:
        """Return the folder of a finished run."""
        return self.folder / name

    def stage(self, name: str) -> Path:
        """Return the folder where this process makes the run."""
        return self.folder / f"{name}.{socket.gethostname()}.{os.getpid()}.part"

    def kept(self, name: str) -> Kept | None:
        """Return what the entry says of itself, or None where there is none that can be read."""
        try:
            content = json.loads((self.entry(name) / ENTRY).read_text(encoding="utf-8"))
            kept = Kept(content["key"], float(content["seconds"]), dict(content["digests"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kept if isinstance(kept.key, dict) and kept.key.keys() >= PARTS else None

    def damage(self, name: str) -> str | None:
        """Say which file of an entry is not the one that was kept; None when all are."""
        kept = self.kept(name)
        if kept is None:
            return ENTRY if self.entry(name).is_dir() else None
        wrong = [file for file, digest in kept.digests.items()
                 if sha256(self.entry(name) / file) != digest]  # fmt: skip
        extra = set(files_of(self.entry(name))) - {*kept.digests, ENTRY}
        return next(iter([*wrong, *sorted(extra)]), None)

    def keep(self, name: str, key: Key, seconds: float, stage: Path | None = None) -> None:
        """Make a stage (else this process's own) the finished run, on the disk before its name."""
        stage, entry = stage or self.stage(name), self.entry(name)
        files = files_of(stage)
        for path in files.values():
            synced(path)
        digests = {file: sha256(path) for file, path in files.items()}
        content: dict[str, Any] = {"key": key, "seconds": round(seconds, 2), "digests": digests}
        write_atomically(stage / ENTRY, json.dumps(content, sort_keys=True).encode())
        shutil.rmtree(entry, ignore_errors=True)
        stage.rename(entry)
        synced(entry.parent)

    def clear(self) -> None:
        """Remove the stages of processes of this machine that are no more."""
        for stage in self.folder.rglob("*.part"):
            *_, host, process, _ = ["", "", *stage.name.rsplit(".", 3)]
            if host == socket.gethostname() and not _alive(process):
                shutil.rmtree(stage, ignore_errors=True)


def files_of(folder: Path) -> dict[str, Path]:
    """Return every file below a folder by its relative path."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def _alive(process: str) -> bool:
    """Say whether a process of that number runs."""
    try:
        os.kill(int(process), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
