"""The record of lower bounds by boxes: complete, reproducible, written as it is read."""

import pytest

from dpbayes.study.records import write_rows
from dpbayes.study.simplex_box_record import RATIOS, box_bounded, missing, read_record


def test_the_record_is_complete_and_every_bound_is_below_lattice_noise():
    found = read_record()
    assert missing(found) == []
    assert [RATIOS[one.k, one.n, one.epsilon] for one in found] == [one.ratio for one in found]
    assert all(0.0 < one.lower < one.lattice for one in found)


def test_with_a_thousand_records_of_four_and_five_categories_the_gap_is_below_five_per_cent():
    close = {(one.k, one.epsilon) for one in read_record() if one.n == 1000 and one.above < 0.05}
    assert {(4, 5.0), (4, 2.0), (4, 1.0), (5, 5.0), (5, 2.0)} <= close


def test_with_a_thousand_records_of_four_categories_it_is_below_that_in_every_case():
    assert all(one.above < 0.05 for one in read_record() if (one.k, one.n) == (4, 1000))


def test_with_three_hundred_records_the_gap_is_below_three_per_cent_in_every_case():
    assert all(one.above < 0.03 for one in read_record() if one.n == 300)


def test_a_line_of_the_record_comes_out_again():
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (4, 300, 5.0))
    again = box_bounded(kept.n, kept.epsilon, kept.ratio, kept.k)
    assert again.boxes == kept.boxes
    assert again.lower == pytest.approx(kept.lower, rel=1e-4)
    assert again.lattice == pytest.approx(kept.lattice, rel=1e-9)


def test_a_record_is_read_as_it_was_written(tmp_path):
    found = read_record()
    write_rows(reversed(found), tmp_path / "record.csv")
    assert read_record(tmp_path / "record.csv") == found
    assert missing(found[1:]) == [(found[0].k, found[0].n, found[0].epsilon)]
