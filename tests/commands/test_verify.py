"""`dpbayes verify`: one line when a site agrees, one line a disagreement when it does not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dpbayes.cli import main

PAGE = '<span class="result" data-quote="part/x::half:.2f">{}</span>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "_downloads/abc"
    folder.mkdir(parents=True)
    content = b'{"half": 0.5}'
    (folder / "numbers.json").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    provenance = {"notebook": "part/x", "sha256": {"numbers.json": digest}}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    (tmp_path / "index.html").write_text(PAGE.format("0.50"))
    return tmp_path


def test_a_site_that_agrees(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(site)]) == 0
    assert capsys.readouterr().out == "1 results, 1 files, 1 quoted numbers: all agree\n"


def test_a_number_that_was_typed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "index.html").write_text(PAGE.format("0.55"))
    assert main(["verify", str(site)]) == 1
    complaint = capsys.readouterr().err
    assert "1 disagree\n  index.html: shows 0.55 for part/x::half:.2f" in complaint


def test_what_is_no_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 2
    assert "site must be a built site" in capsys.readouterr().err
