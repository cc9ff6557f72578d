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


def test_the_encoding_is_said_where_browsers_look_for_it(tmp_path: Path) -> None:
    assert '<meta charset="utf-8">' in html_page(write(tmp_path), tmp_path)[:1024]


def test_pages_made_by_one_process_are_made_alike(tmp_path: Path) -> None:
    path = write(tmp_path)
    first, second = (html_page(path, tmp_path) for _ in range(2))
    assert first == second
    assert "Cannot embed" not in second


def test_the_page_holds_numbers_tables_figures_and_mathematics(tmp_path: Path) -> None:
    page = html_page(write(tmp_path), tmp_path)
    assert "is 2.5, and elsewhere" in page
    assert "other/one::x:.1f" in page
    assert 'href="name/a.csv"' in page
    assert "Theorem (Adding)" in page
    assert "1.2" in page
    assert 'id="here"' in page
    assert r'Half of <span class="math">\(n\)</span>' in page
    assert "MathJax" in page
    assert 'class="system-message' not in page


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    page = html_page(write(tmp_path), tmp_path)
    typesetter = re.compile(r"<script>.*?</script>", re.DOTALL)
    assert len(typesetter.findall(page)) == 2
    page = typesetter.sub("", page)
    assert re.findall(r'\ssrc(?:set)?="(?!data:)|<link[^>]*href=|@import|url\(', page) == []


PAGE = """# What is proved

```{prf:lemma}
:nonumber:
:label: lem-a
No title.
```

:::{prf:theorem} Adding noise
:label: thm-a
Yes.
:::
"""
REFERRING = (
    "By {prf:ref}`thm-a`, {prf:ref}`words <thm-a>`, {doc}`../../limits/proofs`, {doc}`other`, "
    "{cite:p}`dwork`, {prf:ref}`lem-a`, {prf:ref}`thm-nobody`."
)


def test_references_show_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "book/limits").mkdir(parents=True)
    (tmp_path / "book/limits/proofs.md").write_text(PAGE)
    work = "@book{dwork,\n  author = {Dwork, Cynthia},\n  year = {2014}\n}\n"
    (tmp_path / "book/references.bib").write_text(work)
    made = notebook()
    made["cells"].append({"cell_type": "markdown", "id": "t", "metadata": {}, "source": REFERRING})
    for name in ("other", "name"):
        path = tmp_path / f"notebooks/part/{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made))
    page = html_page(path, tmp_path / "notebooks", tmp_path)
    text = re.sub(r"<script>.*?</script>|<[^>]*>", "", page, flags=re.DOTALL)
    assert (
        "By Theorem (Adding noise), words, What is proved, What is twice n?, (Dwork, 2014), Lemma, "
        "thm-nobody." in text
    )
