"""The explorer's directive and role inside Sphinx."""

from __future__ import annotations

import re
from pathlib import Path

from dpexplorer import MODULES, STATES, bundle
from tests.book.test_sphinx import page, sphinx
from tests.conftest import CONF

BOOK = Path(__file__).parents[2] / "book"

PAGE = """# A book

{explore}`Try few records <reading>`

:::{explorer}
:start: promise
:small:

What stands in.
:::

```{toctree}
results/part/tiny
part/other
```
"""


def prepared(project: Path, other: str) -> Path:
    conf = CONF.replace('"dpbook"', '"dpbook", "dpexplorer"')
    (project / "book" / "conf.py").write_text(conf)
    (project / "book" / "index.md").write_text(PAGE)
    (project / "book" / "part").mkdir()
    (project / "book" / "part" / "other.md").write_text(other)
    return project


def test_the_place_holds_what_stands_in_and_loads_its_own_files(project: Path) -> None:
    other = "# Other\n\n{explore}`There <all-data>`\n\n:::{explorer}\n:::\n"
    done = sphinx(prepared(project, other))
    assert done.returncode == 0, done.stderr
    shown = page(project)
    place = shown.partition('<div class="dp-explorer"')[2]
    assert f'data-state="{STATES["promise"].replace("&", "&amp;")}"' in place
    assert "data-small" in place.partition(">")[0]
    assert "What stands in." in place.partition("</div>")[0]
    assert 'src="explorer/explorer.js" defer' in place
    assert f'href="explorer/index.html#{STATES["reading"].replace("&", "&amp;")}"' in shown
    below = page(project, "part/other")
    assert 'src="../uplot/uPlot.iife.min.js"' in below
    assert 'href="../explorer/index.html#' in below
    assert "explorer" not in page(project, "results/part/tiny")


def test_the_script_is_a_classic_one(project: Path) -> None:
    done = sphinx(prepared(project, "# Other\n"))
    assert done.returncode == 0, done.stderr
    built = next(project.rglob("explorer/explorer.js")).read_text(encoding="utf-8")
    assert built == bundle()
    assert not re.search(r"^\s*(import|export)\b|\bfetch\(", built, re.MULTILINE)
    for module in MODULES.glob("*.js"):
        assert built.count(f"const {module.stem}_js = ") == 1


def test_an_unknown_state_stops_a_strict_build(project: Path) -> None:
    done = sphinx(prepared(project, "# Other\n\n{explore}`There <nowhere>`\n"))
    assert done.returncode != 0
    assert "the state must be one of start, " in done.stderr
