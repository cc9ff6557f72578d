"""The pages of the package: every public name is there, with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
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
    shown = [loaded(name) for name, (kind, _) in SHOWN.items() if kind != WITHOUT_DOCSTRING]
    missing = {name for name in wanted - SHOWN.keys() if loaded(name) not in shown}
    assert not missing, sorted(missing)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHOWN))
def test_every_name_on_a_page_has_an_example_with_its_result_that_runs(name):
    found = examples(name)
    assert found, f"{name} has no example"
    assert any(example.want.strip() for test in found for example in test.examples)
    runner = doctest.DocTestRunner(verbose=False)
    for test in found:
        assert runner.run(test).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_on_the_pages_print_what_they_say(page):
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0
