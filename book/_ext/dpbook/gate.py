"""Where nothing has changed since the last whole build, there is nothing to do: say so and end.

``make book`` asks before it begins. ``jupyter-book build book``, called directly, comes here when
Sphinx has read its configuration and nothing else: most of what it would do is still ahead. Only a
plain call ends so; with an option that could ask for something else it goes on.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path

STRICT = ("-W", "-n", "--keep-going")
NAMES = ("jupyter-book", "jb")
PLAIN = ["build", "book"]


def nothing_changed(root: Path, called: Sequence[str]) -> bool:
    """Say whether the call is the plain one, and the last whole build of the book still stands.

    A build that was as strict as this one must have passed.
    """
    plain = len(called) > 2 and Path(called[0]).name in NAMES and list(called[1:3]) == PLAIN
    asked = set(called[3:])
    tool = root / "tools" / "build_book.py"
    if not (plain and asked <= set(STRICT) and tool.is_file() and Path.cwd() == root):
        return False
    spec = importlib.util.spec_from_file_location("build_book", tool)
    if spec is None or spec.loader is None:
        return False
    gate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gate)
    try:
        command = json.loads(gate.NOTE.read_text(encoding="utf-8"))["read"]["command"].split(" ")
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return asked <= set(command) and gate.change(command) is None


def end_where_nothing_changed(root: Path) -> None:
    """End the process with success where the book is up to date."""
    if nothing_changed(root, sys.argv):
        print("book/_build/html is up to date: nothing it was made from has changed")
        raise SystemExit(0)
