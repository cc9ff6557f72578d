"""What a result depends on, as hashes; and in words, what has changed since it was made."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbook.plan import Planned

Fingerprint = dict[str, Any]

# What a notebook can import or be run by. Anything else that is installed changes no result.
STACK = (
    "numpy", "scipy", "matplotlib", "seaborn", "pandas", "contourpy", "pillow", "duckdb",
    "python-flint", "mpmath", "dask", "papermill", "nbclient", "nbformat", "ipykernel", "ipython",
)  # fmt: skip
# The command line gives orders and computes nothing.
NOT_HASHED = ("cli.py", "__main__.py", "commands/")


def fingerprint(notebook: Planned, package: Mapping[str, str], stack: Mapping[str, str]) -> Any:
    """Return everything one notebook's result depends on."""
    return {
        "notebook": sha256(notebook.path),
        "parameters": dict(notebook.values),
        "package": dict(package),
        "stack": dict(stack),
    }


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def package_files() -> dict[str, str]:
    """Return the hash of every file of the installed package, by its path inside the package."""
    spec = importlib.util.find_spec("dpbayes")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("dpbayes is not installed in this environment: pip install -e .")
    folder = Path(spec.submodule_search_locations[0])
    names = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {name: sha256(path) for name, path in names.items() if not name.startswith(NOT_HASHED)}


def stack_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages a result can depend on."""
    versions = {"python": platform.python_version()}
    for name in STACK:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def reason(old: Fingerprint | None, new: Fingerprint) -> str | None:
    """Say in words why a result made under ``old`` must be made again; None when it need not."""
    if old is None:
        return "it has not been run yet"
    changes = []
    if old["notebook"] != new["notebook"]:
        changes.append("the notebook changed")
    changes += _differences("parameter", old["parameters"], new["parameters"])
    files = sorted(
        name
        for name in {**old["package"], **new["package"]}
        if old["package"].get(name) != new["package"].get(name)
    )
    if files:
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        changes.append(f"dpbayes changed ({', '.join(files[:3])}{more})")
    changes += _differences("version of", old["stack"], new["stack"])
    return "; ".join(changes) or None


def _differences(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        f"{what} {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
