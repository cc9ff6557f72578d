"""Who computed a result: version and commit of the package, and what it stands on."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import platform
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import dpbayes

PACKAGE = Path(dpbayes.__file__).parent
LIBRARIES = (
    "numpy", "scipy", "matplotlib", "seaborn", "papermill", "duckdb", "pydantic",
    "python-flint", "dp-accounting", "ipython",
)  # fmt: skip


@functools.cache
def commit() -> str | None:
    """Return this package's own commit, with ``-dirty`` where files differ from it.

    A checkout has its repository beside the package; what lies inside somebody else's
    repository is not of that one. A copy made by ``git archive`` has the commit in a
    file. None where nothing is known: then the version says what it is.
    """
    root, stamp = PACKAGE.parent, PACKAGE / "data" / "commit.txt"
    if (root / ".git").exists() and _declares_this(root / "pyproject.toml"):
        # A hook or an alias of git tells its programs which repository is meant.
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        words = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        with contextlib.suppress(OSError):
            said = subprocess.run(
                [*words, "--exclude=*", "--abbrev=40"],
                capture_output=True, text=True, env=surroundings,
            )  # fmt: skip
            return said.stdout.strip() or None
    text = stamp.read_text(encoding="utf-8") if stamp.is_file() else "$"
    return None if "$" in text else text.split()[0]


def _declares_this(project: Path) -> bool:
    """Return whether a pyproject.toml is this package's: one that `pip install
    --target` has put into somebody's checkout lies beside another.
    """
    try:
        declared = tomllib.loads(project.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    table = declared.get("project")
    return isinstance(table, dict) and table.get("name") == "dpbayes"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def origin() -> dict[str, Any]:
    """Return version and commit of this package, as provenance states them."""
    return {"dpbayes": dpbayes.__version__, "commit": commit()}
