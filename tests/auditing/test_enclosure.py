"""The enclosure against high precision, and the float audit against the enclosure."""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import pytest

import dpbayes as dp
from dpbayes.auditing.enclosure import WIDTH, Bounds, enclose
from tests.mechanisms.definitions import made, masses
from tests.reference.laws import Reference, histograms

pytest.importorskip("flint")

NAMES = (
    "expMech", "expMech-local", "expMech-smooth", "expMech-delta", "lapMech", "ilapMech",
    "ilapMech, nearest", "geometric", "lattice",
)  # fmt: skip


def held(value: mp.mpf, bounds: Bounds, slack: float = 0.0) -> bool:
    return bool(bounds.low - slack <= value <= bounds.high + slack)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-9, 0.25)])
def test_bounds_hold_the_loss_found_by_enumeration_in_high_precision(
    name, prior
) -> None:
    n, epsilon = 7, 1.25
    enclosure, rows = enclose(made(name, epsilon), n, prior), histograms(n, 2)
    with mp.workdps(60):
        exact = Reference(prior, n)
        laws = [masses(name, exact, x, mp.mpf(epsilon)) for x in rows]
        pairs = [*pairwise(laws), *pairwise(laws[::-1])]
        slack = 1e-15 if name == "expMech-delta" else 0.0  # its gamma is a float
        worst = max(mp.log(p[r] / q[r]) for p, q in pairs for r in rows)
        assert held(worst, enclosure.epsilon, slack)
        excess = mp.exp(mp.mpf(0.3))
        deltas = [
            mp.fsum(max(p[r] - excess * q[r], mp.mpf(0)) for r in rows)
            for p, q in pairs
        ]
        assert float(max(deltas)) == pytest.approx(enclosure.delta(0.3).low, abs=1e-15)
    assert enclosure.epsilon.width <= WIDTH
    assert enclosure.delta(0.3).width <= WIDTH


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "prior"),
    [*[(name, 40, (0.5, 3.0)) for name in (*NAMES, "expMech-repaired")],
     ("expMech-smooth", 8, (1.0, 0.5, 2.0))],
)  # fmt: skip
def test_the_float_audit_lies_within_rounding_of_the_bounds(name, n, prior) -> None:
    audit = dp.audit(made(name, 1.0), n, prior)
    bounds = audit.enclosure.epsilon
    assert bounds.low <= bounds.high
    assert bounds.width <= WIDTH
    assert held(mp.mpf(audit.epsilon), bounds, 1e-13)
    assert held(mp.mpf(audit.delta(0.2)), audit.enclosure.delta(0.2), 1e-14)


def test_what_cannot_be_enclosed_is_refused() -> None:
    for name, k, n, words in (
        ("optimal", 2, 4, "mechanism must have a law in ball arithmetic"),
        ("draft-laplace", 2, 4, "must have two-sided noise"),
        ("ilapMech", 3, 4, "prior must have 2 parameters for an enclosure"),
        ("geometric", 2, 400, "an enclosure takes n up to 315"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            enclose(dp.mechanism(name, 1.0), n, [1] * k)
