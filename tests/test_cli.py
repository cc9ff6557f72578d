"""The command line as a whole: every command has help, and an unknown one is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dpbayes.cli import COMMANDS, main


def test_no_command_and_an_unknown_command_are_refused() -> None:
    for words in ([], ["nobody"]):
        with pytest.raises(SystemExit) as refusal:
            main(words)
        assert refusal.value.code == 2


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        assert f"usage: dpbayes {name}" in capsys.readouterr().out


def test_module_and_script_are_the_same_program() -> None:
    command = [sys.executable, "-m", "dpbayes", "--help"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "usage: dpbayes" in shown
    for name in COMMANDS:
        assert name in shown


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_no_letter_of_the_output_stops_a_command(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpbayes", "list"],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"?" in done.stdout
