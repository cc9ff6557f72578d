"""Moments of the affinity where released counts sum to more than n, by tilted transforms.

There the last count is 0 and the released total is n + d, so that
E[BC^j; sum of steps = m] = (q_1 * … * q_{k-1})(m) exp(j psi_last(0) - j psi_total(n + d)),
d = m - x_k. The last factor grows with d, so that a plain transform would lose the small values it
multiplies: each m is read from the transform tilted by e^(theta step) whose mean lies next to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.product.convolution import UNSEEN, Factor, wrap_length

LARGEST_WORK = 300_000_000
"""Numbers transformed at all tilts together: more takes a quarter of a minute and up."""

_DEPTH = 92.0
_LOG_ROUNDING = -50.0 * float(np.log(2.0))
_LOG_PART = float(np.log(1e-11))  # a moment is known well enough within this part of it

Shown = tuple[NDArray[np.float64], NDArray[np.float64], int]


def excess_moments(
    factors: Sequence[Factor],
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    powers: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[BC^j; released total above n] for each power j >= 0, and bounds on its error.

    After `LARGEST_WORK` the bounds are all that is left: they say that nothing is known.
    """
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
    closest = merged_affinity(prior, counts, sums)
    tilts = LARGEST_WORK // (length * (len(factors) + 1))
    none = np.zeros(sums.size)
    likely, loose, near = _log_sums(factors, 0.0, sums, none, none, length, tilts, {0: 0.0})
    most = np.logaddexp(likely, loose + _LOG_ROUNDING)
    for i, power in enumerate(powers):
        gains, limits = float(power) * (emptied - totals), most + float(power) * closest
        logs, bounds, near = _log_sums(
            factors, float(power), sums, gains, limits, length, tilts, near
        )
        tilts -= len(near)
        moments[i] = float(np.exp(np.minimum(logs + gains, limits)).sum())
        errors[i] = float(np.exp(np.minimum(bounds + gains + _LOG_ROUNDING, limits)).sum())
    return moments, errors + beyond


def merged_affinity(
    prior: NDArray[np.float64], counts: NDArray[np.int64], sums: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return bounds on ln BC where the steps sum to `sums` > counts[-1], of the same shape.

    Merging the categories before the last one only raises BC: a marginal is closer.
    """
    merged, last = int(counts[:-1].sum()), int(counts[-1])
    free = affinity_of_counts(float(prior[:-1].sum()), merged, merged + sums)
    total = affinity_of_counts(float(prior.sum()), merged + last, merged + sums)
    return np.asarray(free + affinity_of_counts(prior[-1], last, 0) - total)


def excess_gap(
    factors: Sequence[Factor], prior: NDArray[np.float64], counts: NDArray[np.int64]
) -> float:
    """Return a number > 0 that -ln BC reaches wherever `excess_moments` sums.

    Where the last category has records it is found empty, which alone moves the posterior.
    """
    last = int(counts[-1])
    sums = np.arange(last + 1, max(wrap_length(factors)[1], last + 1) + 1)
    return float(-merged_affinity(prior, counts, sums).max())


def _beyond(
    prior: NDArray[np.float64], counts: NDArray[np.int64], first: int, powers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return bounds on the part of sums from `first` on, which have probability 2 e^-46 at most."""
    closest = float(merged_affinity(prior, counts, np.array([first]))[0])
    return np.asarray(2.0 * np.exp(powers * closest - UNSEEN))


def _log_sums(
    factors: Sequence[Factor],
    power: float,
    sums: NDArray[np.int64],
    gains: NDArray[np.float64],
    limits: NDArray[np.float64],
    length: int,
    tilts: int,
    near: Mapping[int, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[int, float]]:
    """Return ln of the convolution at each sum, of Chernoff's bound on it, and the tilts used.

    Each tilt is the one of the sum of whose part of the moment, ln of it at most `limits`, rounding
    hides most, until that is a small part of what is told or no `tilts` are left. `near` holds
    tilts by their sums that served another power: the search begins there.
    """
    shown = [_shown(f, power) for f in factors]
    places = [f.steps % length for f in factors]
    logs, best = np.full(sums.size, -np.inf), np.full(sums.size, np.inf)
    waiting = np.ones(sums.size, dtype=bool)
    used: dict[int, float] = {}
    target, theta = 0, 0.0
    while True:
        used[target] = theta
        bound, found = _tilted(shown, places, theta, sums, length)
        logs, best = np.where(bound < best, found, logs), np.minimum(bound, best)
        hidden = np.minimum(best + gains + _LOG_ROUNDING, limits)
        told = np.logaddexp.reduce(np.minimum(logs + gains, limits))
        enough = np.logaddexp.reduce(hidden) < max(told + _LOG_PART, -_DEPTH)
        if enough or len(used) >= tilts or not waiting.any():
            return logs, best, used
        place = int(np.argmax(np.where(waiting, hidden, -np.inf)))
        waiting[place] = False
        target = int(sums[place])
        theta = _tilt(shown, target, float(np.interp(target, [*near], [*near.values()])))


def _tilted(
    shown: Sequence[Shown],
    places: Sequence[NDArray[np.int64]],
    theta: float,
    sums: NDArray[np.int64],
    length: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln of Chernoff's bound on the convolution, and of the convolution, read at a tilt."""
    scale, product = 0.0, np.ones(length // 2 + 1, dtype=np.complex128)
    for (steps, log_masses, copies), at in zip(shown, places, strict=True):
        tilted = log_masses + theta * steps
        peak = float(tilted.max())
        masses = np.exp(tilted - peak)
        size = float(masses.sum())
        scale += copies * (peak + np.log(size))
        product *= np.fft.rfft(np.bincount(at, masses / size, length)) ** copies
    bound = np.asarray(scale - theta * sums, dtype=np.float64)
    found = np.maximum(np.fft.irfft(product, length)[sums % length], 0.0)
    with np.errstate(divide="ignore"):
        return bound, np.asarray(np.log(found) + bound)


def _shown(factor: Factor, power: float) -> Shown:
    with np.errstate(divide="ignore"):
        logs = np.log(factor.probabilities) + power * factor.log_affinity
    return factor.steps.astype(np.float64), logs, factor.copies


def _tilt(shown: Sequence[Shown], target: int, start: float) -> float:
    """Return the theta >= 0 whose tilted sum has the target as its mean, or 0 if that is larger.

    Either the mean is met within a hundredth of a standard deviation, which loosens Chernoff's
    bound by a factor of 1.0001 at most, or theta is known within a part in ten thousand.
    """
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
