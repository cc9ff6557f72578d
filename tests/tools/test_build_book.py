"""The book is built again when anything it reads or made has changed, and only then."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import build_book

SITE = "book/_build/html/index.html"
ENTRY = "book/_build/.jupyter_cache/notebooks/part/tiny/entry.json"
SOURCES = (
    "dpbayes/laws/law.py", "dpbayes/data/counts.csv", "book/index.md", "book/_ext/dpbook/build.py",
    "book/_static/book.css", "notebooks/part/tiny.ipynb", "parameters.yml", "_config.yml",
    "tests/test_claims.py", "requirements.lock",
)  # fmt: skip
BUILDER = """
import pathlib, sys
pathlib.Path("book/_build/html").mkdir(parents=True, exist_ok=True)
pathlib.Path("book/_build/html/index.html").write_text("the page")
with open("../builds", "a") as file:
    file.write("x")
sys.exit(pathlib.Path("fail").exists())
"""
COMMAND = [sys.executable, "-c", BUILDER]


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return what counts the builds so far; the working folder is a checkout, data beside it."""
    checkout = tmp_path / "checkout"
    for name in (*SOURCES, ENTRY, "book/results/part/tiny/numbers.json", "../elsewhere.csv"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("as it was")
    data = tmp_path / "elsewhere.csv"
    kept = {"laws/law.py": "inside", str(data): build_book.digest(data)}
    (checkout / ENTRY).write_text(json.dumps({"key": {"files": kept}}))
    monkeypatch.chdir(checkout)
    return lambda: len((tmp_path / "builds").read_text())


def test_an_unchanged_book_is_not_built(builds: Callable[[], int]) -> None:
    for _ in range(3):
        assert build_book.main(COMMAND) == 0
        Path("dpbayes/__pycache__").mkdir(exist_ok=True)
        Path("dpbayes/__pycache__/law.pyc").touch()  # what Python compiles is no source
    assert builds() == 1


@pytest.mark.parametrize(
    "name", [*SOURCES, SITE, ENTRY, "book/results/part/tiny/numbers.json", "../elsewhere.csv"]
)
@pytest.mark.parametrize("gone", [False, True], ids=["edited", "removed"])
def test_a_changed_file_is_named_and_builds_again(
    name: str, gone: bool, builds: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    build_book.main(COMMAND)
    text = Path(name).read_bytes()
    Path(name).unlink() if gone else Path(name).write_bytes(text + b" ")
    build_book.main(COMMAND)
    assert builds() == 2
    assert f"{Path(name).name} changed" in capsys.readouterr().out


def test_a_new_file_another_command_or_package_builds_again(
    builds: Callable[[], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build_book.main(COMMAND)
    Path("book/new.md").write_text("a page")
    build_book.main(COMMAND)
    assert builds() == 2
    build_book.main([*COMMAND, "-v"])
    assert builds() == 3
    (tmp_path / "site" / "other-1.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr("sysconfig.get_path", lambda kind: str(tmp_path / "site"))
    build_book.main([*COMMAND, "-v"])
    assert builds() == 4


def test_data_that_changed_during_a_run_are_read_again_each_time(
    builds: Callable[[], int], tmp_path: Path
) -> None:
    kept = {str(tmp_path / "elsewhere.csv"): "changed during the run"}
    Path(ENTRY).write_text(json.dumps({"key": {"files": kept}}))
    build_book.main(COMMAND)
    build_book.main(COMMAND)
    assert builds() == 2


def test_what_changes_during_a_build_is_built_again(builds: Callable[[], int]) -> None:
    editing = BUILDER.replace("sys.exit", "open('book/index.md', 'a').write('more'); sys.exit")
    for _ in range(2):
        build_book.main([sys.executable, "-c", editing])
    assert builds() == 2


def test_a_failed_build_is_not_taken_for_a_book(builds: Callable[[], int]) -> None:
    assert build_book.main(COMMAND) == 0
    Path("fail").touch()
    assert [build_book.main(COMMAND) for _ in range(2)] == [1, 1]
    Path("fail").unlink()
    assert build_book.main(COMMAND) == 0
    assert builds() == 4


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", '{"read": 3, "made": {}}'])
def test_a_damaged_note_builds_again(note: str, builds: Callable[[], int]) -> None:
    build_book.main(COMMAND)
    build_book.NOTE.write_text(note)
    build_book.main(COMMAND)
    assert builds() == 2
