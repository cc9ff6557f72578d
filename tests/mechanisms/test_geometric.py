"""The truncated geometric mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp


def test_geometric_noise_is_symmetric_and_truncated():
    law = dp.mechanism("geometric", epsilon=1.0).law([3, 7], [1, 1])
    ratio = np.exp(-1.0)
    inside = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(1, 10) - 3)
    assert law.probabilities[1:-1] == pytest.approx(inside, rel=1e-13)
    assert law.probabilities[0] == pytest.approx(ratio**3 / (1 + ratio), rel=1e-13)
    assert dp.mechanism("geometric", epsilon=1.0).law([0, 0], [1, 1]).probabilities.tolist() == [1]
