"""`dpbayes list`: names, questions, parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.cli import main


def test_list_names_notebooks_questions_and_parameters(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "part/tiny  What is twice n?" in shown
    assert "    n: int = 3  # records, at least 1" in shown


def test_list_refuses_a_part_that_does_not_exist(checkout: Path) -> None:
    assert main(["list", "nobody"]) == 2
