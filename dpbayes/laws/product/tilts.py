"""Sums of weighted steps read from transforms that are tilted by e^(theta step), place by place.

A tilted sum lies within a few standard deviations of its mean, and so do the steps that make it up:
a tilt looks at these alone, however far the weights reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from dpbayes.laws.product.tilted_steps import HIDDEN, Steps, Tilted

_STRONG = 1e-4  # of the largest weight of a sum: smaller ones are left to another tilt
_STEP = 7.2  # standard deviations to the next tilt
_FULL, _FAR = 4096, 40.0  # sums, and standard deviations of them, that are all read
_RESOLVED = 0.5  # in logarithms, where no tilt serves some sums
_LONG, _AHEAD = 1 << 20, 6.0  # sums, and standard deviations of them
_LARGEST_THETA = 1e18
_MANY = 1 << 21  # weights that are not kept until they are transformed
_TOGETHER = 1 << 16  # sums, so that what is read of them takes no memory to speak of


@dataclass(frozen=True)
class Reading:
    """The weights of sums from `first` on, tilted and divided by e^`scale`, their mean and spread.

    Their logarithms are those of `weights` plus scale - theta sum.
    """

    theta: float
    scale: float
    mean: float
    spread: float
    first: int
    weights: NDArray[np.float64]
    work: int


def read(parts: Sequence[Steps], theta: float, with_weights: bool = True) -> Reading:
    """Return what the tilt by e^(theta step) shows; mean and spread alone if no weights are asked.

    >>> coin = Steps(0, np.log([0.25, 0.5, 0.25]), copies=2)
    >>> found = read([coin], 0.0)
    >>> found.mean, found.weights.round(4).tolist()
    (2.0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    scale, mean, variance, length = 0.0, 0.0, 0.0, 1
    tilted = [Tilted(part, theta) for part in parts]
    keep = with_weights and sum(one.stop - one.start for one in tilted) <= _MANY
    for one in tilted:
        copies, centre, spread, size = one.measured(keep)
        scale += copies * size
        mean += copies * centre
        variance += copies * spread
        length += copies * (one.stop - one.start - 1)
    first = sum(one.part.copies * (one.part.first + one.start) for one in tilted)
    work, spread = sum(one.stop - one.start for one in tilted), float(np.sqrt(variance))
    if not with_weights:  # what may be millions is not read again
        return Reading(theta, scale, mean, spread, first, np.zeros(0), work)
    lowest = first
    if length > max(_FULL, _FAR * spread):
        low, high = (_reach(tilted, sign, spread) for sign in (-1.0, 1.0))
        lowest = max(first, int(mean) - low)
        length = min(first + length, int(mean) + high + 2) - lowest
        work *= 2
    around = next_fast_len(length, real=True)
    spectrum = np.ones(1)
    for one in tilted:
        mine = _spectrum(one.masses(), one.part.copies, around)
        spectrum = np.multiply(mine, spectrum, out=mine)
    weights = np.roll(np.fft.irfft(spectrum, around), (first - lowest) % around)[:length]
    np.maximum(weights, 0.0, out=weights)
    return Reading(theta, scale, mean, spread, lowest, weights, work + (len(parts) + 1) * around)


def _reach(tilted: Sequence[Tilted], sign: float, spread: float) -> int:
    """Return how far beyond the mean, on one side, sums have together less than e^-46 (Chernoff).

    The best exponent for a normal law is tried, and half of it as long as that is better.
    """
    best, delta = np.inf, 2.0 * float(np.sqrt(2.0 * HIDDEN)) / spread
    while True:
        delta *= 0.5
        found = (HIDDEN + sum(one.growth(sign * delta) for one in tilted)) / delta
        if not found < best:
            return int(np.ceil(best))
        best = found


def _spectrum(masses: NDArray[np.float64], copies: int, around: int) -> NDArray[Any]:
    """Return the transform of one factor's copies; a power of one is no second array."""
    # Transforms of scipy would keep a table for each length, 13 MB at a million steps.
    if masses.size > around:  # more than once around
        masses = np.append(masses, np.zeros(-masses.size % around)).reshape(-1, around).sum(axis=0)
    spectrum = np.fft.rfft(masses, around)
    if copies > 1:
        spectrum **= copies
    return np.asarray(spectrum)


def tilt(parts: Sequence[Steps], target: float) -> float:
    """Return the theta >= 0 whose tilted sum has the target as its mean, or 0 if that is larger.

    Either the mean is met within a tenth of a standard deviation, or theta is known within a part
    in ten thousand.
    """
    # Newton's steps on the mean, whose slope is the variance; kept between what was seen to be too
    # small and too large, and halved or doubled where they leave that.
    low, high, theta = 0.0, np.inf, 0.0
    for _ in range(100):
        found = read(parts, theta, with_weights=False)
        gap = target - found.mean
        if abs(gap) <= 0.1 * found.spread or (gap <= 0.0 and theta == 0.0):
            break
        low, high = (theta, high) if gap > 0.0 else (low, theta)
        if high - low < 1e-4 * high or low > _LARGEST_THETA:
            break
        theta += gap / found.spread**2 if found.spread > 0.0 else np.inf
        if not low < theta < high or theta > 4.0 * low + 1.0:
            theta = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low + 1.0
    return theta


def chernoff(
    parts: Sequence[Steps], sums: NDArray[np.int64], tilts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least of the bounds on ln of the weight of each sum that these tilts give."""
    least = np.full(sums.size, np.inf)
    for theta in tilts.tolist():
        bound = -theta * sums
        bound += read(parts, theta, with_weights=False).scale
        np.minimum(least, bound, out=least)
    return least


def swept(
    parts: Sequence[Steps], sums: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return ln of the weight of each of successive sums, of 2^50 times its error, and work.

    Rounding hides at most 2^-50 of Chernoff's bound, and of the weight as much for each unit of the
    exponents. No sum is to be larger than the largest of all. A tilt serves the sums whose tilted
    weights are within a factor 10^4 of the largest, the next one those beyond, and the first one
    all smaller sums. What is left when the work exceeds `most` is said to be bounded by nothing.

    >>> walk = Steps(-400, -np.abs(np.arange(-400.0, 401.0)))
    >>> logs, _, _ = swept([walk], np.arange(1, 401), 10**6)
    >>> float(np.abs(logs + np.arange(1, 401)).max()) < 1e-10
    True
    """
    found_so_far = np.full((3, sums.size), np.inf)  # logarithms, their bounds, and exponents
    found_so_far[0] = -np.inf
    start, work, served = int(sums[0]), 0, 0
    known, theta = 0.0, tilt(parts, float(start))
    long = sum(part.copies * part.size for part in parts) > _LONG
    while served < sums.size and work <= most and theta < _LARGEST_THETA:
        if long:  # do not transform what lies far beyond
            ahead = read(parts, theta, with_weights=False)
            work, low = work + ahead.work, int(ahead.mean - _AHEAD * ahead.spread) - start
            if low > served and (theta - known) * (low - served) > _RESOLVED:
                theta = 0.5 * (known + theta)
                continue
        found = read(parts, theta)
        work += found.work
        strong = np.flatnonzero(found.weights > _STRONG * found.weights.max())
        low, high = (int(place) + found.first - start for place in strong[[0, -1]])
        if low > served and (theta - known) * (low - served) > _RESOLVED:
            theta = 0.5 * (known + theta)
            continue
        for place in range(max(min(low, served), 0), min(high + 1, sums.size), _TOGETHER):
            some = slice(place, min(place + _TOGETHER, high + 1))
            _take(found, sums[some], found_so_far[:, some])
        served, known = max(served, min(high + 1, sums.size)), theta
        theta = min(theta + _STEP / max(found.spread, 1e-3), 2.0 * theta + 10.0)
    logs, bounds, exponents = found_so_far
    with np.errstate(divide="ignore", invalid="ignore"):
        np.log(exponents, out=exponents)
        exponents += logs
    exponents[~np.isfinite(logs)] = -np.inf
    np.logaddexp(bounds, exponents, out=bounds)
    return logs, bounds, work


def _take(found: Reading, sums: NDArray[np.int64], known: NDArray[np.float64]) -> None:
    """Keep what this reading says of some sums where its bound is better than what is known."""
    bound = found.scale - found.theta * sums
    place = sums - found.first
    inside = (place >= 0) & (place < found.weights.size)
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(inside, found.weights.take(place, mode="clip"), 0.0)) + bound
    exponents = 1.0 + np.abs(bound) + 2.0 * found.theta * np.abs(sums)
    better = bound < known[1]
    known[:, better] = np.stack((logs, bound, exponents))[:, better]
