"""The factorisation of all rows at once, against weights worked out with many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpbayes.queries.orthogonal import Orthogonal


def shortest(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return w = G x with G^T G x = query in a hundred digits."""
    with mpmath.workdps(100):
        G = mpmath.matrix(rows.tolist())
        w = G * mpmath.lu_solve(G.T * G, mpmath.matrix(query.tolist()))
        return np.array([float(one) for one in w])


@pytest.mark.parametrize("spread", [0, 4, 8])
def test_weights_are_the_shortest_ones_whatever_the_lengths_of_the_rows(spread: int) -> None:
    rng = np.random.default_rng(spread)
    for _ in range(50):
        rank = int(rng.integers(1, 5))
        rows = rng.normal(size=(rank + int(rng.integers(0, 6)), rank))
        rows *= 10.0 ** rng.uniform(-spread, 0, (len(rows), 1))
        query = rng.normal(size=rank)
        found = Orthogonal(rows).shortest(query)
        np.testing.assert_allclose(found @ rows, query, atol=1e-9)
        exact = shortest(rows, query)
        assert np.linalg.norm(found - exact) <= 1e-6 * np.linalg.norm(exact)


def test_a_query_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="query must have 2 entries, got 3"):
        Orthogonal(np.eye(2)).shortest([1.0, 0.0, 0.0])
