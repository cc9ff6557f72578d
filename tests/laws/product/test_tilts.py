"""Tilted sums against plain convolution in high precision and against a search by halves."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from dpbayes.laws.product import tilted_steps, tilts
from dpbayes.laws.product.convolution import Factor
from dpbayes.laws.product.tilted_steps import Steps, steps_of
from dpbayes.laws.product.tilts import read, swept, tilt


def laplace(first, last, slope, bend=0.0):
    steps = np.arange(first, last + 1)
    return -slope * np.abs(steps) - bend * steps * steps


def with_ends(logs, *ends):
    """The same weights with more at the first and the last step, as clamped noise has."""
    found = logs.copy()
    found[[0, -1]] += ends
    return found


PARTS = {
    "concave": [Steps(-40, laplace(-40, 90, 0.3, 0.01)), Steps(-9, laplace(-9, 60, 0.5), 2)],
    "more at the ends": [
        Steps(-12, with_ends(laplace(-12, 90, 0.2, 0.003), 2.5, 3.0)),
        Steps(-5, with_ends(laplace(-5, 40, 0.3), 4.0, 0.0)),
    ],
    "bent upwards": [
        Steps(0, -3.0 * np.sqrt(np.arange(60.0))),
        Steps(-4, laplace(-4, 30, 0.4)),
    ],
    "with holes": [
        Steps(0, np.where(np.arange(31) % 3, -np.inf, -0.1 * np.arange(31.0))),
        Steps(-4, laplace(-4, 30, 0.4)),
    ],
}


def listed(parts):
    total, first = [mp.mpf(1)], 0
    for part in parts:
        weights = [mp.exp(mp.mpf(float(v))) if np.isfinite(v) else mp.mpf(0) for v in part.logs]
        for _ in range(part.copies):
            longer = [mp.mpf(0)] * (len(total) + len(weights) - 1)
            for i, a in enumerate(total):
                for j, b in enumerate(weights):
                    longer[i + j] += a * b
            total, first = longer, first + part.first
    return first, total


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("lowest", [1, 30])
def test_every_sum_lies_within_its_bound_of_the_list(name, lowest):
    parts = PARTS[name]
    highest = sum(part.copies * (part.first + part.logs.size - 1) for part in parts)
    sums = np.arange(lowest, highest + 1)
    logs, bounds, work = swept(parts, sums, 10**8)
    assert 0 < work < 10**7
    with mp.workdps(40):
        first, expected = listed(parts)
        for s, log, bound in zip(sums.tolist(), logs, bounds, strict=True):
            found = mp.exp(mp.mpf(float(log))) if np.isfinite(log) else mp.mpf(0)
            exact = expected[s - first]
            assert abs(found - exact) <= mp.exp(mp.mpf(float(bound))) * 2.0**-50
            assert exact <= mp.exp(mp.mpf(float(bound))) * (1 + mp.mpf(1e-12))


@pytest.mark.parametrize("name", ["concave", "bent upwards"])
def test_bounds_are_close_where_weights_bend_downwards(name):
    # Four standard deviations away a tilt has lost e^8.
    parts = PARTS[name]
    logs, bounds, _ = swept(parts, np.arange(1, 60), 10**8)
    assert np.all(bounds - logs < (14.0 if name == "concave" else 60.0))


def test_work_ends_where_it_is_to_end():
    logs, bounds, work = swept([Steps(-400, laplace(-400, 4000, 0.1))], np.arange(1, 4000), 100)
    assert work < 30_000
    assert np.isinf(bounds[-1])
    assert np.isinf(logs[-1])


@pytest.mark.parametrize("target", [8, 20, 60, 250, 440])
def test_tilts_meet_their_means_as_a_search_by_halves_does(target):
    parts = [
        Steps(-4, laplace(-4, 29, 0.3), copies=2),
        Steps(-50, -0.5 * np.arange(-50.0, 400.0) ** 2 / 900.0),
    ]
    assert tilt(parts, -500.0) == 0.0
    theta = tilt(parts, float(target))
    found = read(parts, theta)
    assert found.mean == pytest.approx(target, abs=0.11 * found.spread)
    assert found.weights.sum() == pytest.approx(1.0)
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if read(parts, middle).mean < target else (low, middle)
    assert abs(theta - high) <= max(2e-4 * high, 0.11 / found.spread)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("theta", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("copies", [1, 30])
def test_sums_far_from_the_mean_are_left_out(monkeypatch, name, theta, copies):
    parts = [Steps(part.first, part.logs, part.copies * copies) for part in PARTS[name]]
    monkeypatch.setattr(tilts, "_FULL", 10**6)
    whole = read(parts, theta)
    monkeypatch.setattr(tilts, "_FULL", 0)
    monkeypatch.setattr(tilts, "_FAR", 0.0)
    found = read(parts, theta)
    start = found.first - whole.first
    stop = start + found.weights.size
    assert 0 <= start < stop <= whole.weights.size
    assert found.weights.size <= whole.weights.size
    assert copies == 1 or found.weights.size < 0.7 * whole.weights.size
    assert np.abs(found.weights - whole.weights[start:stop]).max() < 1e-16
    outside = np.append(whole.weights[:start], whole.weights[stop:])  # what transforms round
    assert outside.max(initial=0.0) < 1e-16
    assert (found.scale, found.mean, found.spread) == (whole.scale, whole.mean, whole.spread)


def test_steps_that_are_not_kept_are_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    factors = [
        Factor(-40, laplace(-40, 90, 0.3), -0.01 * rng.uniform(0.0, 1.0, 131)),
        Factor(-9, laplace(-9, 60, 0.5), np.linspace(-0.4, 0.0, 70), 2),
    ]
    kept = steps_of(factors, 3.0)
    monkeypatch.setattr(tilted_steps, "_MANY", 0)
    monkeypatch.setattr(tilts, "_MANY", 0)
    others = steps_of(factors, 3.0)
    for one, other in zip(kept, others, strict=True):
        assert other.more is not None
        assert other.inner == one.inner
        assert np.array_equal(other.logs, one.logs)
    monkeypatch.undo()
    for theta in (0.0, 0.2):
        one, other = read(kept, theta), read(others, theta)
        assert np.abs(one.weights - other.weights).max() < 1e-16


@pytest.mark.parametrize("end", [20.0, 40.0])
def test_a_far_end_that_weighs_a_little_is_kept(monkeypatch, end):
    logs = laplace(0, 5000, 1.0)
    logs[-1] = -end  # clamped noise, so far off that its growth leaves the range of floats
    parts = [Steps(0, logs, 2), Steps(-3, laplace(-3, 3, 1.0))]
    found = read(parts, 0.0)
    monkeypatch.setattr(tilts, "_FULL", 10**6)
    whole = read(parts, 0.0)
    start = found.first - whole.first
    inside = whole.weights[start : start + found.weights.size]
    assert np.abs(found.weights - inside).max() < 1e-16
    outside = whole.weights.sum() - inside.sum()
    assert abs(outside) < 1e-14
