"""Moments of the affinity where released counts sum to more than n, by tilted transforms.

There the last count is 0 and the released total is n + d, so that
E[BC^j; sum of steps = m] = (q_1 * … * q_{k-1})(m) exp(j psi_last(0) - j psi_total(n + d)),
d = m - x_k. The last factor grows with d, so that a plain transform would lose the small values it
multiplies: each m is read from the transform tilted by e^(theta step) whose mean lies next to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.product.convolution import UNSEEN, Factor, wrap_length

_DEPTH = 92.0


_FEW_SUMS = 40
_LOG_ROUNDING = -50.0 * float(np.log(2.0))


def excess_moments(
    factors: Sequence[Factor],
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    powers: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[BC^j; released total above n] for each power j >= 0, and bounds for rounding."""
    last, n = int(counts[-1]), int(counts.sum())
    down, up = wrap_length(factors)
    farthest = sum(int(f.steps[-1]) * f.copies for f in factors)
    highest = min(up, farthest)
    beyond = _beyond(prior, counts, max(highest, last) + 1, powers) if up < farthest else 0.0
    if highest <= last:
        return np.zeros(powers.size), beyond + np.zeros(powers.size)
    sums = np.arange(last + 1, highest + 1)
    emptied = float(affinity_of_counts(prior[-1], last, 0))
    totals = affinity_of_counts(float(prior.sum()), n, n + sums - last)
    width = sum((f.probabilities.size - 1) * f.copies for f in factors) + 1
    length = 1 << int(min(width, 4 * (down + up)) + highest).bit_length()
    moments, errors = np.empty(powers.size), np.empty(powers.size)
    # BC is at most 1: no moment is larger than the probability of its sum, whatever the power.
    likely, loose, near = _log_sums(factors, 0.0, sums, np.zeros(sums.size), length, [])
    most = np.logaddexp(likely, loose + _LOG_ROUNDING)
    for i, power in enumerate(powers):
        gains = float(power) * (emptied - totals)
        logs, bounds, near = _log_sums(factors, float(power), sums, gains, length, near)
        moments[i] = float(np.exp(np.minimum(logs + gains, most)).sum())
        errors[i] = float(np.exp(np.minimum(bounds + gains + _LOG_ROUNDING, most)).sum())
    return moments, errors + beyond


def _beyond(
    prior: NDArray[np.float64], counts: NDArray[np.int64], first: int, powers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return bounds on the part of sums from `first` on, which have probability 2 e^-46 at most.

    Merging the categories before the last one only raises BC: a marginal is closer.
    """
    merged, last = int(counts[:-1].sum()), int(counts[-1])
    free = affinity_of_counts(float(prior[:-1].sum()), merged, merged + first)
    emptied = affinity_of_counts(prior[-1], last, 0)
    total = affinity_of_counts(float(prior.sum()), merged + last, merged + first)
    return np.asarray(2.0 * np.exp(powers * float(free + emptied - total) - UNSEEN))


def _log_sums(
    factors: Sequence[Factor],
    power: float,
    sums: NDArray[np.int64],
    gains: NDArray[np.float64],
    length: int,
    near: Sequence[float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[float]]:
    """Return ln of the convolution at each sum, of Chernoff's bound on it, and the tilts used.

    `near` holds the tilts that served another power: the search begins there.
    """
    shown = [_shown(f, power) for f in factors]
    places = [f.steps % length for f in factors]
    # High powers matter next to the smallest sum only, low ones are wide: doubling serves both.
    doubling = 2 ** np.arange(int(sums.size).bit_length())
    # A few sums have a tilt each: under a high power next to the last one may be far away.
    apart = doubling if sums.size > _FEW_SUMS else np.arange(1, sums.size)
    targets = sums[0] + np.append(0, apart[apart < sums.size])
    best = np.full(sums.size, np.inf)
    logs = np.full(sums.size, -np.inf)
    used: list[float] = []
    for theta in _tilts(shown, targets, near):
        used.append(theta)
        scale, product = 0.0, np.ones(length // 2 + 1, dtype=np.complex128)
        for (steps, log_masses, copies), at in zip(shown, places, strict=True):
            tilted = log_masses + theta * steps
            peak = float(tilted.max())
            masses = np.exp(tilted - peak)
            size = float(masses.sum())
            scale += copies * (peak + np.log(size))
            circle = np.bincount(at, masses / size, length)
            product *= np.fft.rfft(circle) ** copies
        bound = scale - theta * sums
        nearer = bound < best
        found = np.maximum(np.fft.irfft(product, length)[sums % length], 0.0)
        with np.errstate(divide="ignore"):
            logs = np.where(nearer, np.log(found) + bound, logs)
        best = np.where(nearer, bound, best)
        if float(np.max(best + gains)) < -_DEPTH:
            break
    return logs, best, used


Shown = tuple[NDArray[np.float64], NDArray[np.float64], int]


def _shown(factor: Factor, power: float) -> Shown:
    with np.errstate(divide="ignore"):
        logs = np.log(factor.probabilities) + power * factor.log_affinity
    return factor.steps.astype(np.float64), logs, factor.copies


def _tilts(
    shown: Sequence[Shown], targets: NDArray[np.int64], near: Sequence[float] = ()
) -> Iterator[float]:
    """Yield 0 and, for each of rising targets, a theta >= 0 whose tilted sum has it as its mean.

    Each is sought from the last one on, or from that of its place in `near` where it is larger.
    Either the mean is met within a hundredth of a standard deviation, which loosens Chernoff's
    bound by a factor of 1.0001 at most, or theta is known within a part in ten thousand.
    """
    theta = 0.0
    yield theta
    for place, target in enumerate(targets, start=1):
        start = max(theta, near[place]) if place < len(near) else theta
        theta = _tilt(shown, int(target), start)
        yield theta


def _tilt(shown: Sequence[Shown], target: int, start: float) -> float:
    # Newton's steps on the mean, whose slope is the variance; kept between what was seen to be too
    # small and too large, and halved or doubled where they leave that.
    low, high, theta = 0.0, np.inf, start
    for _ in range(100):
        mean, variance = _moments(shown, theta)
        gap = target - mean
        if gap * gap <= 1e-4 * variance or (gap <= 0.0 and theta == 0.0) or theta > 1e18:
            break
        low, high = (theta, high) if gap > 0.0 else (low, theta)
        if high - low < 1e-4 * high:
            return high
        step = gap / variance if variance > 0.0 else np.inf
        theta += step
        if not low < theta < high or theta > 4.0 * low + 1.0:
            theta = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low + 1.0
    return theta


def _moments(shown: Sequence[Shown], theta: float) -> tuple[float, float]:
    """Return mean and variance of the sum of all steps under the tilt."""
    mean, variance = 0.0, 0.0
    for steps, logs, copies in shown:
        tilted = logs + theta * steps
        masses = np.exp(tilted - tilted.max())
        masses /= masses.sum()
        centre = float(masses @ steps)
        mean += copies * centre
        variance += copies * float(masses @ (steps - centre) ** 2)
    return mean, variance
