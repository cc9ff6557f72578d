"""What is printed: five lines at most, a small table in a notebook, labels kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpbayes as dp
from dpbayes import _values, tables

FIFTY = np.arange(1, 51)
FLAT = np.ones(50)
LATTICE = dp.mechanism("lattice", 1.0)
SMOOTH = dp.mechanism("expMech-smooth", 1.0)


def _changing() -> dp.Crossover:
    return dp.Crossover("lapMech", tuple((n, f"mechanism {n}") for n in range(400)))


THINGS: dict[str, Callable[[], Any]] = {
    "posterior": lambda: dp.posterior(FIFTY, FLAT),
    "labelled": lambda: dp.posterior(pd.Series(FIFTY, [f"<{i}>" for i in FIFTY]), FLAT),
    "release": lambda: dp.release(LATTICE, FIFTY, FLAT),
    "release of an exponential mechanism": lambda: dp.release(SMOOTH, [9, 9], [1, 1]),
    "noise-aware": lambda: dp.release(LATTICE, 99 * FIFTY, FLAT).noise_aware(),
    "shares": lambda: dp.release(LATTICE, FIFTY, FLAT).shares(),
    "share": lambda: dp.release(LATTICE, FIFTY, FLAT).shares().read([1]),
    "audit": lambda: dp.audit(SMOOTH, 200, [1, 1]),
    "curve": lambda: dp.audit(SMOOTH, 20, [1, 1]).curve(np.linspace(0.0, 1.0, 99)),
    "pair": lambda: dp.audit_pair(SMOOTH, [500, 500], [501, 499], [1, 1]),
    "crossover": _changing,
    "calibrated": lambda: dp.calibrate(SMOOTH, 20, [1, 1], 1.0),
    "guarantee": lambda: SMOOTH.guarantee(2),
    "records": lambda: dp.records_needed(LATTICE, FLAT / 50, FLAT, 0.1),
    "sensitivity": lambda: dp.local_sensitivity(FIFTY, FLAT),
    "listed law": lambda: LATTICE.law([30, 30, 30], [1, 1, 1]),
    "sum-zero law": lambda: LATTICE.law(FIFTY, FLAT),
    "product law": lambda: dp.mechanism("lapMech", 1.0).law(FIFTY, FLAT),
    "exponential law": lambda: SMOOTH.law(FIFTY, FLAT),
    "count": lambda: dp.count_error(LATTICE, [30, 70]),
}


@pytest.mark.parametrize("name", THINGS)
def test_a_value_prints_in_five_lines_and_as_a_small_table(name: str) -> None:
    thing = THINGS[name]()
    lines = repr(thing).splitlines()
    assert 1 <= len(lines) <= 5
    assert max(map(len, lines)) <= 88
    assert lines[0].startswith(f"{type(thing).__name__}(")
    table = thing._repr_html_()
    assert table.startswith("<table>")
    assert table.count("<tr>") <= 10
    assert len(table) < 3000
    assert "<1>" not in table


def _below(kind: type) -> set[type]:
    return {kind} | {one for sub in kind.__subclasses__() for one in _below(sub)}


def test_no_class_prints_in_another_way_by_accident() -> None:
    """The repr that a dataclass writes itself hides the short one."""
    for thing in THINGS.values():
        thing()  # their modules are loaded
    short = _values.Shown.__repr__
    other = {one.__name__ for one in _below(_values.Shown) if one.__repr__ is not short}
    assert other <= {"Estimates", "MonteCarlo"}


def test_a_table_shows_each_category_with_its_label() -> None:
    counts = pd.Series({"yes": 3, "no": 1})
    table = dp.posterior(counts, [1, 1])._repr_html_()
    assert "<td>yes</td><td>4</td>" in table
    assert "<td>no</td><td>2</td>" in table


def test_labels_of_counts_and_prior_are_kept() -> None:
    counts = pd.Series({"yes": 30, "no": 10})
    flat = pd.Series(1.0, counts.index)
    labels = ("yes", "no")
    assert dp.posterior(counts, [1, 1]).labels == labels
    assert dp.posterior([30, 10], flat).labels == labels
    assert dp.posterior(counts.to_frame().T.iloc[0], flat).labels == labels
    assert dp.posterior([30, 10], [1, 1]).labels == ()
    private = dp.release(LATTICE, [30, 10], flat)
    assert private.labels == private.posterior.labels == labels
    assert private.noise_aware().labels == labels
    assert "labels=('yes', 'no')" in repr(private)


def test_labels_are_one_a_category() -> None:
    with pytest.raises(ValueError, match="labels must be 2, one a category, or none"):
        dp.Posterior(np.array([1.0, 2.0]), ("yes",))
    assert dp.Posterior(np.array([1.0, 2.0]), ["yes", "no"]).labels == ("yes", "no")


def test_a_release_says_where_labels_belong() -> None:
    counts = pd.Series({"yes": 30, "no": 10})
    with pytest.raises(ValueError, match="labels belong to the prior"):
        dp.release(LATTICE, counts, [1, 1])


READERS: dict[str, Callable[[Any], Any]] = {
    "count": lambda df: tables.count(df, [tables.Categories("a", ("x", "y"))]),
    "create": lambda df: tables.create_account("a", "d", 1, df, tables.Unit("id", 1)),
    "open": tables.open_account,
    "plan": tables.read_plan,
    "read": dp.read,
}


@pytest.mark.parametrize("name", READERS)
def test_a_table_in_memory_is_to_be_written_first(name: str) -> None:
    with pytest.raises(TypeError, match=r"got a DataFrame: write it with to_parquet"):
        READERS[name](pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(TypeError, match="must be the path of a file, got 3"):
        READERS[name](3)
