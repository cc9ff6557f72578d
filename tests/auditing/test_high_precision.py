"""The audit in floats against enumeration in sixty digits."""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import pytest

import dpbayes as dp
from tests.mechanisms.definitions import made, masses
from tests.reference.laws import Reference, histograms

NAMES = (
    "expMech",
    "expMech-local",
    "expMech-smooth",
    "expMech-delta",
    "lapMech",
    "ilapMech",
    "ilapMech, nearest",
    "geometric",
    "lattice",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-9, 0.25)])
def test_the_loss_and_delta_are_those_of_the_definition(name, prior) -> None:
    n, epsilon, at = 7, 1.25, 0.3
    result, rows = dp.audit(made(name, epsilon), n, prior), histograms(n, 2)
    with mp.workdps(60):
        exact = Reference(prior, n)
        laws = [masses(name, exact, x, mp.mpf(epsilon)) for x in rows]
        pairs = [*pairwise(laws), *pairwise(laws[::-1])]
        worst = max(mp.log(p[r] / q[r]) for p, q in pairs for r in rows)
        factor = mp.exp(mp.mpf(at))
        delta = max(
            mp.fsum(max(p[r] - factor * q[r], mp.mpf(0)) for r in rows)
            for p, q in pairs
        )
    assert result.epsilon == pytest.approx(float(worst), rel=1e-13, abs=1e-14)
    assert abs(result.epsilon - worst) <= result.epsilon.error < 1e-11
    assert result.delta(at) == pytest.approx(float(delta), rel=1e-12, abs=1e-14)
    for found in (result.delta(at), result.pair().delta(at)):
        assert found.how == "listed"
    assert abs(result.delta(at) - delta) <= result.delta(at).error < 1e-11
