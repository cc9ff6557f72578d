"""Times of complete audits, calibration and linear programs, each beside its target."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.structure import by_classes
from dpbayes.mechanisms.optimum import OptimalMechanism, _solved

pytestmark = pytest.mark.benchmark(timer=time.process_time)

SMOOTH = dp.mechanism("expMech-smooth", 1.0)


def timed(benchmark, target: float, action: Callable[[], object]) -> None:
    """Time `action` on one core and record the share of its target, in seconds, that it takes."""
    benchmark.pedantic(action, rounds=1, warmup_rounds=0)
    benchmark.extra_info["share of target"] = benchmark.stats.stats.max / target


@pytest.mark.parametrize("name", ["expMech-smooth", "expMech-delta", "ilapMech", "geometric"])
def test_two_categories_five_thousand_records(benchmark, name):
    mechanism = dp.mechanism(name, 1.0)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, 5000, [1.0, 1.5]))


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-local"])
def test_two_categories_a_million_records(benchmark, name):
    mechanism = dp.mechanism(name, 1.0)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, 10**6, [1.0, 1.0]))


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-local"])
def test_two_categories_a_million_records_at_a_tenth(benchmark, name):
    mechanism = dp.mechanism(name, 0.1)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, 10**6, [1.0, 1.0]))


SMALL = [("expMech-smooth", 0.05), ("expMech-delta", 0.3), ("expMech-delta", 1.0)]


@pytest.mark.parametrize(("name", "epsilon"), SMALL)
def test_two_categories_a_million_records_by_shifted_outputs(benchmark, name, epsilon):
    mechanism = dp.mechanism(name, epsilon)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, 10**6, [1.0, 1.0]))


def test_three_categories_thirty_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.audit(SMOOTH, 30, np.ones(3)))


def test_three_categories_by_classes_against_all_pairs(benchmark):
    prior = np.ones(3)
    timed(benchmark, 10.0, lambda: by_classes(SMOOTH, 60, prior))
    start = time.process_time()
    everything = dp.audit(SMOOTH, 60, prior).epsilon
    elapsed = time.process_time() - start
    benchmark.extra_info["all pairs, times slower"] = elapsed / benchmark.stats.stats.max
    assert by_classes(SMOOTH, 60, prior).loss == pytest.approx(everything, rel=1e-12)


def test_three_categories_three_hundred_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.audit(SMOOTH, 300, np.ones(3)))


def test_four_categories_ten_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.audit(SMOOTH, 10, np.ones(4)))


def test_one_pair_at_fifty_thousand_records(benchmark):
    pair = [1, 49_999], [2, 49_998]
    timed(benchmark, 5.0, lambda: dp.audit_pair(SMOOTH, *pair, [1.0, 1.0]))


def test_calibration_at_a_thousand_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.calibrate(SMOOTH, 1000, [1.0, 1.0], 1.0))


def test_calibration_of_three_categories_against_one_audit(benchmark):
    prior = np.ones(3)
    timed(benchmark, 60.0, lambda: dp.calibrate(SMOOTH, 300, prior, 1.0))
    start = time.process_time()
    dp.audit(SMOOTH, 300, prior)
    elapsed = time.process_time() - start
    benchmark.extra_info["times one audit"] = benchmark.stats.stats.max / elapsed


@pytest.mark.parametrize(("n", "k"), [(40, 2), (8, 3)])
def test_linear_program(benchmark, n, k):
    _solved.cache_clear()
    timed(benchmark, 20.0, lambda: OptimalMechanism(1.0).table(n, np.ones(k)))
