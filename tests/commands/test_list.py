"""`dpbayes list`: names, questions, parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.cli import main
from tests.tiny_notebooks import write_tiny


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with one tiny notebook, and make it the working directory."""
    (tmp_path / "_toc.yml").touch()
    write_tiny(tmp_path / "notebooks", "part/tiny")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_names_notebooks_questions_and_parameters(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "part/tiny  What is twice n?" in shown
    assert "    n: int = 3  # records, at least 1" in shown


def test_list_refuses_a_part_that_does_not_exist(checkout: Path) -> None:
    assert main(["list", "nobody"]) == 2
