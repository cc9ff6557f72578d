"""Product laws against lists of every output, with and without an excess of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws import laplace
from dpbayes.laws.laplace import Marginal, ProductLaw, product_grid
from tests.mechanisms.conformance import ALPHA_LIMIT

FORMS = {
    "ilapMech": {}, "lapMech": {}, "draft-laplace": {}, "ilapMech nearest": {"rounding": "nearest"},
}  # fmt: skip


def both(name, epsilon, counts, prior):
    """The law without a list, and the list, from the same marginals."""
    mechanism = dp.mechanism(name.split()[0], epsilon, **FORMS[name])
    x, alpha = np.array(counts), np.array(prior, dtype=float)
    n, k = int(x.sum()), x.size
    marginals = [mechanism.marginal(int(count), n, k) for count in x[:-1]]
    return ProductLaw(alpha, x, tuple(marginals)), product_grid(alpha, x, marginals)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("counts", [(20, 9, 31), (0, 40, 3), (30, 30, 0), (0, 0, 5), (1, 0, 0)])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_three_categories_are_summed_whatever_the_excess(name, counts, epsilon):
    law, exact = both(name, epsilon, counts, [1.0, 0.02, 3.0])
    for answer in ("mean_distance", "mean_square", "variance"):
        found, true = getattr(law, answer)(), getattr(exact, answer)()
        assert found.how == "window"
        assert abs(found - true) <= found.error + true.error
        assert found.error < 1e-11


@pytest.mark.parametrize(
    "counts", [(20, 9, 4, 41), (15, 15, 15, 41), (0, 20, 6, 30), (9, 0, 3, 34)]
)
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_four_categories_without_excess_are_a_series(counts, metric):
    law, exact = both("ilapMech", 3.0, counts, [1.0, 0.02, 3.0, 0.5])
    assert law.probability_of_excess < 1e-12
    for answer in ("mean_distance", "mean_square"):
        found, true = getattr(law, answer)(metric), getattr(exact, answer)(metric)
        assert found.how == "series"
        assert abs(found - true) <= found.error + true.error
        assert found.error < 1e-9


@pytest.mark.parametrize(
    ("counts", "metric"),
    [
        ((20, 9, 4, 0), "hellinger"), ((3, 0, 0, 1), "hellinger"), ((15, 12, 8, 5), "hellinger"),
        ((5, 3, 2, 1), "published"),
    ],
)  # fmt: skip
def test_four_categories_with_excess_are_drawn(counts, metric):
    law, exact = both("ilapMech", 0.7, counts, [1.0, 0.02, 3.0, 0.5])
    sums = exact.outputs[:, :-1].sum(axis=1)
    excess = float(exact.probabilities[sums > law.counts.sum()].sum())
    assert law.probability_of_excess == pytest.approx(excess, abs=1e-12)
    for answer in ("mean_distance", "mean_square"):
        found, true = getattr(law, answer)(metric), getattr(exact, answer)(metric)
        assert found.how == "drawn"
        assert abs(found - true) <= 4.5 * found.error
        assert 0.0 < found.error < 5e-3


def test_a_small_excess_is_halved():
    law, exact = both("ilapMech", 1.0, (20, 9, 4, 50), [1.0] * 4)
    assert 1e-14 < law.probability_of_excess < 1e-9
    found = law.mean_distance()
    assert found.how == "series"
    assert found.error >= 0.5 * law.probability_of_excess
    assert abs(found - exact.mean_distance()) <= found.error


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [((500, 300, 200, 0, 0), 0.5), ((500_000, 200_000, 200_000, 100_000), 0.1)],
)
def test_stated_errors_hold_where_totals_grow_in_proportion(counts, epsilon):
    # Outputs with a little more of everything are far closer than one record is.
    law = dp.mechanism("ilapMech", epsilon).law(counts, [1.0] * len(counts))
    mean = law.mean_distance()
    draws = law.sample(np.random.default_rng(99), 400_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    deviation = distances.std() / np.sqrt(len(draws))
    own = mean.error if mean.how == "drawn" else 0.0
    assert abs(mean - distances.mean()) <= 5.0 * np.hypot(own, deviation)


@pytest.mark.parametrize("n", [10**5, 10**6])
def test_many_records_and_categories_are_not_drawn(n):
    law = dp.mechanism("ilapMech", 0.5).law([n // 20] * 20, [1.0] * 20)
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-11
    draws = law.sample(np.random.default_rng(6), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(mean - distances.mean()) < 5 * distances.std() / 200


def test_wide_noise_is_drawn_where_it_fits_no_table(monkeypatch):
    law, exact = both("ilapMech", 3.0, (20, 9, 4, 41), [1.0] * 4)
    monkeypatch.setattr(laplace, "LARGEST_TABLE", 50)
    found = law.mean_distance()
    assert found.how == "drawn"
    assert abs(found - exact.mean_distance()) < 4.5 * found.error


def test_probabilities_are_those_of_the_list():
    law, exact = both("ilapMech", 0.7, (3, 0, 4), [1.0] * 3)
    some = exact.outputs[:: max(1, len(exact.outputs) // 40)]
    np.testing.assert_allclose(law.probability(some), exact.probability(some), rtol=1e-12)
    for row in some:
        one = law.probability(row)
        assert abs(one - float(exact.probability(row))) <= one.error + 1e-15
    assert law.probability([3, 0, 5]) == 0.0
    assert law.probability([8, 0, 0]) == 0.0


@given(st.integers(0, 99))
@settings(max_examples=5, deadline=None)
def test_draws_have_the_law_and_not_one_a_tenth_wider(seed):
    law, exact = both("ilapMech", 1.0, (4, 1, 3), [1.0] * 3)
    size = 30_000
    rows, seen = np.unique(
        law.sample(np.random.default_rng(seed), size), axis=0, return_counts=True
    )

    def statistic(other):
        expected = size * np.asarray(other.probability(rows))
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert (
        statistic(exact) < ALPHA_LIMIT < statistic(both("ilapMech", 0.9, (4, 1, 3), [1.0] * 3)[1])
    )


def test_bad_input():
    with pytest.raises(ValueError, match="must sum to 1"):
        Marginal(0, np.log([0.5, 0.4]))
    with pytest.raises(ValueError, match="must be a vector"):
        Marginal(0, np.zeros((1, 1)))
    sure = Marginal(3, np.zeros(1))
    with pytest.raises(ValueError, match="marginals must be 2"):
        ProductLaw(np.ones(3), np.array([3, 0, 1]), (sure,))
    with pytest.raises(ValueError, match="within 0"):
        ProductLaw(np.ones(2), np.array([1, 1]), (sure,))
