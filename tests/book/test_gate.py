"""Called directly, the build of an unchanged book ends as soon as the extension is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpbook.gate import nothing_changed

ROOT = Path(__file__).parents[2]
PLAIN = ["/somewhere/bin/jupyter-book", "build", "book"]
SCRIPT = """#!{python}
import sys
from sphinx.cmd.build import main
raise SystemExit(main(["-q", "-b", "html", "book", "book/_build/html"]))
"""


def run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "book" / "_ext"), "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def built(project: Path) -> Path:
    """Return a small book that was built with the tool, by a command of the right name."""
    (project / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "build_book.py", project / "tools")
    command = project / "jupyter-book"
    command.write_text(SCRIPT.format(python=sys.executable))
    command.chmod(0o755)
    tool = (sys.executable, "tools/build_book.py")
    done = run(project, *tool, "./jupyter-book", "build", "book", "-n")
    assert done.returncode == 0, done.stderr
    return project


def test_nothing_is_done_where_nothing_has_changed(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = built / "book/_build/html/index.html"
    before = site.stat().st_mtime_ns
    again = run(built, "./jupyter-book", "build", "book")
    assert (again.returncode, again.stderr) == (0, "")
    assert "is up to date: nothing it was made from has changed" in again.stdout
    assert site.stat().st_mtime_ns == before

    monkeypatch.chdir(built)
    assert nothing_changed(built, [*PLAIN, "-n"])
    assert not nothing_changed(built, [*PLAIN, "-W"]), "no strict build has passed"
    assert not nothing_changed(built, [*PLAIN, "--all"])
    assert not nothing_changed(built, [*PLAIN, "--builder", "latex"])
    assert not nothing_changed(built, ["sphinx-build", "build", "book"])
    assert not nothing_changed(built, PLAIN[:2])
    monkeypatch.chdir(built / "book")
    assert not nothing_changed(built, PLAIN)
    monkeypatch.chdir(built)

    page = built / "book/index.md"
    kept = page.read_text()
    page.write_text(kept + "\nOne sentence more.\n")
    assert not nothing_changed(built, PLAIN)
    page.write_text(kept)
    assert nothing_changed(built, PLAIN)
    site.unlink()
    assert not nothing_changed(built, PLAIN)


def test_without_a_whole_build_everything_is_looked_at(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert not nothing_changed(project, PLAIN)
    (project / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "build_book.py", project / "tools")
    assert not nothing_changed(project, PLAIN)
