"""Steps, splits, means, crossovers and plans against the papers' tables, draws and
enumeration.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpbayes as dp
from dpbayes.accuracy import _bound, count_noise, order_changes, told_apart
from dpbayes.laws.numbers import Estimate
from dpbayes.laws.sum_zero import LatticeNoise

# D, Tables 1 and 2, at epsilon = 1; the paper cuts digits off instead of rounding.
TABLES = {
    2.0: (
        [0.19673467014, 0.11932560927, 0.07237464051],
        [0.31606027941, 0.19170024978],
    ),
    1.0: ([0.31606027941, 0.11627207896, 0.04277410743], [0.43233235838, 0.1590461864]),
}


@pytest.mark.parametrize("sensitivity", TABLES)
def test_tables_one_and_two(sensitivity):
    up = dp.laplace_step_probability([0, 1, 2], 1.0, sensitivity)
    down = dp.laplace_step_probability([-1, -2], 1.0, sensitivity)
    one, two = TABLES[sensitivity]
    assert np.floor(up * 1e11) / 1e11 == pytest.approx(one, abs=1e-15)
    assert up[1:] + down == pytest.approx(two, abs=1e-11)


@pytest.mark.slow
@given(st.integers(-200, 200), st.floats(0.05, 10), st.floats(0.5, 5))
def test_step_probability_is_an_interval_of_the_laplace_law(t, epsilon, sensitivity):
    law = stats.laplace(scale=sensitivity / epsilon)
    # On the far side of the mode the difference of survival functions keeps its digits.
    expected = law.cdf(t + 1) - law.cdf(t) if t < 0 else law.sf(t) - law.sf(t + 1)
    found = float(dp.laplace_step_probability(t, epsilon, sensitivity))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_step_probabilities_at_the_ends_of_the_range() -> None:
    with np.errstate(all="raise", under="ignore"):
        narrow = dp.laplace_step_probability([0, -1, 1, -2, 2**62], 1e300, 1e-300)
        wide = dp.laplace_step_probability([0, 3, 2**62], 1e-20, 1.0)
    assert narrow.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]
    assert wide[:2] == pytest.approx([5e-21] * 2, rel=1e-15)
    assert wide[2] == pytest.approx(5e-21 * np.exp(-(2**62) * 1e-20))


@pytest.mark.slow
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any),
)
def test_split_keeps_every_record(n, weights):
    shares = np.array(weights) / sum(weights)
    whole = dp.split(n, shares)
    assert whole.sum() == n
    assert np.all(np.abs(whole - n * shares) < 1)


def test_split_is_exact_for_whole_shares_and_sums_to_n_for_rounded_ones():
    assert dp.split(100, [0.29, 0.71]).tolist() == [29, 71]
    assert dp.split(300, [0.3, 0.3, 0.4]).tolist() == [90, 90, 120]
    # Two records are left, for the fractions .9 and .7, not .4.
    assert dp.split(10, [0.27, 0.34, 0.39]).tolist() == [3, 3, 4]
    assert dp.split(10, [0.39, 0.34, 0.27]).tolist() == [4, 3, 3]
    assert dp.split(11, [0.12, 0.33, 0.55]).tolist() == [1, 4, 6]
    for shares in (
        [1 / 3] * 3,
        [0.3333333333] * 3,
        [0.3333333334] * 3,
        [0.5, 0.5 + 5e-10, 0.0],
    ):
        for n in (10**12, 10**16):
            parts = dp.split(n, shares)
            assert (int(parts.sum()), parts.min() >= 0) == (n, True)
            np.testing.assert_allclose(parts / n, shares, atol=2e-9)


@pytest.mark.slow
def test_exact_mean_lies_within_the_error_of_a_simulation():
    counts, prior = [30, 30], [1.0, 1.0]
    rng = np.random.default_rng(20180726)
    for name in ("lapMech", "ilapMech", "geometric", "expMech-smooth", "expMech-delta"):
        law = dp.mechanism(name, epsilon=1.0).law(counts, prior)
        run = law.simulate(rng, runs=20_000)
        assert abs(run.mean - law.mean_distance()) < 6 * run.standard_error
        # The same test sees a noise scale that is wrong by ten percent.
        wrong = dp.mechanism(name, epsilon=1.1).law(counts, prior).mean_distance()
        assert abs(run.mean - wrong) > 6 * run.standard_error


def test_crossover_finds_the_record_where_the_order_changes():
    smooth, laplace = dp.mechanism("expMech-smooth", 1.0), dp.mechanism("lapMech", 1.0)
    found = dp.crossover(smooth, laplace, [0.5, 0.5], [1, 1], range(2, 100, 6))
    n = found.size
    assert (found.first_winner, found.changes) == ("expMech-smooth", ((n, "lapMech"),))
    means = [
        dp.mean_distances(m, [0.5, 0.5], [1, 1], [n - 1, n]) for m in (smooth, laplace)
    ]
    assert np.sign(means[0] - means[1]).tolist() == [-1, 1]


def test_mechanisms_of_one_name_are_told_apart_by_what_differs():
    made = [dp.mechanism("expMech-smooth", 1.0, gamma=gamma) for gamma in (0.05, 1.0)]
    sizes = [2, 5, 10, 50, 200, 1000]
    found = dp.crossover(*made, [0.5, 0.5], [1, 1], sizes)
    small, large = (f"expMech-smooth, gamma = {gamma}" for gamma in (0.05, 1.0))
    assert found == dp.Crossover(large, ((19, small), (632, large))) or found == (
        dp.Crossover(small, ((19, large), (632, small)))
    )
    for first, second, words in (
        (("lattice", {}), ("lattice", {"remap": True}), "lattice, remap = False"),
        (("ilapMech", {}), ("ilapMech", {"rounding": "nearest"}), "rounding = 'floor'"),
        (("geometric", {}), ("geometric", {}), "geometric, the first"),
    ):
        pair = [dp.mechanism(name, 1.0, **given) for name, given in (first, second)]
        assert words in told_apart(*pair)[0]
        assert len(set(told_apart(*pair))) == 2


@pytest.mark.parametrize("epsilon", [0.3, 9.0])
def test_mechanisms_that_are_the_same_tie(epsilon) -> None:
    # With one record the smooth sensitivity is the global one, whatever gamma is.
    first, second = (
        dp.mechanism("expMech-smooth", epsilon, gamma=g) for g in (0.5, 0.5000001)
    )
    found = dp.crossover(first, second, [0.5, 0.5], [1, 1], [1])
    called = told_apart(first, second)[0]  # another factor, not a tie
    assert (found.first_winner, found.changes) == (called, ())
    found = dp.crossover(first, first, [0.5, 0.5], [1, 1], [1, 2, 5])
    assert (found.first_winner, found.changes, found.size) == ("tie", (), None)


def known(name: str, shift: float, error: float, how: str) -> Any:
    """A mechanism of which only the means are known, as they are found."""

    def law(counts, prior):
        value = 0.2 + shift / float(np.sum(counts))
        mean = (
            Estimate.drawn(value, error)
            if how == "drawn"
            else Estimate(value, error, how)
        )
        return SimpleNamespace(mean_distance=lambda metric="hellinger": mean)

    return SimpleNamespace(name=name, epsilon=1.0, law=law)


def test_what_is_drawn_decides_no_crossover() -> None:
    drawn, listed = known("a", 0.0, 1e-3, "drawn"), known("b", 0.05, 1e-15, "listed")
    with pytest.raises(ValueError, match="the means were drawn and differ by"):
        dp.crossover(drawn, listed, [0.5, 0.5], [1, 1], [2, 100])
    assert dp.crossover(drawn, listed, [0.5, 0.5], [1, 1], [2, 4]).first_winner == "a"
    sure = known("a", 0.0, 1e-3, "series")
    assert dp.crossover(sure, listed, [0.5, 0.5], [1, 1], [2, 100]).changes == (
        (50, "tie"),
    )


def test_an_order_may_change_by_way_of_a_tie() -> None:
    def order(n: int) -> str:
        return "a" if n < 13 else "tie" if n < 17 else "b"

    for middle in (10, 15):
        assert order_changes([1, middle, 40], order) == [
            (1, "a"),
            (13, "tie"),
            (17, "b"),
        ]


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.7), (3, 1.0), (4, 2.5)])
def test_the_noise_of_a_plan_is_that_of_an_enumeration(k: int, epsilon: float) -> None:
    points = LatticeNoise(k, 1.0).points(int(36 / epsilon))
    mass = np.exp(-0.5 * epsilon * np.abs(points).sum(axis=1))
    mass /= mass.sum()
    second, tails, at_zero = count_noise(epsilon, k)
    assert second == pytest.approx(mass @ points[:, 0] ** 2, rel=1e-9)
    assert at_zero == pytest.approx(mass.max(), rel=1e-9)
    for m in (0, 1, 5):
        assert tails[m] == pytest.approx(mass[points[:, 0] < -m].sum(), rel=1e-6)


def distance_bound(epsilon: float, counts: list[int], prior: list[float]) -> float:
    """Return the bound that `records_needed` searches with."""
    noise = count_noise(epsilon, len(counts))
    return _bound(noise, np.array(counts, dtype=np.float64), np.array(prior))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 14), min_size=2, max_size=3).filter(any),
    st.floats(0.2, 6.0),
    st.floats(0.3, 5.0),
)
def test_the_bound_is_above_the_enumerated_mean(
    counts: list[int], epsilon: float, prior: float
) -> None:
    alpha = [prior] * len(counts)
    mean = dp.mechanism("lattice", epsilon).law(counts, alpha).mean_distance()
    assert mean <= distance_bound(epsilon, counts, alpha) + 1e-12


def test_the_bound_is_sharp_enough_to_reject_noise_that_is_twice_as_wide() -> None:
    x, prior = [2500] * 4, [1.0] * 4
    wide = dp.mechanism("lattice", 0.5).law(x, prior).mean_distance()
    assert wide > distance_bound(1.0, x, prior)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.1, 0.9]])
def test_the_number_is_enough_for_it_and_beyond(shares: list[float]) -> None:
    mechanism, flat = dp.mechanism("lattice", 0.9), [1.0] * len(shares)
    plan = dp.records_needed(mechanism, shares, flat, 0.12)
    enough = [plan.records, plan.records + 1, plan.records + 7, 2 * plan.records]
    # What bisection finds is a record less than enough.
    sizes = [plan.exact - 1, plan.exact, *enough]
    means = dp.mean_distances(mechanism, shares, flat, sizes)
    assert means[0] > 0.12 >= max(means[1:])
    assert means[2] == plan.mean_distance <= plan.bound <= 0.12
    assert plan.exact <= plan.records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"mechanism": dp.mechanism("lattice", 1e-6)},
            "epsilon must be at least 4.2e-05 for k = 2",
        ),
        (
            {"mechanism": dp.mechanism("lattice", 5e-324)},
            "epsilon must be at least 4.2e-05 for k = 2",
        ),
        (
            {"mechanism": dp.mechanism("lattice", 1.0, remap=True)},
            "mechanism must be lattice noise without a remap",
        ),
        ({"error": 1e-9}, "error must be larger: more than 4503599627370496 records"),
    ],
)
def test_refusals_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dp.records_needed(
            **{
                "mechanism": dp.mechanism("lattice", 1.0),
                "proportions": [0.5, 0.5],
                "prior": [1, 1],
                "error": 0.1,
            }
            | arguments
        )


def test_one_record_may_be_enough_and_then_none_is_as_well():
    # No record means a release of the prior, which is the posterior: the distance is 0.
    plan = dp.records_needed(dp.mechanism("lattice", 2.0), [0.5, 0.5], [1, 1], 0.9)
    assert (plan.exact, plan._mean(0)) == (1, 0.0)


def test_a_plan_refuses_to_count_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dp.records_needed(
        dp.mechanism("lattice", 0.9), [0.2, 0.3, 0.5], [1] * 3, 0.12
    )
    drawn = Estimate.drawn(0.1205, 4e-4)
    monkeypatch.setattr(type(plan), "_mean", lambda self, n: drawn)
    with pytest.raises(ValueError, match=f"{plan.records} records are enough by proof"):
        _ = plan.exact
