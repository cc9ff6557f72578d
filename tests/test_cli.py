"""The command line as a whole: every command has help, and an unknown one is
refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpbayes as dp
from dpbayes.__main__ import COMMANDS, main
from dpbayes.commands import cite
from dpbayes.mechanisms import REGISTRY


@pytest.mark.parametrize(
    ("words", "status", "shown"),
    [([], 2, ""), (["nobody"], 2, ""), (["--version"], 0, f"dpbayes {dp.__version__}"),
     *(([name, "--help"], 0, f"usage: dpbayes {name}") for name in COMMANDS)],
)  # fmt: skip
def test_help_and_version_are_shown_and_unknown_commands_refused(
    words: list[str], status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == status
    assert shown in capsys.readouterr().out


def test_the_help_of_an_audit_lists_every_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    shown = capsys.readouterr().out.partition("options of the mechanisms")[2]
    for spec in REGISTRY.values():
        for option, declared in spec.options.items():
            assert f"  {spec.name}\n" in shown
            assert f"{option}={declared.examples[0]}: {declared.words}\n" in shown


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_no_letter_of_the_output_stops_a_command(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "dpbayes", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"?" in done.stdout


def test_methods_are_cited(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(REGISTRY) <= set(cite.methods())
    entries = cite.entries()
    assert {key for keys in cite.methods().values() for key in keys} == {*entries} - {
        "dpbayes"
    }
    book = (Path(__file__).parents[1] / "book" / "references.bib").read_text(
        encoding="utf-8"
    )
    assert [key for key, entry in entries.items() if entry not in book] == ["dpbayes"]
    assert main(["cite", "lattice", "geometric", "lattice"]) == 0
    shown = capsys.readouterr().out
    keys = re.findall(r"^@\w+\{([\w-]+),", shown, re.MULTILINE)
    assert keys == ["dpbayes", "ghosh-universally", "canonne-discrete"]
    assert dp.__version__ in shown
    with pytest.raises(SystemExit, match="2"):
        main(["cite", "lattuce"])


def test_audit_prints_the_actual_loss(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "expMech-smooth", "--epsilon", "1", "--n", "100"]) == 0
    shown = capsys.readouterr().out
    found = float(shown.split("actual epsilon ")[1].split()[0])
    smooth = dp.mechanism("expMech-smooth", epsilon=1.0)
    assert found == pytest.approx(dp.audit(smooth, 100, [1, 1]).epsilon, rel=1e-8)
    assert "replacing one record" in shown
    assert (
        main(
            [
                "audit",
                "ilapMech",
                "--epsilon",
                "1",
                "--n",
                "5",
                "-o",
                "rounding=nearest",
            ]
        )
        == 0
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "1", "--n", "0"], "n must be an integer of at least 1"),
        (["--epsilon", "-1", "--n", "5"], "epsilon must be positive"),
        (["--epsilon", "1", "--n", "5", "--prior", "1,x"], "--prior must be list"),
        (
            ["--epsilon", "1", "--n", "5", "-o", "gamma"],
            "must be given once, as name=value",
        ),
        (["--epsilon", "1", "--n", "5", "-o", "delta=1"], "has no option 'delta'"),
    ],
)
def test_audit_refuses_bad_input(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "expMech-smooth", *words]) == 2
    assert message in capsys.readouterr().err
