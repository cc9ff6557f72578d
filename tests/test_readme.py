from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from dpbayes.runner.notebooks import load
from dpbayes.runner.parameters import declared

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_examples_in_the_readme_print_what_it_says():
    result = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.attempted >= 8
    assert result.failed == 0


def test_every_link_in_the_readme_leads_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert targets
    for target in targets:
        assert (README.parent / target).exists(), target


def test_the_parameters_shown_are_those_of_the_notebook():
    shown = re.findall(r"^  (\w+): [^=\n]*= .*?  # (.*)$", README.read_text(), re.M)
    notebook = README.parent / "notebooks" / "basics" / "posterior.ipynb"
    parameters = declared(load(notebook))
    assert dict(shown) == {key: one.meaning for key, one in parameters.items()}
