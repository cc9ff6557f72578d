"""Document C's panels side by side hold what its series hold."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.study.reproduction.catalogue import judged
from dpbayes.study.reproduction.notes import RUNS
from dpbayes.study.reproduction.panels import boxes_of_both, single_runs


@pytest.mark.parametrize("panel", ["a", "b"])
def test_single_runs_have_the_mean_they_are_drawn_with(panel: str) -> None:
    for name, sample, mean, (value, error, z) in single_runs(panel, 1):
        assert sample.shape == (RUNS,)
        assert abs(sample.mean() - mean) < 5 * sample.std() / np.sqrt(RUNS)
        assert abs(value - mean) < 0.2
        assert error > 0
        assert abs(z) < 4, name


def test_boxes_carry_every_reading_of_both_panels() -> None:
    found, fits = boxes_of_both(1)
    assert fits == [*judged("C", "3", "a"), *judged("C", "3", "b")]
    assert sum(len(readings) for *_, readings in found) == sum(len(one.fit.scores) for one in fits)
    for _, samples, quartiles, readings in found:
        assert len(samples) == len(quartiles) == 2
        assert {number for number, *_ in readings} == {0, 1}
        for sample, (low, middle, high) in zip(samples, quartiles, strict=True):
            assert low <= middle <= high
            assert abs(np.median(sample) - middle) < 0.15
