"""The version is said once, and everything that states it agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import dpbayes
from dpbayes._version import VERSION

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert dpbayes.__version__ == VERSION == project["version"] == cited[1]
