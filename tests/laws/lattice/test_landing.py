"""The shared table of projections, beside the projection of every noisy vector by itself."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.lattice import landing
from dpbayes.laws.lattice.noise import points
from dpbayes.laws.lattice.projection import PROJECTIONS, project


@pytest.mark.parametrize("how", PROJECTIONS)
@pytest.mark.parametrize(("n", "k", "reach"), [(0, 3, 4), (4, 2, 6), (5, 3, 3), (3, 4, 5)])
def test_every_vector_is_found_where_it_is_projected_to(n, k, reach, how):
    outputs, shifts = dp.compositions(n, k), points(k, reach)
    places = landing.cells(shifts, n, reach)
    found = landing.table(n, k, reach, reach, how)
    for counts in outputs:
        noisy = counts + shifts
        rows = found[places + landing.offset(counts, reach)]
        stayed = rows == landing.STAYED
        assert (stayed == (noisy.min(axis=1) >= 0)).all()
        np.testing.assert_array_equal(outputs[rows[~stayed]], project(noisy[~stayed], how))


@pytest.mark.parametrize("name", ["lattice", "discrete-gaussian"])
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("counts", [[0, 3], [2, 0, 4], [1, 1, 1, 0]])
def test_laws_from_the_shared_table_are_those_of_each_vector(monkeypatch, name, projection, counts):
    mechanism = dp.mechanism(name, 1.3, projection=projection)
    monkeypatch.setattr("dpbayes.laws.lattice.listed._SHORT_LIST", 1 << 30)
    monkeypatch.setattr(landing, "SMALL_TABLE", landing.LARGEST_TABLE)
    shared = mechanism.law(counts, np.ones(len(counts)))
    monkeypatch.setattr(landing, "LARGEST_TABLE", 0)
    alone = mechanism.law(counts, np.ones(len(counts)))
    np.testing.assert_array_equal(shared.log_probabilities, alone.log_probabilities)
    assert np.exp(shared.log_probabilities).sum() == pytest.approx(1.0, abs=1e-11)


def test_a_large_table_is_made_when_a_second_law_asks(monkeypatch):
    monkeypatch.setattr(landing, "SMALL_TABLE", 10)
    landing._asked.cache_clear()
    assert landing.has_table(1, 2, 3)
    assert [landing.has_table(5, 2, 3) for _ in range(3)] == [False, True, True]
    assert not any(landing.has_table(5_000, 3, 3) for _ in range(3))


def test_rows_are_those_of_the_list_of_all():
    everything = dp.compositions(7, 4)
    assert landing.row_of(everything).tolist() == list(range(len(everything)))
