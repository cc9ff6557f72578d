"""The picture in the README is the one the book computes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPUTED = ROOT / "book" / "results" / "foundations" / "at-a-glance" / "means.svg"


@pytest.mark.browser
def test_the_picture_of_the_readme_is_the_computed_one() -> None:
    if not COMPUTED.is_file() and not os.environ.get("CI"):
        pytest.skip(f"{COMPUTED.name} is missing: run `make book`")
    assert (ROOT / "book" / "_static" / "at-a-glance.svg").read_bytes() == COMPUTED.read_bytes()
