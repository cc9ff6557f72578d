"""Roots of monotone functions: against SciPy's, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betainc

from dpbayes._roots import root


def test_roots_are_those_of_scipy():
    rng = np.random.default_rng(1)
    for _ in range(500):
        a, b = 10 ** rng.uniform(-1, 6, 2)
        chance = rng.uniform(1e-6, 1 - 1e-6)
        asked = (lambda t, a=a, b=b, c=chance: float(betainc(a, b, t)) - c), 0.0, 1.0
        assert root(*asked) == pytest.approx(brentq(*asked, xtol=1e-12), abs=3e-12)
        falling = root(lambda t, f=asked[0]: -f(t), 1.0, 0.0)
        assert falling == pytest.approx(root(*asked), abs=3e-12)


@pytest.mark.parametrize("at", [1e-300, 1e-9, 0.3, 1.0 - 1e-9])
def test_steps_roots_near_an_end_and_relative_tolerance(at):
    assert root(lambda t: 1.0 if t > at else -1.0, 0.0, 1.0) == pytest.approx(
        at, abs=2e-12
    )
    found = root(lambda t: t**3 - at**3, 0.0, 1.0, xtol=1e-300, rtol=1e-13)
    assert found == pytest.approx(at, rel=1e-12) or at**3 == 0.0


def test_an_end_may_be_the_root_and_there_must_be_one():
    assert root(lambda t: t, 0.0, 1.0) == 0.0
    assert root(lambda t: t - 1.0, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match=r"f must change sign from 0\.5 to 1\.0"):
        root(lambda t: t, 0.5, 1.0)
