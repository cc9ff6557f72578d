"""ln Z(s) between its values against sums over all candidates."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.laws.finite import log_affinity_of_outputs
from dpbayes.laws.series.candidate_sums import AffinitySums
from dpbayes.laws.series.interpolation import interpolate_log_sums
from dpbayes.posteriors import compositions

CASES = [((20, 30), (1.0, 1.0)), ((4, 9, 7), (0.5, 1.0, 2.0)), ((0, 3, 5, 2), (1.0,) * 4)]


@pytest.mark.parametrize(("counts", "prior"), CASES)
def test_powers_between_the_nodes_are_those_of_the_list(counts, prior):
    alpha, x = np.array(prior), np.array(counts)
    logs = log_affinity_of_outputs(alpha, x, compositions(int(x.sum()), x.size))
    nearest = -float(logs[logs < 0].max())
    log_sum = interpolate_log_sums(AffinitySums(alpha, x, 0.5), 0.5, nearest, 1e-9)
    powers = np.geomspace(0.5, 300.0 / nearest, 57)
    direct = [np.log(np.exp(s * logs).sum()) for s in powers]
    assert np.abs(log_sum(powers) - direct).max() < 1e-9
    assert log_sum(np.array([1e4 / nearest]))[0] == 0.0


def test_an_error_that_is_not_allowed_raises():
    alpha, x = np.ones(3), np.array([4, 9, 7])
    with pytest.raises(ArithmeticError, match="ln Z is"):
        interpolate_log_sums(AffinitySums(alpha, x, 0.5), 0.5, 1e-3, 1e-18)
