"""Columns as a plan declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.releasing.columns import Column, column, joined
from dpbayes.releasing.plan_file import PlanError, PlanFile

FILE = PlanFile(Path("plan.toml"), "", {})


def test_edges_too_close_for_six_digits_have_names_of_their_own():
    near = column(FILE, "x", {"edges": [1.0000001, 1.0000002, 1.0000003]})
    assert near.labels == ("1.0000001 to 1.0000002", "1.0000002 to 1.0000003")
    assert column(FILE, "x", {"edges": [0, 18, 65.5]}).labels == ("0 to 18", "18 to 65.5")


@pytest.mark.parametrize("edges", [[0, 2**53, 2**53 + 1], [0, 1e301], [0], [0, True], ["0", "1"]])
def test_edges_that_do_not_increase_as_numbers(edges):
    with pytest.raises(PlanError, match="edges that increase, for x"):
        column(FILE, "x", {"edges": edges})


def test_cells_in_order():
    assert joined((Column("a", ("1", "2")), Column("b", ("3", "4")))) == (
        "1, 3", "1, 4", "2, 3", "2, 4",
    )  # fmt: skip
