"""Times of complete audits, calibration and linear programs, each beside its target."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.optimum import OptimalMechanism, _solved

pytestmark = pytest.mark.benchmark(timer=time.process_time)

SMOOTH = dp.mechanism("expMech-smooth", 1.0)


def timed(benchmark, target: float, action: Callable[[], object]) -> None:
    """Time `action` on one core and record the share of its target, in seconds, that it
    takes.
    """
    benchmark.pedantic(action, rounds=1, warmup_rounds=0)
    benchmark.extra_info["share of target"] = benchmark.stats.stats.max / target


@pytest.mark.parametrize(
    "name", ["expMech-smooth", "expMech-delta", "ilapMech", "geometric"]
)
def test_two_categories_five_thousand_records(benchmark, name):
    mechanism = dp.mechanism(name, 1.0)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, 5000, [1.0, 1.5]))


def test_three_categories_thirty_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.audit(SMOOTH, 30, np.ones(3)))


def test_four_categories_ten_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.audit(SMOOTH, 10, np.ones(4)))


@pytest.mark.parametrize("name", ["lattice", "discrete-gaussian"])
@pytest.mark.parametrize(("k", "n"), [(3, 100), (4, 30)])
def test_noise_at_the_sizes_of_the_docstring(benchmark, name, k, n):
    mechanism = dp.mechanism(name, 1.0)
    timed(benchmark, 10.0, lambda: dp.audit(mechanism, n, np.ones(k)))


def test_one_pair_at_fifty_thousand_records(benchmark):
    pair = [1, 49_999], [2, 49_998]
    timed(benchmark, 5.0, lambda: dp.audit_pair(SMOOTH, *pair, [1.0, 1.0]))


def test_calibration_at_a_thousand_records(benchmark):
    timed(benchmark, 10.0, lambda: dp.calibrate(SMOOTH, 1000, [1.0, 1.0], 1.0))


@pytest.mark.parametrize(("n", "k"), [(40, 2), (8, 3)])
def test_linear_program(benchmark, n, k):
    _solved.cache_clear()
    timed(benchmark, 20.0, lambda: OptimalMechanism(1.0).table(n, np.ones(k)))
