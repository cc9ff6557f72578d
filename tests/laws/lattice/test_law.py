"""The lattice law without a list against the list, and against draws."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp

import dpbayes as dp
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.law import LatticeLaw
from dpbayes.laws.lattice.listed import _keyed, listed_law
from dpbayes.laws.lattice.projection import project


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [
        ((60, 80, 100), (1.0, 1.0, 1.0), 1.0),
        ((150, 150), (1.0, 1.0), 0.5),
        ((40, 40, 40, 40), (0.5, 1.0, 2.0, 3.0), 2.0),
        ((10**6, 10**6, 10**6), (1.0, 1.0, 1.0), 1.0),
        ((11019, 7309, 1560, 302), (1.0, 1.0, 1.0, 1.0), 1.0),
    ],
)
@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_mean_by_series_against_listing(counts, prior, epsilon, metric):
    x, alpha = np.array(counts), np.array(prior)
    listed = listed_law(alpha, x, epsilon, "l2")
    estimate = LatticeLaw(alpha, x, epsilon, "l2").mean_distance(metric)
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    assert estimate.value == pytest.approx(listed.mean_distance(metric), abs=2 * estimate.error)


def test_clamped_mass_is_exact_and_covers_the_error():
    x, alpha = np.array([6, 40, 40]), np.ones(3)
    law = LatticeLaw(alpha, x, 2.0, "l2")
    shifts = noise.points(3, 60)
    weights = np.exp(-np.abs(shifts).sum(axis=1))
    negative = (x + shifts < 0).any(axis=1)
    assert law.clamped == pytest.approx(weights[negative].sum() / weights.sum(), rel=1e-8)
    estimate = law.mean_distance()
    exact = listed_law(alpha, x, 2.0, "l2").mean_distance()
    assert estimate.how == "quadrature"
    assert abs(estimate.value - exact) <= estimate.error
    nearest = LatticeLaw(alpha, x, 2.0, "l1").mean_distance()
    assert nearest.how == "series"
    assert abs(nearest - listed_law(alpha, x, 2.0, "l1").mean_distance()) <= nearest.error


def test_drawn_mean_keeps_its_stated_error():
    x, alpha = np.array([0, 1, 2]), np.ones(3)
    estimate = LatticeLaw(alpha, x, 0.5, "l1").mean_distance()
    assert estimate.how == "draws"
    exact = listed_law(alpha, x, 0.5, "l1")
    assert abs(estimate.value - exact.mean_distance()) <= estimate.error
    q = LatticeLaw(alpha, x, 0.5, "l1").quantile(0.5)
    assert exact.quantile(0.494) <= q <= exact.quantile(0.506)


@pytest.mark.parametrize("far", [1, 1 << 40])
def test_rows_are_found_by_their_keys_and_back(far):
    rows = np.random.default_rng(3).integers(0, 5, size=(400, 3)) * far - 2
    keys, back = _keyed(rows)
    np.testing.assert_array_equal(back(keys), rows)
    order = np.argsort(keys) if keys.ndim == 1 else np.lexsort(keys.T[::-1])
    assert (keys.ndim == 1) == (far == 1)
    np.testing.assert_array_equal(np.unique(rows[order], axis=0), np.unique(rows, axis=0))
    assert all(a <= b for a, b in pairwise(rows[order].tolist()))


@pytest.mark.parametrize(("name", "k"), [("lattice", 700), ("discrete-gaussian", 700)])
def test_the_mean_over_hundreds_of_categories_is_a_number_and_that_of_draws(name, k):
    law = dp.mechanism(name, 1.0).law([1000] * k, [1.0] * k)
    mean = law.mean_distance()
    draws = law.sample(np.random.default_rng(3), 300)
    distances = dp.hellinger(np.ones(k) + draws, np.full(k, 1001.0))
    assert mean.how == "series"
    assert mean.error < 1e-8
    assert abs(mean - distances.mean()) < 5 * distances.std() / np.sqrt(300)
    squares = distances**2
    assert abs(law.mean_square() - squares.mean()) < 5 * squares.std() / np.sqrt(300)


@pytest.mark.parametrize(("k", "epsilon"), [(800, 10.0), (1500, 11.0)])
def test_a_probability_over_many_categories_is_right_within_its_error(k, epsilon):
    # Z is the mean over a circle of the k-th power of the noise's characteristic function.
    counts = np.full(k, 60)
    released = counts.copy()
    released[:2] += [1, -1]
    found = dp.mechanism("lattice", epsilon).law(counts, np.ones(k)).probability(released)
    with mp.workdps(40):
        q = mp.exp(-mp.mpf(epsilon) / 2)
        angles = [2 * mp.pi * i / 256 for i in range(256)]
        powers = [((1 - q * q) / (1 - 2 * q * mp.cos(t) + q * q)) ** k for t in angles]
        exact = q * q / (mp.fsum(powers) / 256)
        assert abs(mp.mpf(float(found)) - exact) <= found.error <= 2e-11 * found


@pytest.mark.slow
def test_the_longest_lists_of_clamped_outputs_take_less_than_300_mb():
    # In a process of its own, and read from /proc: `ru_maxrss` starts at the parent's peak.
    program = (
        "import pathlib, dpbayes as dp\n"
        "dp.mechanism('lattice', 0.045).law([6331, 10, 0], [1.0] * 3).mean_distance()\n"
        "print(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) / 1024 < 300


def test_rows_projected_in_place_are_those_projected_apart():
    noisy = np.random.default_rng(3).integers(-20, 60, (500, 4))
    noisy = noisy[noisy.sum(axis=1) >= 0]
    for how in ("l2", "l1"):
        apart, place = project(noisy, how), noisy.copy()
        assert project(place, how, reuse=True) is place
        np.testing.assert_array_equal(apart, place)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1e-6), (3, 1e-5), (12, 0.01), (50, 1.0)])
def test_without_records_nothing_but_that_is_released(k, epsilon):
    law = dp.mechanism("lattice", epsilon).law([0] * k, [1.0] * k)
    assert float(law.mean_distance()) == 0.0
    assert float(law.probability([0] * k)) == 1.0


@pytest.mark.parametrize("epsilon", [0.01, 1e-5])
def test_few_outputs_are_listed_however_wide_the_noise(epsilon):
    listed = listed_law(np.ones(5), np.array([0, 2, 0, 0, 0]), epsilon, "l2")
    followed = LatticeLaw(np.ones(5), np.array([0, 2, 0, 0, 0]), epsilon, "l2")
    assert abs(listed.probabilities.sum() - 1.0) < 1e-12
    mean = followed.mean_distance()
    assert mean.how == "series"
    assert abs(mean - listed.mean_distance()) <= mean.error
