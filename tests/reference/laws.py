"""Deliberately simple high-precision laws, written from the definitions; do not make
them clever.

Everything is enumerated in mpmath: sensitivities over all histograms, weights over all
candidates, noise count by count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product

import mpmath as mp

DIGITS = 90

Counts = tuple[int, ...]
Masses = dict[Counts, "mp.mpf"]
Axis = Callable[["mp.mpf", int, int], list["mp.mpf"]]


def histograms(n: int, k: int) -> list[Counts]:
    if k == 1:
        return [(n,)]
    return [(r, *rest) for r in range(n + 1) for rest in histograms(n - r, k - 1)]


class Reference:
    """The posteriors of one prior; parameters are kept as prior and count."""

    def __init__(self, prior: Iterable[float], n: int) -> None:
        self.prior = [mp.mpf(float(a)) for a in prior]
        self.k, self.n = len(self.prior), n
        self.total = mp.fsum(self.prior)
        self.psi, self.local = cache(self._psi), cache(self._local)

    def _psi(self, i: int, x: int, r: int) -> mp.mpf:
        a = self.total if i == self.k else self.prior[i]
        ends = (mp.loggamma(a + x) + mp.loggamma(a + r)) / 2
        return mp.loggamma(a + mp.mpf(x + r) / 2) - ends

    def distance(self, x: Counts, r: Counts) -> mp.mpf:
        parts = [self.psi(i, *sorted((x[i], r[i]))) for i in range(self.k)]
        total = self.psi(self.k, *sorted((sum(x), sum(r))))
        log_bc = mp.fsum(parts) - total
        return mp.sqrt(-mp.expm1(log_bc)) if x != r else mp.mpf(0)

    def _local(self, x: Counts) -> mp.mpf:
        moves = [
            self.psi(i, x[i] - 1, x[i]) + self.psi(j, x[j], x[j] + 1)
            for i in range(self.k)
            for j in range(self.k)
            if i != j and x[i] > 0
        ]
        return mp.sqrt(-mp.expm1(min(moves)))

    def largest(self, x: Counts, form: Callable[[mp.mpf, int], mp.mpf]) -> mp.mpf:
        values = []
        for other in histograms(self.n, self.k):
            apart = sum(abs(a - b) for a, b in zip(x, other, strict=True)) // 2
            values.append(form(self.local(other), apart))
        return max(values)

    def exponential(self, x: Counts, rate: mp.mpf) -> Masses:
        weights = {
            r: mp.exp(-rate * self.distance(x, r)) for r in histograms(self.n, self.k)
        }
        total = mp.fsum(weights.values())
        return {r: w / total for r, w in weights.items()}

    def permute_and_flip(self, x: Counts, rate: mp.mpf) -> Masses:
        # P[r] = w_r times the integral of the polynomial prod (1 - w_s t) over s other
        # than r.
        weights = {
            r: mp.exp(-rate * self.distance(x, r)) for r in histograms(self.n, self.k)
        }
        masses = {}
        with mp.workdps(3 * DIGITS):
            for r, w in weights.items():
                coefficients = [mp.mpf(1)]
                for s, v in weights.items():
                    if s != r:
                        shifted = [mp.mpf(0), *(-v * c for c in coefficients)]
                        coefficients = [
                            a + b
                            for a, b in zip([*coefficients, 0], shifted, strict=True)
                        ]
                masses[r] = w * mp.fsum(c / (j + 1) for j, c in enumerate(coefficients))
        return masses


def floored_laplace(scale: mp.mpf, t: int) -> mp.mpf:
    """P(floor(Y) = t)."""
    if t >= 0:
        return (mp.exp(-t / scale) - mp.exp(-(t + 1) / scale)) / 2
    return (mp.exp((t + 1) / scale) - mp.exp(t / scale)) / 2


def floored_below(scale: mp.mpf, t: int) -> mp.mpf:
    """P(floor(Y) < t)."""
    return mp.exp(t / scale) / 2 if t <= 0 else 1 - mp.exp(-t / scale) / 2


def clamped(scale: mp.mpf, count: int, n: int) -> list[mp.mpf]:
    masses = [floored_laplace(scale, r - count) for r in range(n + 1)]
    masses[0] = floored_below(scale, 1 - count)
    masses[n] = 1 - floored_below(scale, n - count)
    return masses


def nearest(scale: mp.mpf, count: int, n: int) -> list[mp.mpf]:
    """clamp(count + Y rounded to the nearest whole number)."""

    def below(t: int) -> mp.mpf:  # P(Y < t + 1/2)
        edge = mp.mpf(t) + mp.mpf(1) / 2
        return mp.exp(edge / scale) / 2 if edge <= 0 else 1 - mp.exp(-edge / scale) / 2

    masses = [below(r - count) - below(r - count - 1) for r in range(n + 1)]
    masses[0] = below(-count)
    masses[n] = 1 - below(n - count - 1)
    return masses


def one_sided(scale: mp.mpf, count: int, n: int) -> list[mp.mpf]:
    """clamp(count + |floor(Y)|)."""
    masses = [mp.mpf(0)] * (n + 1)
    for t in range(n - count):
        both = {t, -t}
        masses[count + t] = mp.fsum(floored_laplace(scale, one) for one in both)
    masses[n] = 1 - mp.fsum(masses)
    return masses


def laplace(x: Counts, scale: mp.mpf, axis_of: Axis = clamped) -> Masses:
    n = sum(x)
    axes = [axis_of(scale, count, n) for count in x[:-1]]
    masses: Masses = {}
    for free in product(range(n + 1), repeat=len(axes)):
        last = min(max(n - sum(free), 0), n)
        mass = mp.fprod(axis[r] for axis, r in zip(axes, free, strict=True))
        masses[*free, last] = masses.get((*free, last), mp.mpf(0)) + mass
    return masses


def truncated_geometric(x: Counts, epsilon: mp.mpf) -> Masses:
    n, share = sum(x), 1 / (1 + mp.exp(-epsilon))
    masses = {}
    for r in range(n + 1):
        weight = mp.exp(-epsilon * abs(r - x[0])) * share
        masses[r, n - r] = weight if r in (0, n) else weight * (1 - mp.exp(-epsilon))
    return masses
