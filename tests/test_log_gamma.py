from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbayes.log_gamma import SERIES_FROM, stirling_remainder, stirling_series


def exact(z: float) -> mp.mpf:
    with mp.workdps(60):
        x = mp.mpf(z)
        return mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


@given(st.floats(SERIES_FROM, 1e12))
def test_the_series_is_right_to_the_last_digits_from_16_on(z: float) -> None:
    assert float(stirling_series(np.array([z]))[0]) == pytest.approx(float(exact(z)), rel=1e-15)


@pytest.mark.slow
@given(st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 40.0)))
def test_the_recurrence_leads_up_to_the_series(z: float) -> None:
    assert float(stirling_remainder(z)[0]) == pytest.approx(float(exact(z)), rel=1e-14)
