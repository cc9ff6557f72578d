"""Whose commit provenance names, and files that a full disk leaves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dpbayes import record
from dpbayes.notebooks import provenance


@pytest.mark.parametrize(
    "project", [None, '[project]\nname = "theirs"\n', "[tool.ruff]\n", "not TOML ["]
)
def test_a_commit_of_somebody_elses_repository_is_never_named(
    tmp_path, monkeypatch, project
):
    """As where `pip install --target .` has put the package beside their files."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "theirs"], check=True)
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "dpbayes")
    assert provenance.commit.__wrapped__() is None


def test_a_checkout_names_its_commit(tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "dpbayes"\n')
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "ours"], check=True)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "dpbayes")
    assert len(provenance.commit.__wrapped__() or "") == 40


def test_a_full_disk_leaves_no_part_of_a_file_and_names_the_file(tmp_path, monkeypatch):
    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device.*release\.csv"):
        record.write_atomically(tmp_path / "release.csv", b"a")
    assert list(tmp_path.iterdir()) == []
