"""What a result was made from, as hashes; and in words, what has changed since.

A key holds the notebook, the values of its parameters, the modules of dpbayes that the run
imported, the data files it read, the versions of the packages it imported, and the packages it
looked for and did not find. Nothing else can change a result, so a change anywhere else reruns
nothing.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbayes.press.traces import PACKAGE, is_found, versions

Key = dict[str, Any]
PARTS = {"notebook", "parameters", "files", "versions", "absent"}
# They take part in every run, whether or not the notebook's own process imports them.
RUNNERS = ("papermill", "nbclient", "nbformat", "ipykernel", "ipython")
RUNNING = tuple(
    f"press/{one}.py" for one in ("execution", "forked", "jobs", "parked", "shell", "traces")
)
CHANGED_MEANWHILE = "changed during the run"


@dataclass
class Surroundings:
    """The files and packages as they are now; each is looked at once."""

    files: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    found: dict[str, bool] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """Return the hash of a file: inside the package by its relative path, else absolute."""
        if name not in self.files:
            self.files[name] = sha256(PACKAGE / name)
        return self.files[name]

    def version(self, name: str) -> str:
        """Return the version of a distribution, or of Python."""
        if name not in self.packages:
            self.packages[name] = version_of(name)
        return self.packages[name]

    def is_found(self, name: str) -> bool:
        """Say whether a package can be imported."""
        if name not in self.found:
            self.found[name] = is_found(name)
        return self.found[name]


def surroundings() -> Surroundings:
    """Return the surroundings, every file of the package hashed before anything runs."""
    now = Surroundings()
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            now.file(path.relative_to(PACKAGE).as_posix())
    return now


def sha256(path: Path) -> str:
    """Return the hash of a file, or that there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"


def version_of(name: str) -> str:
    """Return an installed version, or that there is none."""
    if name == "python":
        return platform.python_version()
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def key(
    notebook: str,
    values: Mapping[str, Any],
    used: Mapping[str, list[str]],
    now: Surroundings,
    started: float,
) -> Key:
    """Return what a finished run was made from.

    ``notebook`` is the hash of the notebook that was run and ``used`` the run's traces. A file that
    was written after the run ``started`` makes the result count as old at once.
    """
    files = {name: now.file(name) for name in {*used["modules"], *RUNNING}}
    for name in used["read"]:
        path = Path(name)
        inside = path.is_relative_to(PACKAGE)
        short = path.relative_to(PACKAGE).as_posix() if inside else name
        late = not inside and path.is_file() and path.stat().st_mtime >= started
        files[short] = CHANGED_MEANWHILE if late else now.file(short)
    packages = ["python", *RUNNERS, *versions(used["packages"])]
    return {
        "notebook": notebook,
        "parameters": dict(values),
        "files": files,
        "versions": {name: now.version(name) for name in packages if name != PACKAGE.name},
        "absent": list(used["absent"]),
    }


def reason(
    old: Key | None, notebook: str, values: Mapping[str, Any], now: Surroundings
) -> str | None:
    """Say in words why a result must be made again; None when nothing it was made from changed."""
    if old is None:
        return "it has not been run yet"
    changes = ["the notebook changed"] if old["notebook"] != notebook else []
    changes += _differences("parameter", old["parameters"], values)
    files = sorted(name for name, digest in old["files"].items() if now.file(name) != digest)
    inside = [name for name in files if not Path(name).is_absolute()]
    for what, names in (("dpbayes", inside), ("data", [n for n in files if n not in inside])):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            changes.append(f"{what} changed ({', '.join(names[:3])}{more})")
    packages = {name: now.version(name) for name in old["versions"]}
    changes += _differences("version of", old["versions"], packages)
    changes += [f"{name} is installed now" for name in old["absent"] if now.is_found(name)]
    return "; ".join(changes) or None


def _differences(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        f"{what} {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
