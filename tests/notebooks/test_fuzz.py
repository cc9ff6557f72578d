"""Senseless calls of every notebook are refused at once, in words; none ends in a traceback."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time

import pytest

from dpbayes.cli import main
from dpbayes.commands import run as run_command
from dpbayes.press.parameters import DECIMAL, chosen_from_text, declared, load, source_of
from tests.notebooks.test_sources import EVERY, NOTEBOOKS, cells

SENSELESS = (
    "", " ", "-1", "0", "-0.0", "1.5", "nan", "inf", "-inf", "1e999", "1e-400", "10" * 200,
    "9" * 6000, "1e308", "none", "true", "x", "badges", "[]", "[[]]", "[" * 3000, "(" * 300, "{}",
    "1,,2", ",", "[1,'a']", "1;2", "'", '"', "`", "$(true)", "__import__('os')", "1+1", "\x00",
    "\ud800", "é", "\n", "a\nb", "{x}", "-5,-5", "0,0", "1,1,1,1,1,1,1", "1e-320", "0x10", "1_0",
)  # fmt: skip
AT_MOST = 1.0  # seconds of processor time for one refusal


@EVERY
def test_a_senseless_value_is_refused_in_words(name: str) -> None:
    parameters = declared(load(NOTEBOOKS[name]))
    for key in parameters:
        for bad in SENSELESS:
            started = time.process_time()
            try:
                values = chosen_from_text(name, parameters, [f"{key}={bad}"])
            except (ValueError, TypeError) as refusal:
                first = str(refusal).splitlines()[0]
                assert first.startswith(f"{name}: ")
                assert key in first
                assert len(first) < 800
            else:
                assert json.loads(json.dumps(values)) == values
            assert time.process_time() - started < AT_MOST


@EVERY
def test_no_text_goes_into_a_notebook_unread(name: str) -> None:
    parameters = declared(load(NOTEBOOKS[name]))
    conditions = {key for one in parameters.together for key in one.names()}
    for key, parameter in parameters.items():
        if "str" in parameter.type:
            assert parameter.choices or DECIMAL in parameter.meaning or key in conditions


@EVERY
def test_a_notebook_that_pairs_lists_says_so(name: str) -> None:
    """Lists that a cell goes through side by side must be declared to fit."""
    parameters = declared(load(NOTEBOOKS[name]))
    lists = {key for key, one in parameters.items() if one.type.startswith("list[")}
    conditions = [set(one.names()) for one in parameters.together]
    for pair in pairs_of(name):
        if len(pair & lists) > 1:
            assert any(pair & lists <= names for names in conditions), pair


def pairs_of(name: str) -> list[set[str]]:
    """Return the plain names that a strict zip of a notebook goes through."""
    found = []
    for cell in cells(name):
        for node in ast.walk(ast.parse(source_of(cell))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
                found.append({one.id for one in node.args if isinstance(one, ast.Name)})
    return found


@pytest.mark.parametrize("name", list(NOTEBOOKS)[::25])
@pytest.mark.parametrize("word", ["nobody=1", "=", "", "=3", "nobody", "\x00=1"])
def test_a_senseless_word_ends_the_command_before_anything_runs(
    name: str, word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "rerun", pytest.fail)
    assert main(["run", name, "-p", word]) == 2
    assert capsys.readouterr().err.startswith("dpbayes")


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m dpbayes list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
