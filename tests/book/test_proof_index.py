"""The index of definitions and theorems names them as the pages do."""

from __future__ import annotations

import re
from pathlib import Path

from tests.book.test_sphinx import page, sphinx

PAGES = {
    "index": "# A book\n\n```{toctree}\n:numbered:\none\ntwo\nresults/part/tiny\n```\n",
    "one": """# What a *release* promises

```{prf:theorem} Direct budget
:label: thm-direct

It is $x$.
```

```{prf:property} Nothing is lost
:label: prop-nothing

It is not.
```
""",
    "two": """# Noise

```{prf:theorem} A first one
:label: thm-first

By {prf:ref}`thm-direct`.
```
""",
}


def test_theorems_are_indexed_by_kind_under_their_titles(project: Path) -> None:
    conf = project / "book/conf.py"
    conf.write_text(conf.read_text() + "\nextensions.append('sphinx_proof')\nnumfig = True\n")
    for name, text in PAGES.items():
        (project / f"book/{name}.md").write_text(text)
    done = sphinx(project)
    assert done.returncode == 0, done.stderr
    shown = page(project, "prf-prf")
    assert "<h1>Definitions and theorems</h1>" in shown
    headings = re.findall(r'class="cap" id="cap-(\w+)"', shown)
    assert headings == ["Properties", "Theorems"]
    entries = re.findall(
        r'href="(\w+)\.html#([\w-]+)"><code class="xref">([^<]*)</code></a>\s*<em>\(([^<]*)\)</em>'
        r"</td><td>\s*<em>([^<]*)</em>",
        shown,
    )
    assert entries == [
        ("one", "prop-nothing", "Nothing is lost", "What a release promises", "Property 1.1"),
        ("two", "thm-first", "A first one", "Noise", "Theorem 2.1"),
        ("one", "thm-direct", "Direct budget", "What a release promises", "Theorem 1.1"),
    ]


def test_a_book_without_theorems_has_no_such_index(project: Path) -> None:
    (project / "notebooks/part/tiny.ipynb").unlink()
    (project / "book/index.md").write_text("# A book\n\nIt has no theorem.\n")
    done = sphinx(project)
    assert done.returncode == 0, done.stderr
    assert (project / "site/genindex.html").exists()
    assert not (project / "site/prf-prf.html").exists()
