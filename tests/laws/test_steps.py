"""The limiting law of a step against sums over whole numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbayes.laws.steps import StepLaw


@pytest.mark.parametrize("decay", [0.05, 0.25, 1.0, 4.0])
@pytest.mark.parametrize("floored", [False, True])
def test_closed_forms_agree_with_sums(decay, floored):
    law, t = StepLaw(decay, floored), np.arange(-2000, 2001)
    if floored:
        # floor(Y) = t for Y ~ Laplace(1/decay), by differences of the distribution function.
        def below(z):
            return np.where(z <= 0, 0.5 * np.exp(decay * np.minimum(z, 0)),
                            1 - 0.5 * np.exp(-decay * np.maximum(z, 0)))  # fmt: skip

        masses = below(t + 1.0) - below(t.astype(float))
    else:
        masses = np.exp(-decay * np.abs(t))
        masses /= masses.sum()
    assert law.at_zero == pytest.approx(masses[2000], rel=1e-12)
    assert law.mean_step == pytest.approx((masses * np.abs(t)).sum(), rel=1e-9)
    for order in (0, 1, 2, 3):
        assert law.moment(order) == pytest.approx((masses * np.abs(t) ** order).sum(), rel=1e-9)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert math.isclose(law.probabilities[law.steps == 0].item(), law.at_zero)


def test_bad_input():
    with pytest.raises(ValueError, match="decay must be positive"):
        StepLaw(0.0)
    with pytest.raises(ValueError, match="order must be an integer of at least 0"):
        StepLaw(1.0).moment(-1)
