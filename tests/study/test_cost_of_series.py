"""What the pages on scale compute: work, agreement, errors of the shortened series."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.cost_of_series import (
    agreement,
    expansion_errors,
    series_law,
    slope,
    uneven,
    work,
)

SMOOTH = dp.mechanism("expMech-smooth", 1.0)


def test_uneven_counts_all_differ_and_sum_to_n():
    for n, k in [(1000, 4), (10**6, 50)]:
        counts = uneven(n, k)
        assert counts.sum() == n
        assert np.unique(counts).size == k


def test_uneven_counts_all_differ_where_three_records_are_more_than_five_pairs():
    for k in range(2, 13):
        enough = [n for n in range(1, 5 * k * k) if 3 * n > 5 * k * (k - 1)]
        assert all(np.unique(uneven(n, k)).size == k for n in enough)
    assert np.unique(uneven(20, 4)).size < 4
    assert "5 k (k - 1)" in str(uneven.__doc__)


def test_a_law_that_transforms_nothing_tells_only_the_truth_from_the_rest():
    flat = series_law(dp.mechanism("expMech", 1.0), uneven(100_000, 16), np.ones(16))
    sure = series_law(dp.mechanism("expMech", 1e4), uneven(100, 4), np.ones(4))
    assert flat.transformed == sure.transformed == 0
    far, other = np.roll(flat.counts, 1), np.full(16, 6250)
    ratio = flat.probability([far])[0] / flat.probability([other])[0]
    assert flat.probability([flat.counts])[0] < 1e-30
    assert ratio == pytest.approx(1.0, rel=1e-9)
    assert sure.probability([sure.counts])[0] == pytest.approx(1.0, abs=1e-12)


def test_work_grows_with_categories_and_not_like_the_list():
    done = work(SMOOTH, [uneven(5000, k) for k in (4, 8)])
    assert 1.5 < done.transformed[1] / done.transformed[0] < 2.5
    listed = np.log10(8.0 * dp.number_of_candidates(5000, 8))
    assert done.log10_listed[1] == pytest.approx(listed, abs=1e-9)


def test_equal_categories_share_their_work():
    even, split = np.full(8, 500), uneven(4000, 8)
    done = work(SMOOTH, [even, split])
    assert done.transformed[0] < done.transformed[1] / 6


def test_agreement_holds_its_promise():
    found = agreement(SMOOTH, [4, 0, 9], [1.0, 0.2, 3.0])
    assert found.candidates == 105
    assert found.mean_error <= found.bound
    assert found.partition_error <= found.bound
    assert found.listed == SMOOTH.enumerated([4, 0, 9], [1.0, 0.2, 3.0]).mean_distance()


def test_more_nodes_less_error():
    errors = expansion_errors(25.0, 5e-4, 25.0, [2, 6, 12])
    assert errors[0] > 1e-3
    assert np.all(np.diff(errors) < 0)
    assert errors[2] < 1e-13


def test_slopes_and_refusals():
    assert slope([1.0, 10.0], [5.0, 500.0]) == pytest.approx(2.0)
    with pytest.raises(TypeError, match="mechanism must be an exponential mechanism"):
        series_law(dp.mechanism("lapMech", 1.0), [3, 4], [1.0, 1.0])
