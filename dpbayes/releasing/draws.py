"""One draw of each mechanism from fair bits: the noisy value, and the counts it is turned into."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.projection import project
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.laplace import LaplaceMechanism
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.releasing import samplers
from dpbayes.releasing.bits import BitSource
from dpbayes.releasing.candidates import draw_candidate
from dpbayes.releasing.flips import draw_flip
from dpbayes.releasing.guarantees import laplace_rate

Counts = NDArray[np.int64]
Drawn = tuple[Counts, Counts]
"""The noisy value that privacy is proved for, and the released counts made from it."""

_ROUNDING = Fraction(1, 10**12)  # relative error a sensitivity in floats stays well below


@singledispatch
def draw(
    mechanism: Mechanism, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    """Return one exact draw; raises ValueError for a mechanism without an exact sampler."""
    raise ValueError(
        f"mechanism must have an exact sampler, got {mechanism.name}; "
        "lapMech, ilapMech, draft-laplace, geometric, lattice, permute-and-flip and the expMech "
        "family have one"
    )


@draw.register
def _(
    mechanism: LaplaceMechanism, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    n, k = int(counts.sum()), counts.size
    rate = laplace_rate(mechanism, k)
    step = samplers.rounded_laplace if mechanism.rounding == "nearest" else samplers.floored_laplace
    noise = np.array([step(source, rate) for _ in range(k - 1)], dtype=object)
    if mechanism.sides == "one":
        noise = abs(noise)
    noisy = _whole(counts[:-1] + noise)
    clamped = np.clip(noisy, 0, n)
    last = np.clip(n - clamped.sum(), 0, n)
    return noisy, np.append(clamped, last)


@draw.register
def _(
    mechanism: TruncatedGeometric, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    if counts.size != 2:
        raise ValueError(f"counts must have 2 categories for geometric, got {counts.size}")
    n = int(counts.sum())
    step = samplers.two_sided_geometric(source, Fraction(mechanism.epsilon))
    noisy = _whole(np.array([int(counts[0]) + step], dtype=object))
    first = np.clip(noisy, 0, n)
    return noisy, np.append(first, n - first)


@draw.register
def _(
    mechanism: SumZeroLattice, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    step = samplers.lattice(source, counts.size, Fraction(mechanism.epsilon))
    noisy = _whole(counts + np.array(step, dtype=object))
    return noisy, project(noisy[None, :], mechanism.projection)[0]


@draw.register
def _(
    mechanism: ExponentialMechanism, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    if mechanism.metric != "hellinger":
        raise ValueError(f"metric must be hellinger for a release, got {mechanism.metric!r}")
    chosen = draw_candidate(source, counts, prior, safe_rate(mechanism, counts, prior))
    return chosen, chosen


@draw.register
def _(
    mechanism: PermuteAndFlip, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    if mechanism.metric != "hellinger":
        raise ValueError(f"metric must be hellinger for a release, got {mechanism.metric!r}")
    rate = safe_rate(mechanism.scores_like, counts, prior)
    chosen = draw_flip(source, counts, prior, rate)
    return chosen, chosen


def safe_rate(
    mechanism: ExponentialMechanism, counts: Counts, prior: NDArray[np.float64]
) -> Fraction:
    """Return the rate lambda of the weights, lowered by what rounding in S could cost.

    S is a float with relative error e below 1e-12. For two neighbours the exponents then differ
    by at most (epsilon/2) (1 - s) + 2 e epsilon / S, since H <= 1; the slack s = 4 e / S keeps
    that within epsilon/2.
    """
    sensitivity = Fraction(mechanism.sensitivity(counts, prior).value)
    slack = min(Fraction(1, 2), 4 * _ROUNDING / sensitivity)
    return Fraction(mechanism.epsilon) * (1 - slack) / (Fraction(mechanism.factor) * sensitivity)


def _whole(values: NDArray[np.object_]) -> Counts:
    # Noise has no largest value; cutting at 2^62 is post-processing and keeps the arrays plain.
    return np.array([max(-(2**62), min(2**62, int(value))) for value in values], dtype=np.int64)
