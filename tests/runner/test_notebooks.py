"""Notebooks are found by path, name, or the last part of a name; what is near is suggested."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.runner.notebooks import find, load, title
from tests.tiny_notebooks import write_tiny


@pytest.fixture
def several(checkout: Path) -> Path:
    """Return a checkout with three more notebooks."""
    for name in ("documents/D-table1", "documents/D-fig5", "other/tiny"):
        write_tiny(checkout / "notebooks", name)
    return checkout


@pytest.mark.parametrize(
    "given",
    ["documents/D-table1", "D-table1", "d-TABLE1", "notebooks/documents/D-table1.ipynb",
     "notebooks/documents/D-table1"],
)  # fmt: skip
def test_a_notebook_has_several_names(several: Path, given: str) -> None:
    name, path = find(given, several)
    assert (name, title(load(path))) == ("documents/D-table1", "What is twice n?")
    assert find("D-table1.ipynb", several / "notebooks" / "documents")[0] == name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("D-tabel1", "did you mean documents/D-table1"),
        ("documents/D-fig6", "did you mean documents/D-fig5"),
        ("tiny", "several notebooks: other/tiny, part/tiny"),
        ("nothing-like-it", "try `dpbayes list`"),
        ("", "try `dpbayes list`"),
    ],
)
def test_what_is_not_found_is_refused_with_a_hint(several: Path, given: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        find(given, several)


@pytest.mark.parametrize("content", ["", "[]", '{"cells": 3}', '{"cells": [{"source": 1}]}'])
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, content: str) -> None:
    bad = tmp_path / "bad.ipynb"
    bad.write_text(content)
    with pytest.raises(ValueError, match=r"bad\.ipynb is not a notebook"):
        load(bad)
