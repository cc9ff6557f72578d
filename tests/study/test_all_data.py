"""Comparisons over all data sets: printed numbers, bounds and direct sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.calibrations import GlobalCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.guarantees import own
from dpbayes.study.all_data import compare, everywhere, largest_lead, makers
from dpbayes.study.count_certificate import certificate


@pytest.mark.slow
def test_means_over_all_data_at_small_n_epsilon() -> None:
    chosen = makers([1.0, 1.0], gamma=1.0)
    expected = {
        (10, 0.1): (0.6103, 0.5996, 0.5809, 0.4981),
        (20, 0.05): (0.737, 0.701, 0.690, 0.610),
        (40, 0.02): (0.8463, 0.7835, 0.7785, 0.7158),
    }
    names = ("geometric", "expMech-smooth", "expMech-smooth, calibrated", "geometric, remapped")
    for (n, epsilon), values in expected.items():
        found = [everywhere(chosen[name](n, epsilon), n, [1, 1]).mean for name in names]
        assert found == pytest.approx(values, abs=6e-4)
        assert found == sorted(found, reverse=True)


@pytest.mark.slow
def test_the_calibrated_mechanism_at_three_hundred_records() -> None:
    """gamma .3, n 300, epsilon 1: best at balanced data, not on average, nor at worst."""
    chosen = makers([1.0, 1.0], gamma=0.3)
    calibrated = everywhere(chosen["expMech-smooth, calibrated"](300, 1.0), 300, [1, 1])
    ilap = everywhere(chosen["ilapMech"](300, 1.0), 300, [1, 1])
    geometric = everywhere(chosen["geometric"](300, 1.0), 300, [1, 1])
    assert calibrated.at([150, 150]) == pytest.approx(0.0366, abs=6e-5)
    assert calibrated.mean == pytest.approx(0.1057, abs=6e-5)
    assert (ilap.mean, geometric.mean) == pytest.approx((0.0640, 0.0503), abs=6e-5)
    assert calibrated.at([30, 270]) == pytest.approx(0.0846, abs=6e-5)
    assert ilap.at([30, 270]) == pytest.approx(0.0731, abs=6e-5)
    assert (calibrated.worst, ilap.worst) == pytest.approx((0.923, 0.232), abs=6e-4)
    assert calibrated.losses_to(ilap) == 81


@pytest.mark.slow
def test_no_mechanism_of_the_comparison_beats_the_certified_optimum() -> None:
    """Class: mean over all data of n records, k = 2, flat prior, pure promises."""
    chosen = makers([1.0, 1.0])
    failing = ("expMech-delta", "expMech-repaired", "discrete-gaussian")
    pure = [name for name in chosen if name not in failing]
    for n, epsilon in ((3, 0.02), (8, 0.3), (20, 1.0), (30, 5.0)):
        bound = certificate(n, epsilon).lower
        for name in pure:
            assert everywhere(chosen[name](n, epsilon), n, [1, 1]).mean >= bound * (1 - 1e-9)


@pytest.mark.parametrize(("k", "n"), [(2, 7), (3, 4)])
def test_distances_of_symmetric_mechanisms_are_those_of_each_data_set(k: int, n: int) -> None:
    symmetric = [name for name, make in REGISTRY.items() if own(make(2.0), "symmetric")]
    assert {"expMech", "expMech-delta", "expMech-repaired", "permute-and-flip"} <= set(symmetric)
    assert not {"lapMech", "ilapMech", "lattice", "optimal"} & set(symmetric)
    for name in symmetric:
        found = everywhere(REGISTRY[name](2.0), n, [0.5] * k)
        single = [REGISTRY[name](2.0).law(x, [0.5] * k).mean_distance() for x in found.data]
        assert found.distances == pytest.approx(single, rel=1e-13), name


def test_a_calibration_that_does_not_say_so_is_not_taken_for_symmetric() -> None:
    class Uneven(GlobalCalibration):
        def sensitivity(self, *arguments: Any) -> Any:
            found = super().sensitivity(*arguments)
            return replace(found, value=found.value * (2.0 if arguments[0][0] > 2 else 1.0))

    uneven = ExponentialMechanism(1.0, Uneven())
    found = everywhere(uneven, 5, [1, 1])
    assert found.distances[0] < found.distances[-1] * (1.0 - 1e-3)


@pytest.mark.slow
def test_the_comparison_is_the_table_of_single_means() -> None:
    chosen = makers([1.0, 2.0])
    some = {name: chosen[name] for name in ("ilapMech", "geometric", "expMech-smooth")}
    found = compare(some, [4, 9], [0.3, 2.0], [1.0, 2.0])
    for i, name in enumerate(some):
        for j, epsilon in enumerate((0.3, 2.0)):
            for column, n in enumerate((4, 9)):
                each = [
                    dp.mechanism(name, epsilon).law([x, n - x], [1.0, 2.0]).mean_distance()
                    for x in range(n + 1)
                ]
                assert found.means[i, j, column] == pytest.approx(np.mean(each), rel=1e-12)
                assert found.worsts[i, j, column] == pytest.approx(max(each), rel=1e-12)
    by_mean = found.winners(["ilapMech", "expMech-smooth"])
    assert by_mean.index[0, 0] == int(found.means[2, 0, 0] < found.means[0, 0, 0])
    assert found.over("ilapMech", "geometric").shape == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "lead"), [(0.2, 29), (0.5, 13), (1.0, 7)])
def test_the_lead_on_balanced_data_is_a_law_in_n_epsilon(epsilon: float, lead: int) -> None:
    chosen = makers([1.0, 1.0], gamma=1.0)
    found = largest_lead(chosen["expMech-smooth"], chosen["lapMech"], epsilon, [1, 1])
    assert found == lead
    assert 4.0 < found * epsilon < 7.5


def test_a_data_set_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="20706 data sets; at most 20000"):
        everywhere(dp.mechanism("geometric", 1.0), 202, [1, 1, 1])
