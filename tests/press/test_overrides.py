"""``parameters.yml`` by YAML 1.2, and every mistake in one line with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbayes.press.overrides import read_overrides


def read(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "parameters.yml"
    path.write_text(text)
    return read_overrides(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"), ("010", 10), ("0o10", 8), ("0x1F", 31), ("yes", "yes"), ("on", "on"),
        ("1_000", "1_000"), ("2001-01-01", "2001-01-01"), ("true", True), ("FALSE", False),
        ("1e3", 1000.0), ("1.", 1.0), (".5", 0.5), ("-3", -3), ("~", None), ("", None),
        ("'12'", "12"), ("[1, 2]", [1, 2]), ("0b11", "0b11"), ("+7", 7),
    ],
)  # fmt: skip
def test_scalars_are_read_by_the_core_schema(tmp_path: Path, text: str, value: Any) -> None:
    read_value = read(tmp_path, f"a/b:\n  x: {text}\n")["a/b"]["x"]
    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a/b: {x: 1}\na/b: {x: 2}", "line 2, column 1: 'a/b' stands twice"),
        ("a/b:\n  x: 1\n  x: 2", "line 3, column 3: 'x' stands twice"),
        ("a/b: {x: [1, 2}", "line 1, column 15"),
        ("a/b:\n\tx: 1", "line 2, column 1"),
        ("a: b: c", "line 1, column 5"),
        ("a/b: {x: *nobody}", "line 1, column 10"),
        ("a/b: {x: !!python/name:os.system 1}", "line 1, column 10"),
        ("a/b: {3: 1}", "line 1, column 7: 3 is no name"),
        ("a/b: \0", "cannot be read"),
        ("3", "must map notebook names"),
        ("a/b: [n]", "must map notebook names"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refusal:
        read(tmp_path, text)
    assert problem in str(refusal.value)
    assert str(refusal.value).startswith("parameters.yml")
    assert "\n" not in str(refusal.value)


def test_no_file_and_an_empty_file_change_nothing(tmp_path: Path) -> None:
    assert read_overrides(tmp_path / "parameters.yml") == {}
    assert read(tmp_path, "# nothing\n") == {}
    assert read(tmp_path, "a/b:\n") == {"a/b": {}}
