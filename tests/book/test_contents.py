"""The contents hold every page and every notebook, and the code cites blocks that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbayes.runner.notebooks import all_notebooks

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
CITED = re.compile(r"\b(?:def|thm|lem)-[a-z0-9]+(?:-[a-z0-9]+)*")


def listed(entry: Any) -> list[str]:
    """Return every file named in a part of the contents."""
    if isinstance(entry, dict):
        own = [entry[key] for key in ("file", "root") if key in entry]
        return own + [file for value in entry.values() for file in listed(value)]
    if isinstance(entry, list):
        return [file for one in entry for file in listed(one)]
    return []


def pages() -> dict[str, Path]:
    return {
        path.relative_to(BOOK).with_suffix("").as_posix(): path
        for path in BOOK.rglob("*.md")
        if path.relative_to(BOOK).parts[0] != "results"
        and not path.relative_to(BOOK).parts[0].startswith("_")
    }


@pytest.mark.slow
def test_every_page_and_notebook_is_in_the_contents_once() -> None:
    contents = listed(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    assert len(contents) == len(set(contents))
    notebooks = {f"results/{name}" for name in all_notebooks(ROOT / "notebooks")}
    assert set(contents) == notebooks | pages().keys()


def labels() -> list[str]:
    notebooks = all_notebooks(ROOT / "notebooks").values()
    texts = [path.read_text(encoding="utf-8") for path in [*pages().values(), *notebooks]]
    return [label for text in texts for label in re.findall(r":label: ([\w-]+)", text)]


def test_labels_are_unique() -> None:
    found = labels()
    assert sorted(found) == sorted(set(found))


@pytest.mark.slow
def test_every_block_cited_in_code_exists() -> None:
    cited = {
        (label, path.relative_to(ROOT).as_posix())
        for path in (ROOT / "dpbayes").rglob("*.py")
        for label in CITED.findall(path.read_text(encoding="utf-8"))
    }
    known = set(labels())
    assert sorted((label, path) for label, path in cited if label not in known) == []
