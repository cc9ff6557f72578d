"""Mechanisms with a proof, as they are and with an option, for tests of releases."""

from __future__ import annotations

from typing import Any

import dpbayes as dp

PROVED: dict[str, dict[str, Any]] = {
    "lapMech": {},
    "ilapMech": {"rounding": "nearest"},
    "lattice": {"projection": "l1"},
    "expMech": {},
    "expMech-smooth": {"divisor": 6.0},
    "permute-and-flip": {"sensitivity": "smooth"},
}


def mechanisms(epsilon: float) -> list[dp.Mechanism]:
    """Return each of them plain, then each with its option."""
    plain = [dp.mechanism(name, epsilon) for name in PROVED]
    return plain + [dp.mechanism(name, epsilon, **options) for name, options in PROVED.items()]
