from __future__ import annotations

import csv
import itertools
from importlib import resources

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, betaincc

import dpbayes as dp
from dpbayes import posteriors
from dpbayes.study import datasets


def test_posterior_adds_counts_to_the_prior_and_cannot_be_changed():
    post = dp.posterior([3, 0, 5], [0.5, 1, 2])
    assert post.concentration.tolist() == [3.5, 1.0, 7.0]
    assert (post.k, post.total) == (3, 11.5)
    assert post.mean == pytest.approx(np.array([3.5, 1.0, 7.0]) / 11.5)
    with pytest.raises(ValueError, match="read-only"):
        post.concentration[0] = 2.0
    with pytest.raises(AttributeError):
        post.concentration = np.ones(2)


@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 2), (5, 2), (4, 3), (3, 4), (2, 6)])
def test_compositions_are_all_histograms_in_order(n, k):
    rows = [row for row in itertools.product(range(n + 1), repeat=k) if sum(row) == n]
    assert dp.compositions(n, k).tolist() == [list(row) for row in rows]
    assert dp.number_of_candidates(n, k) == len(rows)
    assert posteriors.row_of(dp.compositions(n, k)).tolist() == list(range(len(rows)))


def test_neighbours_move_one_record():
    rows = dp.neighbours([2, 0, 1])
    assert sorted(map(tuple, rows.tolist())) == [
        (1, 0, 2),
        (1, 1, 1),
        (2, 1, 0),
        (3, 0, 0),
    ]


def test_enumeration_too_large_says_how_large():
    with pytest.raises(
        ValueError,
        match=(
            "have 166766685001 histograms, more than 12500000; at k = 4 a list takes n"
            " up to 419"
        ),
    ):
        dp.compositions(10_000, 4)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("prior", [1e-9, 1e-6, 1e-3, 0.02, 1.0, 20.0])
@pytest.mark.parametrize("counts", [[6, 0], [3, 3], [1, 30], [0, 0]])
def test_an_interval_holds_its_level_whatever_the_prior(
    counts: list[int], prior: float, level: float
) -> None:
    a, b = (mpmath.mpf(prior) + c for c in counts)
    low, high = dp.posterior(counts, [prior, prior]).interval(level)[0].tolist()
    below = mpmath.betainc(a, b, 0, mpmath.mpf(low), regularized=True)
    reached = mpmath.betainc(a, b, 0, mpmath.mpf(high), regularized=True)
    assert 0.0 <= low < high <= 1.0
    assert below <= (1.0 - level) / 2.0 + 1e-9
    assert reached >= (1.0 + level) / 2.0 - 1e-9


@pytest.mark.parametrize(
    "parameters", [[3, 5], [6, 4], [50, 1e-9], [0.3, 0.2], [1e5, 3], [2, 700]]
)
@pytest.mark.parametrize("level", [0.95, 1 - 2**-50, 1 - 2**-53, 2**-53])
def test_both_tails_of_an_interval_hold_what_is_left(parameters, level) -> None:
    ends = dp.Posterior(parameters).interval(level)
    tail = (1.0 - level) / 2
    for (a, b), (low, high) in zip((parameters, parameters[::-1]), ends, strict=True):
        outside = [np.nextafter(low, 0.0), np.nextafter(high, 1.0)]
        inside = [np.nextafter(low, 1.0), np.nextafter(high, 0.0)]
        reached = [[betainc(a, b, x), betaincc(a, b, y)] for x, y in (outside, inside)]
        assert np.all(np.array(reached[0]) <= tail * (1 + 1e-9))
        assert np.all(np.array(reached[1]) >= tail * (1 - 1e-9))
    # The two rows are mirror images of each other.
    assert np.allclose(ends[0], 1.0 - ends[1][::-1], rtol=0, atol=3e-16)


@pytest.mark.parametrize("size", [5e-324, 1e-308, 1e-200, 1e-40, 1e-20, 1e-12, 1e-6])
def test_tiny_parameters_have_the_interval_of_a_coin(size) -> None:
    assert dp.Posterior([size, size]).interval().tolist() == [[0.0, 1.0], [0.0, 1.0]]
    rows = dp.Posterior([size, 3.0]).interval().tolist()
    assert rows == [[0.0, 5e-324], [1.0 - 2.0**-53, 1.0]]


SIZES = {
    "self-rated-health": 20_190,
    "cryotherapy": 90,
    "immunotherapy": 90,
    "badges": 294,
    "bike-days": 731,
    "cryotherapy-types": 90,
    "immunotherapy-types": 90,
    "bike-weather": 731,
}


def test_shipped_counts_are_complete():
    for data in map(datasets.load, SIZES):
        assert data.n == SIZES[data.name]
        assert (
            len(set(data.categories)) == len(data.categories) == data.counts.size >= 2
        )
        assert data.counts.min() > 0


def test_health_counts_agree_with_the_cube_of_the_same_survey():
    data = datasets.load("self-rated-health")
    source = resources.files("dpbayes").joinpath("data/rand-hie-cells.csv")
    rows = list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
    for category, count in zip(data.categories, data.counts, strict=True):
        assert (
            sum(int(row["records"]) for row in rows if row["health"] == category)
            == count
        )
