"""The HTML page of a rerun in a browser: its signs are read right, and a phone shows it whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from dpbayes.press.html import html_page
from tests.tiny_notebooks import notebook

pytestmark = pytest.mark.browser
NAME = "long-" * 20 + "name"
TEXT = f"The estimate is −17.62 at ε = 1, see `{NAME}`.\n"
TABLE = "\n:::{result-table} part/name::wide\nWide.\n:::\n"


def test_signs_are_read_right_and_a_wide_table_stays_in_the_page(
    chromium: Browser, tmp_path: Path
) -> None:
    made: dict[str, Any] = notebook()
    made["cells"] = [
        {"cell_type": "markdown", "id": "text", "metadata": {}, "source": TEXT + TABLE}
    ]
    (tmp_path / "part/name").mkdir(parents=True)
    columns = [f"column-number-{number}" for number in range(20)]
    table = ",".join(columns) + "\n" + ",".join("0.123456" for _ in columns) + "\n"
    (tmp_path / "part/name/wide.csv").write_text(table)
    path = tmp_path / "part/name.ipynb"
    path.write_text(json.dumps(made), encoding="utf-8")
    page = path.with_suffix(".html")
    page.write_text(html_page(path, tmp_path), encoding="utf-8")
    tab = chromium.new_page(viewport={"width": 390, "height": 900})
    tab.goto(page.as_uri())
    assert tab.evaluate("document.characterSet") == "UTF-8"
    assert "The estimate is −17.62 at ε = 1, see" in tab.inner_text("body")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.close()
