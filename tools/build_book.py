"""Run the command that builds the book, unless nothing it reads or made has changed since.

    python tools/build_book.py jupyter-book build book -W -n --keep-going

Known by their digests are all files of the checkout, the data that notebooks read elsewhere, and
what the last build wrote; by name and version, Python and the packages beside it. The command
decides by itself what must be made again; it is only spared where the answer is: nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

MADE = ("book/_build/html", "book/_build/.jupyter_cache", "book/results")
NOTE = Path("book/_build/made-from.json")
PASSED_OVER = {"__pycache__", "./book/_build", "./book/results", "./results", "./build", "./dist"}


def digest(path: Path) -> str:
    """Return the digest of a file, or that there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "missing"


def files_below(folder: str) -> Iterator[Path]:
    """Yield the files below a folder, whatever their names."""
    for here, _, names in os.walk(folder):
        yield from (Path(here, name) for name in names)


def sources() -> Iterator[Path]:
    """Yield the files of the checkout without what is hidden, compiled or made by a build."""
    for here, folders, names in os.walk("."):
        folders[:] = [
            one
            for one in folders
            if not (one.startswith(".") or one.endswith(".egg-info"))
            and PASSED_OVER.isdisjoint((one, f"{here}/{one}"))
        ]
        yield from (Path(here, name) for name in names if not name.startswith("."))


def read(command: list[str]) -> dict[str, str]:
    """Return everything that a build reads inside the checkout, and what it runs on."""
    installed = {
        path.name
        for kind in ("purelib", "platlib")
        for path in Path(sysconfig.get_path(kind)).iterdir()
        if path.suffix in (".dist-info", ".egg-info", ".pth")
    }
    return {
        "command": " ".join(command),
        "Python": sys.version,
        "packages": " ".join(sorted(installed)),
        **{str(path): digest(path) for path in sources()},
    }


def made() -> dict[str, str]:
    """Return what a build wrote, and the data outside the checkout with which it was made."""
    found = {str(path): digest(path) for folder in MADE for path in files_below(folder)}
    for name in [one for one in found if one.endswith("/entry.json")]:
        try:
            kept = dict(json.loads(Path(name).read_text(encoding="utf-8"))["key"]["files"])
        except (ValueError, KeyError, TypeError):
            kept = {name: "unreadable"}  # which no file is: the next build looks at it again
        found |= {
            file: known for file, known in kept.items() if os.path.isabs(file) or file == name
        }
    return found


def change(command: list[str]) -> str | None:
    """Name something that differs from what the last whole build noted; None where nothing does."""
    try:
        noted = json.loads(NOTE.read_text(encoding="utf-8"))
        then, results = dict(noted["read"]), dict(noted["made"])
    except (OSError, ValueError, KeyError, TypeError):
        return "no whole build is noted"
    now = read(command)
    differing = sorted(name for name in {**then, **now} if then.get(name) != now.get(name))
    differing += (name for name, known in results.items() if digest(Path(name)) != known)
    return f"{differing[0]} changed" if differing else None


@contextmanager
def compiling() -> Iterator[None]:
    """Have a second process import what notebooks import, while the command imports Sphinx.

    What is imported for the first time is compiled, which takes longer than all other starting;
    the processes that run the notebooks then find it compiled.
    """
    imports = "from dpbayes.press.forked import warm_up; warm_up(); import dpbayes.press.execution"
    with subprocess.Popen([sys.executable, "-c", imports], stderr=subprocess.DEVNULL) as other:
        try:
            yield
        finally:
            other.kill()


def main(command: list[str]) -> int:
    """Build the book in the working folder where something changed; return the command's code."""
    why = change(command)
    if why is None:
        print("book/_build/html is up to date: nothing it was made from has changed")
        return 0
    print(f"building the book: {why}", flush=True)
    NOTE.unlink(missing_ok=True)
    before = read(command)  # what changes during the build is built again next time
    with nullcontext() if os.path.isdir(MADE[1]) else compiling():
        code = subprocess.run(command, check=False).returncode
    if code == 0:
        NOTE.parent.mkdir(parents=True, exist_ok=True)
        part = NOTE.with_suffix(".part")
        part.write_text(json.dumps({"read": before, "made": made()}), encoding="utf-8")
        part.replace(NOTE)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
