"""The site carries its source: archive and wheel, the same bytes for the same files."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from dpbook import source

ROOT = Path(__file__).parents[2]


def members(archive: Path) -> set[str]:
    with tarfile.open(archive) as packed:
        return {
            one.name.partition("/")[2] for one in packed.getmembers() if not one.isdir()
        }


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A tree without git: what somebody has who unpacked the archive of the site."""
    archive = tmp_path / "first.tar.gz"
    archive.write_bytes(source.archived(ROOT, "dpbayes-x"))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "dpbayes-x"


def test_the_archive_holds_what_a_build_needs_and_nothing_generated(unpacked, tmp_path):
    there = members(tmp_path / "first.tar.gz")
    assert {"Makefile", "_config.yml", "_toc.yml", "requirements.lock"} <= there
    assert {"environment.yml", "book/_toc.yml", "dpbayes/carried/notebooks"} <= there
    assert not [one for one in there if one.startswith(("book/results", "book/_build"))]
    assert (unpacked / "dpbayes/carried/notebooks/parameters.yml").is_file()


def test_an_unpacked_archive_makes_the_same_archive_and_wheel(unpacked, tmp_path):
    (unpacked / "book/results/x").mkdir(parents=True)
    (unpacked / "book/results/x/means.csv").write_text("generated")
    (unpacked / ".venv").mkdir()
    (unpacked / ".venv/pyvenv.cfg").write_text("generated")
    made = source.made(unpacked, tmp_path / "kept")
    archive, wheel = tmp_path / "kept" / made.archive, tmp_path / "kept" / made.wheel
    assert members(archive) == members(tmp_path / "first.tar.gz")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == made.archive_sha256
    names = zipfile.ZipFile(wheel).namelist()
    assert any(one.startswith("dpbayes/carried/notebooks/") for one in names)
    before = archive.stat().st_mtime_ns
    assert source.made(unpacked, tmp_path / "kept") == made  # nothing is made again
    assert archive.stat().st_mtime_ns == before
    (unpacked / "README.md").write_text("changed")
    assert source.made(unpacked, tmp_path / "kept").archive_sha256 != (
        made.archive_sha256
    )


def test_a_commit_is_that_of_this_project_or_none(unpacked, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (unpacked / source.STAMP).write_text("0123abcd 2026-11-29\n")
    assert source.commit(unpacked) == ("0123abcd", "2026-11-29")
    (unpacked / source.STAMP).write_text("$Format:%h %cs$\n")
    assert source.commit(unpacked) == ("", "")


def test_what_is_not_committed_is_in_the_archive_and_is_said(tmp_path):
    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(tmp_path / "r"), *who, *words], check=True)

    (tmp_path / "r").mkdir()
    git("init", "-q")
    (tmp_path / "r/old").write_text("1")
    (tmp_path / "r/.gitignore").write_text("ignored\n")
    git("add", "--all")
    git("commit", "-q", "-m", "first")
    clean = source.archived(tmp_path / "r", "x")
    assert source.archived(tmp_path / "r", "x") == clean
    (tmp_path / "r/new").write_text("2")
    (tmp_path / "r/ignored").write_text("3")
    (tmp_path / "a.tar.gz").write_bytes(source.archived(tmp_path / "r", "x"))
    assert members(tmp_path / "a.tar.gz") == {"old", "new", ".gitignore"}
    assert (
        source.git(tmp_path / "r", "diff", "--cached") == ""
    )  # the index is as it was
