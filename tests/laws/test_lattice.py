"""Sum-zero noise, its projection, and the laws of both, against every noise vector."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import dpbayes as dp
from dpbayes.laws import convolution
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.lattice import SumZeroLaw, listed_law, log_mass
from dpbayes.laws.sum_zero import LatticeNoise, project
from tests.laws.drawn import ALPHA_LIMIT, misfit, worst_error

ROOT = Path(__file__).parents[2]

NOISES = [
    LatticeNoise(3, 1.0),
    LatticeNoise(3, 0.3),
    GaussianNoise(3, 3.0),
    GaussianNoise(3, 0.4),
]
WIDER = [
    LatticeNoise(3, 0.9),
    LatticeNoise(3, 0.27),
    GaussianNoise(3, 3.6),
    GaussianNoise(3, 0.48),
]


def vectors(k, top):
    """All whole vectors with sum 0 whose first entries are at most `top`, one by
    one."""
    rows = np.array(list(product(range(-top, top + 1), repeat=k - 1)))
    return np.column_stack((rows, -rows.sum(axis=1)))


def enumerated(x, noise, reach, projection):
    """Probability of each output, by listing noise vectors up to `reach` one by one."""
    found = Counter()
    for z in vectors(x.size, reach):
        released = project((x + z)[None, :], projection)[0]
        found[tuple(released.tolist())] += float(np.exp(-noise.fall(z).sum()))
    total = sum(found.values())
    return {row: weight / total for row, weight in found.items()}


# ---- noise
@pytest.mark.parametrize(("k", "top"), [(2, 9), (3, 6), (4, 4), (5, 3)])
def test_points_are_all_and_counted(k, top):
    every, noise = vectors(k, top), LatticeNoise(k, 1.0)
    expected = every[np.maximum(every, 0).sum(axis=1) <= top]
    found = noise.points(top)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))
    assert found.tolist() == sorted(found.tolist())
    assert noise.number_of_points(top) == len(expected)
    assert noise.number_of_points(0) == 1.0
    assert LatticeNoise(50, 1.0).number_of_points(10**6) > 1e200


@pytest.mark.parametrize(
    ("k", "epsilon"), [(2, 1.3), (3, 2.0), (4, 3.0), (6, 0.1), (50, 0.5)]
)
def test_normaliser_and_tail_against_the_sum_over_sizes(k, epsilon):
    # u - v with u, v compositions of m: the sum over m of C(m+k-1, k-1)^2 q^m, times (1
    # - q)^k.
    noise = LatticeNoise(k, epsilon)
    with mp.workdps(40):
        q = mp.exp(-mp.mpf(epsilon))
        total = mp.hyp2f1(k, k, 1, q) * (1 - q) ** k
        assert noise.log_normaliser == pytest.approx(float(mp.log(total)), abs=1e-12)
    if k <= 4:
        points = vectors(k, 12)
        points = points[np.maximum(points, 0).sum(axis=1) <= 12]
        tail = 1.0 - np.exp(log_mass(noise, points)).sum()
        assert noise.outside(12) == pytest.approx(tail, abs=1e-13)
    m = noise.reach(1e-9)
    assert noise.outside(m) <= 1e-9 < noise.outside(m - 1)


@pytest.mark.parametrize(
    ("noise", "wider"),
    [
        (LatticeNoise(5, 1.5), LatticeNoise(5, 1.35)),
        (LatticeNoise(2, 1.0), LatticeNoise(2, 0.9)),
        *zip(NOISES, WIDER, strict=True),
    ],
)
def test_draws_have_the_law_and_not_one_a_tenth_wider(noise, wider):
    drawn = noise.draw(np.random.default_rng(5), 60_000)
    assert not drawn.sum(axis=1).any()
    right, wrong = (
        misfit(drawn, lambda z, n=n: np.exp(log_mass(n, z))) for n in (noise, wider)
    )
    assert right < ALPHA_LIMIT < wrong


def test_no_noise_and_more_than_a_table_holds():
    assert not LatticeNoise(4, 1e6).draw(np.random.default_rng(1), 20).any()
    with pytest.raises(ValueError, match="needs a table of"):
        LatticeNoise(3, 1e-9).draw(np.random.default_rng(1), 5)


# ---- projection
def paid_in_rounds(y):
    """The rule of `def-projection`, one record at a time: the largest pay first, then
    the earlier.

    Each round takes one record from every count that is left, until nothing is owed.
    """
    result, owed = np.maximum(y, 0), int(np.maximum(-y, 0).sum())
    order = sorted(range(y.size), key=lambda i: (-y[i], i))
    while owed:
        for i in order:
            if owed and result[i] > 0:
                result[i] -= 1
                owed -= 1
    return result


@given(
    st.lists(st.integers(-4, 6), min_size=2, max_size=4), st.sampled_from(["l1", "l2"])
)
def test_projection_is_a_nearest_histogram(row, how):
    noisy = np.array([row])
    noisy[0, 0] += max(0, -int(noisy.sum()))
    found = project(noisy, how)[0]
    assert found.sum() == noisy.sum()
    assert found.min() >= 0
    steps = dp.compositions(int(noisy.sum()), len(row)) - noisy
    assert np.abs(found - noisy[0]).sum() == np.abs(steps).sum(axis=1).min()
    if how == "l2":
        assert ((found - noisy[0]) ** 2).sum() == (steps**2).sum(axis=1).min()
        assert found.tolist() == paid_in_rounds(noisy[0]).tolist()


# ---- listed laws
@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize("counts", [(0, 1, 3), (2, 2, 0)])
@pytest.mark.parametrize("noise", [LatticeNoise(3, 1.5), GaussianNoise(3, 1.3)])
def test_a_list_is_the_sum_over_every_noise_vector(counts, noise, projection):
    x = np.array(counts)
    law = listed_law(np.ones(3), x, noise, projection)
    expected = enumerated(x, noise, 26, projection)
    listed = dict(zip(map(tuple, law.outputs.tolist()), law.probabilities, strict=True))
    assert set(expected) <= set(listed)
    for row, mass in listed.items():
        assert mass == pytest.approx(expected.get(row, 0.0), rel=1e-9, abs=1e-16)
    assert law.mass_outside < 1e-13


@pytest.mark.parametrize("counts", [(60, 1, 0), (0, 0, 400)])
def test_far_outputs_keep_their_relative_accuracy(counts):
    # Below what floats hold; the ratio of neighbouring laws is what an audit asks for.
    noise, x = LatticeNoise(3, 5.0), np.array(counts)
    neighbour = x + np.array([1, 0, -1]) if x[2] else x + np.array([-1, 0, 1])
    one, other = (listed_law(np.ones(3), y, noise, "l2") for y in (x, neighbour))
    ratio = np.abs(one.log_probabilities - other.log_probabilities)
    assert np.isfinite(ratio).all()
    assert 4.9 < ratio.max() <= 5.0 + 1e-9


def test_a_window_of_many_candidates():
    x, noise = np.array([1200, 3, 900]), LatticeNoise(3, 1.0)
    law = listed_law(np.ones(3), x, noise, "l2")
    assert len(law.outputs) < 10_000
    assert law.probabilities.sum() == pytest.approx(1.0, abs=2e-13)
    free = SumZeroLaw(np.ones(3), x, noise)
    row = x + np.array([4, -2, -2])
    assert law.probability(row) == pytest.approx(
        float(free.probability(row)), rel=1e-12
    )
    draws = free.rvs(100_000, np.random.default_rng(1))
    wanted = law.probabilities[law.outputs[:, 1] == 0].sum()
    assert abs((draws[:, 1] == 0).mean() - wanted) < 6 * np.sqrt(wanted / 100_000)


@pytest.mark.parametrize(
    ("n", "noise"),
    [
        (50, GaussianNoise(8, 100.0)),
        (50, LatticeNoise(8, 0.1)),
        (10, LatticeNoise(5, 0.05)),
    ],
)
def test_what_is_too_long_is_not_listed(n, noise):
    assert listed_law(np.ones(noise.k), np.full(noise.k, n), noise, "l2") is None


def test_no_records_and_two_categories():
    law = listed_law(
        np.ones(3), np.zeros(3, dtype=np.int64), LatticeNoise(3, 1.0), "l2"
    )
    assert law.probabilities.tolist() == [1.0]
    for noise in (LatticeNoise(2, 0.7), GaussianNoise(2, 2.0)):
        law = listed_law(np.ones(2), np.array([3, 5]), noise, "l2")
        z = np.arange(-200, 201)
        weights = np.exp(-2.0 * noise.fall(z))
        ends = np.bincount(np.clip(3 + z, 0, 8), weights / weights.sum())
        np.testing.assert_allclose(law.probabilities, ends, rtol=1e-12)


# ---- laws without a list
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_a_mean_that_nothing_clamps_is_that_of_the_list(noise, metric):
    x, prior = np.array([330, 250, 420]), np.array([1.0, 0.3, 2.0])
    exact, law = listed_law(prior, x, noise, "l2"), SumZeroLaw(prior, x, noise)
    assert law.clamped < 1e-12
    assert worst_error(law, exact, "series", metric) < 1e-9


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(
    ("counts", "noise", "how"),
    [
        ([4, 20, 30], LatticeNoise(3, 1.0), "drawn"),
        ([9, 20, 30], GaussianNoise(3, 9.0), "drawn"),
        ([6, 6, 7, 50], LatticeNoise(4, 1.5), "drawn"),
        ([0, 3, 9], LatticeNoise(3, 0.3), "drawn"),
        ([23, 40, 60], LatticeNoise(3, 1.0), "series"),
        ([5] * 3, GaussianNoise(3, 0.4), "series"),
    ],
)
def test_what_is_clamped_is_drawn_and_a_little_is_halved(
    counts, noise, how, projection
):
    x = np.array(counts)
    prior = np.linspace(0.02, 2.0, x.size)
    exact, law = (
        listed_law(prior, x, noise, projection),
        SumZeroLaw(prior, x, noise, projection),
    )
    shifts = noise.points(noise.reach(1e-12))
    clamped = np.exp(log_mass(noise, shifts)) @ (x + shifts < 0).any(axis=1)
    assert law.clamped == pytest.approx(clamped, abs=1e-11)
    assert (law.clamped > 1e-9) == (how == "drawn")
    most = 24e-3 * law.mean_distance() if how == "drawn" else 1e-9
    assert worst_error(law, exact, how) < most
    assert how == "drawn" or 0.5 * law.clamped <= law.mean_distance().error


@pytest.mark.parametrize(
    ("counts", "epsilon", "exact"),
    [
        ([125] * 8, 0.1, 0.9477662524578),
        ([40] * 5, 0.25, 0.7095652182342),
    ],  # by sums over levels
)
def test_what_no_draw_shows_is_in_the_error(counts, epsilon, exact):
    mean = (
        dp.mechanism("lattice", epsilon)
        .law(counts, [1.0] * len(counts))
        .mean_distance()
    )
    assert mean.how == "drawn"
    assert 0.0 < mean.standard_error < 1e-4
    assert abs(mean - exact) <= mean.error


def test_noise_that_fits_no_table_is_drawn(monkeypatch):
    x, noise = np.array([330, 250, 420]), LatticeNoise(3, 0.3)
    noise.draw(np.random.default_rng(1), 1)  # its own table is kept
    monkeypatch.setattr(convolution, "LARGEST_TABLE", 100)
    worst_error(
        SumZeroLaw(np.ones(3), x, noise),
        listed_law(np.ones(3), x, noise, "l2"),
        "drawn",
    )


def test_one_probability_is_exact_where_nothing_is_clamped_and_refused_elsewhere():
    prior, x, noise = np.ones(3), np.array([25, 18, 30]), LatticeNoise(3, 1.0)
    law, exact = SumZeroLaw(prior, x, noise), listed_law(prior, x, noise, "l2")
    for row in ([25, 18, 30], [26, 17, 30], [24, 20, 29]):
        assert law.probability(row) == pytest.approx(
            float(exact.probability(row)), rel=1e-12
        )
    assert law.probability([25, 18, 31]) == 0.0
    with pytest.raises(ValueError, match="counts_out must be positive at this size"):
        law.probability([0, 43, 30])


@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(("noise", "wider"), list(zip(NOISES, WIDER, strict=True))[::2])
def test_samples_have_the_law(noise, wider, projection):
    prior, x = np.ones(3), np.array([4, 0, 6])
    drawn = SumZeroLaw(prior, x, noise, projection).rvs(
        30_000, np.random.default_rng(9)
    )
    laws = [listed_law(prior, x, n, projection).probability for n in (noise, wider)]
    assert misfit(drawn, laws[0]) < ALPHA_LIMIT < misfit(drawn, laws[1])


# ---- what lands from outside, for more categories than noise can be listed
@pytest.mark.parametrize("projection", ["l1", "l2"])
@pytest.mark.parametrize(
    ("counts", "noise"),
    [
        ((1, 0, 0, 0), LatticeNoise(4, 2.5)), ((0, 5, 0, 1), LatticeNoise(4, 2.5)),
        ((2, 0, 1, 1), GaussianNoise(4, 0.8)), ((1, 1, 0, 0, 0), LatticeNoise(5, 4.0)),
    ],
)  # fmt: skip
def test_what_lands_is_the_sum_over_every_noise_vector(counts, noise, projection):
    x, k = np.array(counts), noise.k
    law = listed_law(np.ones(k), x, noise, projection)
    assert law.mass_outside < 1e-13
    expected = enumerated(x, noise, 9 if k == 4 else 5, projection)
    for row, mass in zip(law.outputs.tolist(), law.probabilities, strict=True):
        assert mass == pytest.approx(expected.get(tuple(row), 0.0), rel=1e-3, abs=2e-9)


@pytest.mark.parametrize(
    ("k", "n", "epsilon"), [(5, 1, 3.0), (10, 3, 1.0), (7, 2, 2.0)]
)
def test_outputs_are_counted_and_not_points_of_noise(k, n, epsilon):
    x = np.zeros(k, dtype=np.int64)
    x[1], x[3] = n - 1, 1
    law = dp.mechanism("lattice", epsilon).law(x, [1.0] * k)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-13)
    assert law.mean_distance().how == "listed"
    drawn = project(x + LatticeNoise(k, epsilon).draw(np.random.default_rng(3), 40_000))
    right, wrong = (
        misfit(drawn, dp.mechanism("lattice", e).law(x, [1.0] * k).probability)
        for e in (epsilon, 0.85 * epsilon)
    )
    assert right < ALPHA_LIMIT < wrong


def test_neighbouring_laws_differ_by_no_more_than_epsilon_however_far_out():
    # Far corners have probabilities of e^-300; a ratio is right only if each is.
    for noise in (LatticeNoise(4, 6.0), LatticeNoise(4, 0.2)):
        x, y = np.array([0, 0, 1, 24]), np.array([0, 0, 0, 25])
        one, other = (listed_law(np.ones(4), z, noise, "l2") for z in (x, y))
        ratio = np.abs(one.log_probabilities - other.log_probabilities)
        assert ratio.max() == pytest.approx(noise.epsilon, abs=1e-12)


def test_what_the_order_of_the_categories_does_to_one_record_is_what_the_page_says():
    made = dp.mechanism("lattice", 4.0)
    first, *_, last = (
        made.law(x, [1.0] * 10).mean_distance() for x in np.eye(10, dtype=int)
    )
    page = (ROOT / "book" / "reference" / "noise.md").read_text(encoding="utf-8")
    said = f"is {first:.3f} if its category comes first and {last:.3f} if it comes last"
    assert said in page
    assert f"{first:.3f} if its category is the first, {last:.3f} if" in " ".join(
        project.__doc__.split()
    )
