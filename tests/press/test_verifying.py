"""A site against the results it carries: every file by its hash, every quoted number."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from dpbayes.press.verifying import quotes, verify

PAGE = '<p>It is <span class="result" data-quote="part/x::half:.2f">0.50</span>.</p>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site/_downloads/abc"
    folder.mkdir(parents=True)
    (tmp_path / "site/index.html").write_text(PAGE)
    (folder / "numbers.json").write_text('{"half": 0.5}')
    (folder / "table.csv").write_text("a\n1\n")
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    (folder / "provenance.json").write_text(json.dumps({"notebook": "part/x", "sha256": hashes}))
    shutil.copytree(folder, tmp_path / "results/part/x")
    return tmp_path / "site"


def test_a_true_site_agrees(site: Path) -> None:
    found = verify(site, site.parent / "results")
    assert found.problems == []
    assert (found.results, found.files, found.quotes) == (1, 2, 1)


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("site/index.html", PAGE.replace(">0.50<", ">0.51<"), "shows 0.51 for part/x::half:.2f"),
        ("site/index.html", PAGE.replace("half", "third"), "which no result of the site has"),
        ("site/_downloads/abc/table.csv", "a\n2\n", "part/x/table.csv: no download has the hash"),
        ("results/part/x/table.csv", "a\n2\n", "table.csv: the site was built from another result"),
    ],
)
def test_each_disagreement_is_named(site: Path, file: str, text: str, problem: str) -> None:
    (site.parent / file).write_text(text)
    (found,) = verify(site, site.parent / "results").problems
    assert problem in found


def test_a_site_without_results_is_no_agreement(site: Path) -> None:
    shutil.rmtree(site / "_downloads")
    assert "the site carries no result" in verify(site).problems
    with pytest.raises(ValueError, match=r"site must be a built site, with an index\.html"):
        verify(site / "nowhere")


def test_quotes_are_read_as_they_are_shown() -> None:
    text = '<span class="result" data-quote="a/b::c:.1e">1 &times; 10</span>'
    assert list(quotes(text)) == [("a/b::c:.1e", "1 × 10")]
