"""Bins as SQL expressions, beside every edge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpbayes import queries


@pytest.mark.parametrize(
    "edges",
    [
        (0.0, 1.0),
        tuple(range(-3, 40)),
        (18, 40, 62, 84),
        (-7.5, -1.0, 0.1, 2.0, 1e9),
        (0, 10, 20, 40),
        (2.0**52, 2.0**52 + 2, 2.0**52 + 4),
        tuple(0.1 * i for i in range(30)),
    ],
)
def test_values_beside_an_edge_fall_where_the_edges_say(edges: tuple[float, ...]) -> None:
    duckdb = pytest.importorskip("duckdb")
    ends = np.array(edges, dtype=float)
    beside = [ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), ends + 0.5]
    values = np.concatenate([*beside, [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300]])
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (v DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", [[float(v)] for v in values] + [[None]])
        made = queries.build_cube(
            "t", [queries.Bins("v", edges)], outside="drop", connection=connection
        )
    expected = [int(np.sum((values >= low) & (values < high))) for low, high in pairwise(edges)]
    assert made.counts.tolist() == expected
