"""The kept prices: complete, and not undercut by any answer looked at."""

import numpy as np
import pytest

from dpbayes.study.simplex import lattice_means
from dpbayes.study.simplex_prices import CASES, read_prices


def test_what_the_prices_prove_is_a_little_below_what_noise_attains():
    kept = read_prices()
    assert set(kept) == set(CASES)
    for epsilon, most in ((5.0, 1.003), (1.0, 1.014)):
        check = kept[3, 300, epsilon].check((3, 300, epsilon))
        noise = check.space.mean(lattice_means(check.space, epsilon))
        assert check.lower < noise < most * check.lower


@pytest.mark.slow
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
