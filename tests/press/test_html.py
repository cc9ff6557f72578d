"""One executed notebook as one HTML file that needs nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from dpbayes.press.html import html_page
from tests.tiny_notebooks import code, notebook

TEXT = """
Half of $n$ is {result}`part/name::half:.1f`, and elsewhere {result}`other/one::x:.1f`.
See {prf:ref}`thm-a`, {numref}`the figure <fig-a>` and {download}`the table <name/a.csv>`.

:::{prf:theorem} Adding
:label: thm-a
One and one are two.
:::

:::{result-table} part/name::a
:format: .1f
Two numbers.
:::
"""


def write(tmp_path: Path) -> Path:
    (tmp_path / "part/name").mkdir(parents=True)
    (tmp_path / "part/name/numbers.json").write_text(json.dumps({"half": 2.5}))
    (tmp_path / "part/name/a.csv").write_text("x\n1.25\n")
    drawing = code("figure")
    drawing["execution_count"] = 1
    drawing["outputs"] = [
        {
            "output_type": "execute_result",
            "execution_count": 1,
            "data": {
                "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"><g id="here"/></svg>'
            },
            "metadata": {},
        }
    ]
    made: dict[str, Any] = notebook(drawing)
    made["cells"].append({"cell_type": "markdown", "id": "text", "metadata": {}, "source": TEXT})
    path = tmp_path / "part/name.ipynb"
    path.write_text(json.dumps(made))
    return path


def test_the_page_holds_numbers_tables_figures_and_mathematics(tmp_path: Path) -> None:
    page = html_page(write(tmp_path), tmp_path)
    assert "is 2.5, and elsewhere" in page
    assert "other/one::x:.1f" in page
    assert 'href="name/a.csv"' in page
    assert "Theorem (Adding)" in page
    assert "1.2" in page
    assert 'id="here"' in page
    assert "<math" in page
    assert 'class="system-message' not in page


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    page = html_page(write(tmp_path), tmp_path)
    assert re.findall(r'\ssrc(?:set)?="(?!data:)|<link[^>]*href=|@import|url\(', page) == []
