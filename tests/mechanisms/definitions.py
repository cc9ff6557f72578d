"""The laws of all mechanisms written from their definitions, with ninety digits."""

from __future__ import annotations

import mpmath as mp

import dpbayes as dp
from tests.reference import laws as reference
from tests.reference.laws import Counts, Masses, Reference

DELTA = 1e-8
SHARE = 0.2

VARIANTS = {
    "ilapMech, nearest": ("ilapMech", {"rounding": "nearest"}),
    "ilapMech, sensitivity 2.5": ("ilapMech", {"sensitivity": 2.5}),
    "geometric, remapped": ("geometric", {"remap": True}),
    "lattice, l1": ("lattice", {"projection": "l1"}),
    "lattice, remapped": ("lattice", {"remap": True}),
    "discrete-gaussian, two": ("discrete-gaussian", {"releases": 2, "delta": 1e-3}),
    "expMech-smooth, l1": ("expMech-smooth", {"gamma": 0.3, "distance": "l1"}),
    "expMech-delta, l1": ("expMech-delta", {"distance": "l1", "failure_term": "2n"}),
    "permute-and-flip, smooth": ("permute-and-flip", {"sensitivity": "smooth"}),
    "optimal, worst": ("optimal", {"objective": "worst"}),
}
"""Mechanisms with another option than the usual one, by a name for tests."""

SCORED = (
    "expMech",
    "expMech-local",
    "expMech-smooth",
    "expMech-smooth, l1",
    "expMech-delta",
    "expMech-delta, l1",
    "expMech-repaired",
    "permute-and-flip",
    "permute-and-flip, smooth",
)
NOISE = {
    "lapMech": (lambda k: k, reference.clamped),
    "ilapMech": (lambda k: 1 if k == 2 else 2, reference.clamped),
    "ilapMech, nearest": (lambda k: 1 if k == 2 else 2, reference.nearest),
    "ilapMech, sensitivity 2.5": (lambda k: 2.5, reference.clamped),
    "draft-laplace": (lambda k: 2, reference.one_sided),
}


def made(name: str, epsilon: float) -> dp.Mechanism:
    """Return a mechanism by its name in the registry or here."""
    kind, options = VARIANTS.get(name, (name, {}))
    return dp.mechanism(kind, epsilon, **options)


def smooth_rate(name: str, n: int, epsilon: mp.mpf) -> mp.mpf:
    """gamma of expMech-delta, for one replaced record."""
    term, unit = (2 * n, 2) if name.endswith("l1") else (2 * (n + 1), 1)
    return unit * mp.log(1 - epsilon / (2 * mp.log(mp.mpf(DELTA) / term)))


def rate(name: str, exact: Reference, x: Counts, epsilon: mp.mpf) -> mp.mpf:
    """lambda of the mechanisms that score candidates: epsilon / (factor S)."""
    if name in ("expMech", "permute-and-flip"):
        return epsilon / (2 * exact.largest(x, lambda s, d: s))
    if name == "expMech-local":
        return epsilon / (2 * exact.local(x))
    if name in ("expMech-smooth", "expMech-smooth, l1", "permute-and-flip, smooth"):
        step = 2 * mp.mpf(0.3) if name.endswith("l1") else mp.mpf(1)
        return epsilon / (
            2 * (1 + step) * exact.largest(x, lambda s, d: 1 / (1 / s + step * d))
        )
    if name == "expMech-repaired":
        candidates = mp.binomial(exact.n + exact.k - 1, exact.k - 1)
        gamma = mp.log(1 + SHARE * epsilon / mp.log(candidates / mp.mpf(DELTA)))
        used = gamma - max(mp.mpf(1e-6) * gamma, mp.mpf(4e-12))
        top = exact.largest(x, lambda s, d: s * mp.exp(-used * d))
        return (1 - mp.mpf(SHARE)) * epsilon / (2 * top)
    gamma = smooth_rate(name, exact.n, epsilon)
    return epsilon / (2 * exact.largest(x, lambda s, d: s * mp.exp(-gamma * d)))


def masses(name: str, exact: Reference, x: Counts, epsilon: mp.mpf) -> Masses:
    """Return P[r] of every released histogram."""
    if name in NOISE:
        sensitivity, axis = NOISE[name]
        return reference.laplace(x, mp.mpf(sensitivity(len(x))) / epsilon, axis)
    if name in ("geometric", "lattice", "lattice, l1"):
        return reference.truncated_geometric(x, epsilon)
    if name.startswith("permute-and-flip"):
        return exact.permute_and_flip(x, rate(name, exact, x, epsilon))
    return exact.exponential(x, rate(name, exact, x, epsilon))
