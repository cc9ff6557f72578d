from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpbayes as dp
from dpbayes.accuracy import order_changes
from dpbayes.laws.estimate import Estimate

# D, Tables 1 and 2, at epsilon = 1; the paper cuts digits off instead of rounding.
TABLE_ONE = {
    2.0: [0.19673467014, 0.11932560927, 0.07237464051],
    1.0: [0.31606027941, 0.11627207896, 0.04277410743],
}
TABLE_TWO = {
    2.0: [0.19673467014, 0.31606027941, 0.19170024978],
    1.0: [0.31606027941, 0.43233235838, 0.1590461864],
}


@pytest.mark.parametrize("sensitivity", [1.0, 2.0])
def test_table_one(sensitivity):
    steps = dp.laplace_step_probability(np.arange(3), 1.0, sensitivity)
    assert np.floor(steps * 1e11) / 1e11 == pytest.approx(TABLE_ONE[sensitivity], abs=1e-15)


@pytest.mark.parametrize("sensitivity", [1.0, 2.0])
def test_table_two(sensitivity):
    t = np.arange(1, 3)
    both = dp.laplace_step_probability(t, 1.0, sensitivity) + dp.laplace_step_probability(
        -t, 1.0, sensitivity
    )
    assert both == pytest.approx(TABLE_TWO[sensitivity][1:], abs=1e-11)


@pytest.mark.slow
@given(st.integers(-200, 200), st.floats(0.05, 10), st.floats(0.5, 5))
def test_step_probability_is_an_interval_of_the_laplace_law(t, epsilon, sensitivity):
    law = stats.laplace(scale=sensitivity / epsilon)
    # On the far side of the mode the difference of survival functions keeps its digits.
    expected = law.cdf(t + 1) - law.cdf(t) if t < 0 else law.sf(t) - law.sf(t + 1)
    found = float(dp.laplace_step_probability(t, epsilon, sensitivity))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.lists(st.integers(0, 50), min_size=2, max_size=6))
def test_split_keeps_every_record(n, weights):
    if sum(weights) == 0:
        return
    shares = np.array(weights) / sum(weights)
    whole = dp.split(n, shares)
    assert whole.sum() == n
    assert np.all(np.abs(whole - n * shares) < 1)


def test_split_is_exact_for_whole_shares():
    assert dp.split(100, [0.29, 0.71]).tolist() == [29, 71]
    assert dp.split(300, [0.3, 0.3, 0.4]).tolist() == [90, 90, 120]


@pytest.mark.slow
def test_exact_mean_lies_within_the_error_of_a_simulation():
    counts, prior = [30, 30], [1.0, 1.0]
    rng = np.random.default_rng(20180726)
    for name in ("lapMech", "ilapMech", "geometric", "expMech-smooth", "expMech-delta"):
        law = dp.mechanism(name, epsilon=1.0).law(counts, prior)
        run = dp.simulate(law, counts, prior, rng, runs=20_000)
        assert abs(run.mean - law.mean_distance()) < 6 * run.standard_error
        # The same test sees a noise scale that is wrong by ten percent.
        wrong = dp.mechanism(name, epsilon=1.1).law(counts, prior).mean_distance()
        assert abs(run.mean - wrong) > 6 * run.standard_error


def test_crossover_finds_the_record_where_the_order_changes():
    smooth, laplace = dp.mechanism("expMech-smooth", 1.0), dp.mechanism("lapMech", 1.0)
    found = dp.crossover(smooth, laplace, [0.5, 0.5], [1, 1], range(2, 100, 6))
    n = found.size
    assert n is not None
    before = [m.law(dp.split(n - 1, [0.5, 0.5]), [1, 1]).mean_distance() for m in (smooth, laplace)]
    after = [m.law(dp.split(n, [0.5, 0.5]), [1, 1]).mean_distance() for m in (smooth, laplace)]
    assert before[0] < before[1]
    assert after[0] > after[1]
    assert found.first_winner == "expMech-smooth"
    assert found.changes == ((n, "lapMech"),)


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        (10**16, [1 / 3] * 3),
        (10**12, [0.3333333333] * 3),
        (10**12, [0.3333333334] * 3),
        (10**12, [0.5, 0.5 + 5e-10, 0.0]),
    ],
)
def test_a_split_sums_to_n_where_shares_are_rounded(n, shares):
    parts = dp.split(n, shares)
    assert int(parts.sum()) == n
    assert parts.min() >= 0
    np.testing.assert_allclose(parts / n, shares, atol=2e-9)


