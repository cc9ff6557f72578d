"""The kept prices: complete, equal to the record, and not undercut by any answer looked at."""

import numpy as np
import pytest

from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_prices import CASES, read_prices, rounded, write_prices
from dpbayes.study.simplex_record import read_record


def test_the_prices_are_those_of_the_lines_of_the_record():
    kept, lines = read_prices(), {(x.k, x.n, x.epsilon): x.lower for x in read_record()}
    assert set(kept) == set(CASES)
    assert {case for case in lines if case[0] == 3 and case[1] >= 300} == set(CASES)
    for case, one in kept.items():
        lower = one.check(case).lower
        assert lines[case] * (1.0 - 1e-6) < lower <= lines[case]


@pytest.mark.parametrize("case", CASES)
def test_no_private_column_undercuts_the_kept_prices(case):
    check = read_prices()[case].check(case)
    ends = [0, len(check.units) - 1, int(check.space.place[0, case[1] // 2])]
    assert min(check.least(number) for number in ends) >= 0.0
    assert check.least_of_some(6, np.random.default_rng(23)) >= 0.0


@pytest.mark.slow
def test_no_private_column_whatever_undercuts_three_hundred_records_at_epsilon_five():
    case = 3, 300, 5.0
    check = read_prices()[case].check(case)
    assert min(check.least(number) for number in range(len(check.units))) >= 0.0


def test_prices_are_read_as_they_were_written_and_rounded_down(tmp_path):
    space, random = simplex(20), np.random.default_rng(4)
    prices = random.uniform(0.1, 0.3, len(space.rows))
    kept = rounded(space, prices)
    assert np.all(kept.values <= prices)
    assert np.all(prices - kept.values < 1e-6 * space.mean(prices))
    write_prices({(3, 20, 1.5): kept}, tmp_path / "prices.npz")
    again = read_prices(tmp_path / "prices.npz")
    assert list(again) == [(3, 20, 1.5)]
    assert again[3, 20, 1.5].bits == kept.bits
    assert np.array_equal(again[3, 20, 1.5].units, kept.units)
