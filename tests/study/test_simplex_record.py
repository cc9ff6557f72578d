"""The record of lower bounds: complete, reproducible, written as it is read."""

import numpy as np
import pytest

from dpbayes.study import simplex_record as tested
from dpbayes.study.records import write_rows
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_record import bounded, missing, read_record, rounds_of


def test_the_record_is_complete_and_every_bound_is_below_lattice_noise():
    found = read_record()
    assert missing(found) == []
    assert all(0.0 < one.lower < one.lattice for one in found)
    assert all(not one.folded < one.lower for one in found)
    assert all(one.lower < one.plateaus <= one.folded * 1.001 for one in found if one.k == 3)
    assert all(not one.remapped > one.lattice + 2e-7 for one in found)


@pytest.mark.parametrize(
    ("k", "n", "epsilon"), [(3, 30, 2.0), (3, 100, 1.0), (4, 30, 5.0), (5, 12, 5.0)]
)
def test_a_line_of_the_record_comes_out_again(k, n, epsilon):
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (k, n, epsilon))
    again = bounded(kept.n, kept.epsilon, kept.rounds, kept.k)
    assert again.lattice == pytest.approx(kept.lattice, rel=1e-9)
    assert again.remapped == pytest.approx(kept.remapped, rel=1e-9)
    assert again.folded == pytest.approx(kept.folded, rel=1e-9)
    assert again.plateaus == pytest.approx(kept.plateaus, rel=1e-9, nan_ok=True)
    assert again.lower == pytest.approx(kept.lower, rel=1e-4)


@pytest.mark.slow
def test_a_line_of_wide_noise_comes_out_again():
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (3, 100, 0.5))
    again = bounded(kept.n, kept.epsilon, rounds_of(3, 100, 0.5), kept.k)
    assert again.answered == pytest.approx(kept.answered, rel=1e-9)
    assert again.lower == pytest.approx(kept.lower, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1e-3])
def test_folded_noise_that_is_none_or_not_decided_is_left_out(epsilon):
    assert np.isnan(tested._folded(simplex(30), epsilon))


def test_without_folded_noise_a_line_has_the_bound_and_lattice_noise():
    found = bounded(12, 0.1, 2)
    assert np.isnan(found.folded)
    assert np.isnan(found.plateaus)
    assert 0.0 < found.lower < found.lattice


def test_lattice_noise_is_within_five_per_cent_in_every_case():
    found = read_record()
    assert max(one.best for one in found) < 1.05
    assert {one.k for one in found} == {3, 4, 5}


def test_at_a_thousand_records_lattice_noise_is_within_five_per_cent():
    last = {one.epsilon: one.ratio for one in read_record() if one.n == 1000}
    assert set(last) == {0.5, 1.0, 2.0, 5.0}
    assert last[5.0] < 1.001


def test_three_categories_and_noise_that_is_not_wide_are_within_one_per_cent():
    close = [one for one in read_record() if one.k == 3 and one.epsilon >= 1.0]
    assert {one.n for one in close} == {30, 100, 300, 1000}
    assert max(one.best for one in close) < 1.001


def test_with_a_thousand_records_of_three_categories_the_best_is_within_one_per_cent():
    last = {one.epsilon: one.best for one in read_record() if one.n == 1000}
    assert max(last.values()) < 1.01


def test_a_record_is_read_as_it_was_written(tmp_path):
    found = read_record()
    write_rows(reversed(found), tmp_path / "record.csv")
    again = read_record(tmp_path / "record.csv")
    assert [str(one) for one in again] == [str(one) for one in found]  # nan is not equal to nan
    assert missing(found[1:]) == [(found[0].k, found[0].n, found[0].epsilon)]