@pytest.mark.parametrize(
    ("n", "first"), [(2, 6), (3, 5), (4, 4), (5, 3), (500, 3), (1000, 4), (20_000, 6)]
)
def test_many_categories_are_a_wall_and_few_records_move_it_to_the_right_too(n, first):
    smooth = dp.mechanism("expMech-smooth", 1.0)
    means = [
        smooth.law(dp.split(n, [1 / k] * k), [1.0] * k).mean_distance() for k in (first - 1, first)
    ]
    assert means[0] < 0.5 < means[1]


def test_one_record_meets_no_wall():
    data = [[1] + [0] * (k - 1) for k in (2, 10, 300)]
    smooth, apart = dp.mechanism("expMech-smooth", 1.0), dp.hellinger([2.0, 1.0], [1.0, 2.0])
    means = [smooth.law(x, [1.0] * len(x)).mean_distance() for x in data]
    assert means == sorted(means)
    assert means[-1] < apart < 0.47


@pytest.mark.parametrize(
    ("step", "epsilon", "sensitivity", "expected"),
    [
        (0, 1e300, 1e-300, 0.5),
        (-1, 1e300, 1e-300, 0.5),
        (1, 1e300, 1e-300, 0.0),
        (-2, 1e300, 1e-300, 0.0),
        (2**62, 1e300, 1e-300, 0.0),
        (-(2**62), 1e308, 5e-324, 0.0),
        (0, 1e-300, 1e300, 0.0),
        (0, 1e-300, 1.0, 5e-301),
        (10**6, 1e-300, 1.0, 5e-301),
        (3, 1e-20, 1.0, 5e-21),
        (2**62, 1.0, 2.0, 0.0),
        (0, 5e-324, 1.7e308, 0.0),
        (0, 1.7e308, 5e-324, 0.5),
    ],
)
def test_step_probabilities_at_the_ends_of_the_range(step, epsilon, sensitivity, expected) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = dp.laplace_step_probability([step], epsilon, sensitivity)[0]
    assert found == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 9.0, 11.0])
def test_mechanisms_that_are_the_same_tie(epsilon) -> None:
    # With one record the smooth sensitivity is the global one, whatever gamma is.
    first, second = (dp.mechanism("expMech-smooth", epsilon, gamma=g) for g in (0.5, 0.5000001))
    found = dp.crossover(first, second, [0.5, 0.5], [1, 1], [1])
    assert (found.first_winner, found.changes) == (first.name, ())  # another factor, not a tie
    found = dp.crossover(first, first, [0.5, 0.5], [1, 1], [1, 2, 5])
    assert (found.first_winner, found.changes) == ("tie", ())


class Known:
    """A mechanism of which only the means are known, as they are found."""

    epsilon = 1.0

    def __init__(self, name: str, shift: float, error: float, how: str) -> None:
        self.name, self.shift, self.error, self.how = name, shift, error, how

    def law(self, counts, prior):
        mean = Estimate(0.2 + self.shift / float(np.sum(counts)), self.error, self.how)
        return SimpleNamespace(mean_distance=lambda metric="hellinger": mean)


def test_what_is_drawn_decides_no_crossover() -> None:
    drawn, listed = Known("a", 0.0, 1e-3, "drawn"), Known("b", 0.05, 1e-15, "listed")
    with pytest.raises(ValueError, match="the means were drawn and differ by"):
        dp.crossover(drawn, listed, [0.5, 0.5], [1, 1], [2, 100])
    assert dp.crossover(drawn, listed, [0.5, 0.5], [1, 1], [2, 4]).first_winner == "a"
    sure = Known("a", 0.0, 1e-3, "series")
    assert dp.crossover(sure, listed, [0.5, 0.5], [1, 1], [2, 100]).changes == ((50, "tie"),)


def test_an_order_may_change_by_way_of_a_tie() -> None:
    def order(n: int) -> str:
        return "a" if n < 13 else "tie" if n < 17 else "b"

    assert order_changes([1, 10, 40], order) == [(1, "a"), (13, "tie"), (17, "b")]
    assert order_changes([1, 15, 40], order) == [(1, "a"), (13, "tie"), (17, "b")]
