"""The certificate of a build names what disagrees."""

from __future__ import annotations

from pathlib import Path

from dpbayes.record import json_bytes
from dpbayes.runner.verify import certificate
from tests.runner.test_verify import NUMBERS, book

__all__ = ["book"]


def test_the_certificate_names_what_disagrees(book: Path) -> None:
    places = book / "results", book / "reference"
    assert certificate(*places)["problems"] == []
    changed = book / "results" / "part" / "tiny" / "numbers.json"
    changed.write_bytes(json_bytes({**NUMBERS, "half": 0.6}))
    (named,) = certificate(*places)["problems"]
    assert "part/tiny::half" in named
