"""What a mechanism must offer is enough: three attributes, and it is audited and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.tables.reading import noise_aware


@dataclass(frozen=True)
class RandomisedResponse:
    """One record of two categories, told truthfully e^epsilon times as often as not."""

    epsilon: float
    name: str = "randomised response"

    def law(self, counts, prior):
        x = np.asarray(counts)
        outputs = np.array([[0, 1], [1, 0]])
        logs = np.where(outputs[:, 0] == x[0], 0.0, -self.epsilon) - np.log1p(np.exp(-self.epsilon))
        return FiniteLaw(np.asarray(prior, dtype=float), x, outputs, logs)


def test_three_attributes_are_enough_for_the_audit_and_the_comparison():
    mechanism = RandomisedResponse(0.9)
    assert dp.audit(mechanism, 1, [1, 1]).epsilon == pytest.approx(0.9, rel=1e-12)
    found = dp.calibrate(mechanism, 1, [1, 1], 0.4)
    assert found.epsilon == pytest.approx(0.4, rel=1e-8)
    assert dp.mean_distances(mechanism, [1.0, 0.0], [1, 1], [1])[0] > 0
    with pytest.raises(ValueError, match="no proof is recorded for the mechanism randomised"):
        dp.release(mechanism, [1, 0], [1, 1])


def test_without_likelihoods_the_laws_are_searched():
    aware = noise_aware(RandomisedResponse(np.log(3.0)), np.array([1, 0]), 1, np.ones(2))
    # P(x = (1, 0) | released (1, 0)) = 3/4, so the mean is (3/4 * 2 + 1/4 * 1) / 3.
    assert aware.mean[0] == pytest.approx(7 / 12, rel=1e-12)
