"""The pages of the package: every public name is there, with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpbayes as dp
from dpbayes import tables

FOLDER = Path(__file__).parents[2] / "book" / "api"
PAGES = sorted(FOLDER.glob("*.md"))
SHOWN = {
    name: (kind, page.name)
    for page in PAGES
    for kind, name in re.findall(
        r"^\.\. (auto\w+|py:data):: (\S+)$", page.read_text(), re.MULTILINE
    )
}
WITHOUT_DOCSTRING = "py:data"


def loaded(path: str) -> Any:
    """Return what a dotted name stands for; a function hides a module of its name."""
    first, *rest = path.split(".")
    thing: Any = importlib.import_module(first)
    for place, part in enumerate(rest, 2):
        if not hasattr(thing, part):
            importlib.import_module(".".join([first, *rest][:place]))
        thing = getattr(thing, part)
    return thing


def test_every_public_name_is_on_a_page():
    wanted = {f"dpbayes.{name}" for name in dp.__all__}
    wanted |= {f"dpbayes.tables.{name}" for name in tables.__all__}
    assert wanted <= SHOWN.keys(), sorted(wanted - SHOWN.keys())


def examples(name: str) -> list[doctest.DocTest]:
    """Return the examples in a name's own docstring; those of a value stand on its page."""
    kind, page = SHOWN[name]
    if kind == WITHOUT_DOCSTRING:
        blocks = re.findall(r"```pycon\n(.*?)```", (FOLDER / page).read_text(), re.DOTALL)
        using = [block for block in blocks if re.search(rf"\b{name.rpartition('.')[2]}\b", block)]
        parser = doctest.DocTestParser()
        return [parser.get_doctest(block, {}, name, page, 0) for block in using]
    thing = loaded(name)
    scope = dict(vars(inspect.getmodule(thing) or dp))
    found = doctest.DocTestFinder(recurse=False).find(thing, name, globs=scope)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_every_name_on_a_page_has_an_example_with_its_result_that_runs(name):
    found = examples(name)
    assert found, f"{name} has no example"
    assert any(example.want.strip() for test in found for example in test.examples)
    runner = doctest.DocTestRunner(verbose=False)
    for test in found:
        assert runner.run(test).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_on_the_pages_print_what_they_say(page):
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0


PAGE = """# Names

Ask `dp.release(...)` and [`dp.posterior`](api/one.md), not `dp.nothing` or `release`.

```python
answer = dp.release(counts) + dp.posterior(counts) + tables.blue(H)
from dpbayes.releasing.plan import read_plan
```
"""
ENTRIES = """# One

```{eval-rst}
.. autofunction:: dpbayes.release
.. autofunction:: dpbayes.tables.blue
.. autofunction:: dpbayes.releasing.plan.read_plan
```
"""


def test_the_pages_link_the_names_they_use_to_their_entries(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser', 'sphinx_proof', 'dpapi']\n")
    (tmp_path / "index.md").write_text(PAGE + "\n```{toctree}\n:hidden:\n\napi/one\n```\n")
    (tmp_path / "api" / "one.md").write_text(ENTRIES)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", ".", "site"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{FOLDER.parent / '_ext'}{os.pathsep}{FOLDER.parents[1]}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text()
    targets = re.findall(r'href="api/one.html#(dpbayes[^"]*)"[^>]*><code class="docutils', page)
    assert targets == [
        "dpbayes.release",
        "dpbayes.tables.blue",
        "dpbayes.releasing.plan.read_plan",
    ]
    last = page[page.index("From the package: ") :]
    assert "tables.blue" in last
    assert "dp.release" not in last.partition("</p>")[0]
