"""No markdown cell and no caption says how something came out or repeats a parameter's value."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbayes.press.overrides import Yaml12
from dpbayes.press.parameters import load, source_of
from tests.notebooks.test_sources import NOTEBOOKS, cells
from tests.notebooks.words import prose, repeated_values, suspicious

LISTED: dict[str, list[str]] = yaml.load(
    Path(__file__).with_name("definitions.yml").read_text(encoding="utf-8"), Yaml12
)
WAITING: list[str] = LISTED.pop("waiting")
COINCIDENCES = {  # the number stands for something else where it is written
    "accuracy/growth-three": ["0.3", "100"],  # the shares and the axis of the printed panel
    "queries/running-time": ["10"],  # the weights are drawn up to 10
}


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in WAITING])
def test_prose_and_captions_define_and_state_no_outcome(name: str) -> None:
    unread = [one for one in suspicious(NOTEBOOKS[name]) if one not in LISTED.get(name, [])]
    assert not unread, (
        f"{name}: a digit or a comparison; outcomes are findings, what defines or explains goes "
        "to definitions.yml (python -m tests.notebooks.words prints it)"
    )


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_sentence_is_there(name: str) -> None:
    there = suspicious(NOTEBOOKS[name])
    assert [one for one in LISTED[name] if one not in there] == []


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in WAITING])
def test_no_default_value_is_written_in_the_prose(name: str) -> None:
    repeated = set(repeated_values(NOTEBOOKS[name])) - set(COINCIDENCES.get(name, ()))
    assert repeated == set()


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in WAITING])
def test_what_came_out_is_a_finding(name: str) -> None:
    sources = [source_of(cell) for cell in cells(name)]
    assert any("record.finding(" in source for source in sources)
    assert not any("{result}" in source_of(cell) for cell in cells(name, "markdown"))


def test_the_waiting_list_shrinks() -> None:
    assert set(WAITING) <= set(NOTEBOOKS)
    assert set(WAITING) & set(LISTED) == set()


BOOKKEEPING = ("number", "numbers", "table")
SHARE = 0.10


def bookkeeping(notebook: dict[str, Any]) -> tuple[int, int]:
    """Return the lines that only record, and all lines, of a notebook."""
    recorded = total = 0
    for cell in notebook["cells"]:
        source = source_of(cell)
        total += len(source.splitlines())
        if cell["cell_type"] == "code":
            recorded += sum(
                (node.end_lineno or node.lineno) - node.lineno + 1
                for node in ast.parse(source).body
                if is_bookkeeping(node)
            )
    return recorded, total


def is_bookkeeping(node: ast.stmt) -> bool:
    """Say whether a statement only opens the record or puts something into it."""
    text = ast.unparse(node)
    opens = text in ("from dpbayes.press import open_record", "record = open_record()")
    called = any(text.startswith(f"record.{kind}(") for kind in BOOKKEEPING)
    return opens or called


def test_bookkeeping_is_a_tenth_of_the_lines() -> None:
    counted = [bookkeeping(load(path)) for name, path in NOTEBOOKS.items() if name not in WAITING]
    recorded, total = (sum(column) for column in zip(*counted, strict=True))
    assert recorded <= SHARE * total


@pytest.mark.parametrize("fence", ["```", ":::"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_stands_in_and_between_directives_is_read(fence: str, number: int) -> None:
    blocks = [
        f"{fence}{{note}} Title\n:name: here-{i}\nInside {i}.\n{fence}" for i in range(number)
    ]
    read = prose("\n\nBetween 7 and `code 8`.\n\n".join([*blocks, "After 9."]))
    assert [int(found) for found in re.findall(r"\d", read)] == [
        digit for i in range(number) for digit in (i, 7)
    ] + [9]
    unclosed = prose(f"{fence}{{note}}\nOne 1.\n\nTwo 2 and `code 3`.")
    assert re.findall(r"\d", unclosed) == ["1", "2"]
