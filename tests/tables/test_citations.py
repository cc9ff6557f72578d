"""What to cite: every mechanism that can be released has sources, and the page prints them."""

from __future__ import annotations

import pytest

from dpbayes.tables.citations import cited, entries, methods
from dpbayes.tables.release import chosen_mechanism


@pytest.mark.parametrize("name", ["independent", "lattice", "geometric", "discrete-gaussian"])
def test_what_is_released_states_its_sources(name):
    options = {"delta": 1e-6} if name == "discrete-gaussian" else {}
    stated = chosen_mechanism(name, 0.5, options).citations
    assert methods()[name] == stated
    text = cited([name, "release", name])
    for key in (*stated, "mironov-bits"):
        assert text.count(entries()[key]) == 1
    assert text.startswith("@misc{dpbayes,")


def test_an_unknown_method_is_not_cited():
    with pytest.raises(KeyError):
        cited(["lattuce"])
