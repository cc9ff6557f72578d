"""Calibrations: which keep the promise, which do not, and at what rate they smooth."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from tests.mechanisms.losses import privacy_loss


@pytest.mark.parametrize("gamma", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("distance", ["hamming", "l1"])
def test_smooth_mechanism_keeps_its_promise_for_any_gamma(gamma, distance):
    mechanism = dp.mechanism("expMech-smooth", epsilon=2.0, gamma=gamma, distance=distance)
    for prior in ([1, 1], [0.05, 0.05]):
        assert privacy_loss(mechanism, 9, prior) <= 2.0 + 1e-12


def test_half_the_sensitivity_breaks_the_promise():
    assert privacy_loss(dp.mechanism("ilapMech", epsilon=1.0, sensitivity=0.5), 8, [1, 1]) > 1.5


def test_local_sensitivity_breaks_the_promise_for_small_priors():
    mechanism = dp.mechanism("expMech-local", epsilon=1.0)
    assert privacy_loss(mechanism, 80, [1, 1]) < 1.0
    assert privacy_loss(mechanism, 80, [0.001, 0.001]) > 1.02


def test_delta_mechanism_smooths_at_the_rate_of_the_theorem():
    calibration = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4).calibration
    assert calibration.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 32))))
    other = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4, failure_term="2n").calibration
    assert other.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 30))))
