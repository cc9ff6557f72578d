"""Finished runs, kept between builds: one folder a notebook, replaced whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from dpbook.fingerprint import Fingerprint

FINGERPRINT = "fingerprint.json"
SECONDS = "seconds.json"


@dataclass(frozen=True)
class Cache:
    """The folder of finished runs."""

    folder: Path

    def entry(self, name: str) -> Path:
        """Return the folder of a notebook's finished run."""
        return self.folder / name

    def stage(self, name: str) -> Path:
        """Return the folder where this process runs the notebook."""
        return self.folder / f"{name}.{os.getpid()}.part"

    def known(self, name: str) -> Fingerprint | None:
        """Return what the finished run was made from, or None if there is none that is whole."""
        try:
            content = json.loads((self.entry(name) / FINGERPRINT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        whole = isinstance(content, dict) and {"notebook", "parameters", "package", "stack"} <= (
            content.keys()
        )
        return content if whole and (self.entry(name) / "notebook.ipynb").is_file() else None

    def seconds(self, name: str) -> float:
        """Return how long the notebook took last time; infinite if that is not known."""
        try:
            return float(json.loads((self.entry(name) / SECONDS).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return float("inf")

    def keep(self, name: str, made_from: Fingerprint, seconds: float) -> None:
        """Make this process's stage the notebook's finished run."""
        stage, entry = self.stage(name), self.entry(name)
        (stage / SECONDS).write_text(json.dumps(round(seconds, 2)), encoding="utf-8")
        (stage / FINGERPRINT).write_text(json.dumps(made_from, sort_keys=True), encoding="utf-8")
        shutil.rmtree(entry, ignore_errors=True)
        stage.rename(entry)

    def sweep(self) -> None:
        """Remove the stages of builds that were interrupted."""
        for stage in self.folder.rglob("*.part"):
            if not _alive(stage.suffixes[-2]):
                shutil.rmtree(stage, ignore_errors=True)


def _alive(suffix: str) -> bool:
    """Say whether the process that a stage is named after still runs."""
    try:
        os.kill(int(suffix.lstrip(".")), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
