"""Checks of coefficients, scales and shapes: what passes is right, what is refused says why."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.queries import _arrays


def test_what_passes_is_read_only_and_a_copy() -> None:
    given = np.array([1.0, 2.0])
    for checked in (
        _arrays.vector("v", given),
        _arrays.positive_entries("v", given),
        _arrays.query("q", given, 2),
        _arrays.history("H", [given]),
        _arrays.targets("Q", given, 2),
    ):
        with pytest.raises(ValueError, match="read-only"):
            checked[...] = 0.0
    given[0] = 5.0
    assert _arrays.vector("v", [1.0, 2.0])[0] == 1.0


def test_shapes_and_places_are_whole_numbers() -> None:
    assert _arrays.shape("shape", (4, 2)) == (4, 2)
    assert _arrays.place("at", [1, 0], 2) == [1, 0]
    assert _arrays.place("at", 3, 1) == [3]


@pytest.mark.parametrize("metric", _arrays.NEIGHBOURS)
def test_neighbour_relations_are_known_by_name(metric: str) -> None:
    assert _arrays.neighbour_relation(metric) == metric


REFUSED = [
    (lambda: _arrays.vector("v", [[1.0]]), r"v must be a vector .* got shape \(1, 1\)"),
    (lambda: _arrays.vector("v", []), "v must be a vector with at least 1 entry"),
    (lambda: _arrays.vector("v", [1.0], 2), "v must have 2 entries, got 1"),
    (lambda: _arrays.vector("v", [np.inf]), "v must be finite"),
    (lambda: _arrays.positive_entries("b", [1.0, -2.0]), "b must be positive, got .*-2"),
    (lambda: _arrays.place("at", [1, 2, 3], 2), "at must have 2 entries"),
    (lambda: _arrays.shape("shape", (0,)), "shape must be"),
    (lambda: _arrays.shape("shape", ()), "shape must be 1 to 32 sides"),
    (lambda: _arrays.shape("shape", (1 << 20, 1 << 20)), "at most 100000000 cells"),
    (lambda: _arrays.shape("shape", [1] * 33), "shape must be 1 to 32 sides"),
    (lambda: _arrays.history("H", [1.0]), "H must be a matrix with one row a query"),
    (lambda: _arrays.query("q", [0.0, 0.0], 2), "q must have a coefficient that is not 0"),
    (lambda: _arrays.query("q", [1.0], 2), "one coefficient for each of the 2 cells, got 1"),
    (lambda: _arrays.targets("Q", [[[1.0]]], 1), r"Q must have shape \(1,\) or \(t, 1\)"),
    (lambda: _arrays.neighbour_relation("near"), "neighbours must be one of"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused_names_argument_and_value(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
