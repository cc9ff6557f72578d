"""Moments of the affinity where released counts sum to more than n, by tilted transforms.

There the last count is 0 and the released total is n + d, so that
E[BC^j; sum of steps = m] = (q_1 * … * q_{k-1})(m) exp(j psi_last(0) - j psi_total(n + d)),
d = m - x_k. The last factor grows with d, so that a plain transform would lose the small values it
multiplies: each m is read from the transform tilted by e^(theta step) whose mean lies next to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.product.convolution import UNSEEN, Factor, wrap_length
from dpbayes.laws.product.narrow import Weights, narrow_sums

LARGEST_WORK = 1_000_000_000
"""Numbers looked at and transformed for all tilts: more takes a quarter of a minute and up."""

_DEPTH = 92.0
_LOG_ROUNDING = -50.0 * float(np.log(2.0))
_GAP_ROUNDING = 2.0**-48
_TERMS = 2  # a term of a sum takes as long as so many parts of a node
_LOOKS = 6  # at each step, while a tilt is sought
_SLACK = 1e-9  # for the rounding of limits
_HIDDEN = 1e-20  # of the largest weight of a factor
_LOG_PART = float(np.log(1e-11))  # a moment is known well enough within this part of it


@dataclass(frozen=True)
class Rows:
    """Steps of each factor, shape (f, w), ln of their weights, -inf beyond the last, and copies."""

    steps: NDArray[np.float64]
    logs: NDArray[np.float64]
    copies: NDArray[np.int64]

    def tilted(self, theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights times e^(theta step), each row with the sum 1, and ln of the sums."""
        logs = self.logs + theta * self.steps
        peaks = logs.max(axis=1)
        masses = np.exp(logs - peaks[:, None])
        sizes = masses.sum(axis=1)
        return masses / sizes[:, None], peaks + np.log(sizes)

    def weights(self) -> list[Weights | None]:
        """Return each factor, copies too, from its first weight above 0 to its last one.

        None for a factor that has a weight of 0 in between.
        """
        found = []
        for steps, logs, copies in zip(self.steps, self.logs, self.copies.tolist(), strict=True):
            known = np.flatnonzero(np.isfinite(logs))
            first, last = int(known[0]), int(known[-1])
            gapless = last - first + 1 == known.size
            one = Weights(int(steps[first]), logs[first : last + 1]) if gapless else None
            found += [one] * copies
        return found


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
    none, start = np.zeros(sums.size), {0: 0.0}
    likely, loose, near, work = _log_sums(
        rows_of(factors, 0.0), sums, none, none, length, LARGEST_WORK, start
    )
    spent = 0
    most = np.logaddexp(likely, loose + _LOG_ROUNDING)
    for i, power in enumerate(powers):
        gains, limits = float(power) * (emptied - totals), most + float(power) * closest + _SLACK
        rows = rows_of(factors, float(power))
        direct = _few_terms(rows, sums, min(work, _TERMS * spent))
        if direct is None:
            left = work
            logs, bounds, near, work = _log_sums(rows, sums, gains, limits, length, left, near)
            spent = left - work
        else:
            logs, bounds, terms = direct
            work -= terms
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
    return np.asarray(np.minimum(free + affinity_of_counts(prior[-1], last, 0) - total, 0.0))


def excess_gap(
    factors: Sequence[Factor], prior: NDArray[np.float64], counts: NDArray[np.int64]
) -> float:
    """Return a number of at least 0 that -ln BC reaches wherever `excess_moments` sums.

    Where the last category has records it is found empty, which alone moves the posterior. Where
    it has none and a tiny prior, all that is known may be less than the rounding, and 0 is said.
    """
    last, n = int(counts[-1]), int(counts.sum())
    sums = np.arange(last + 1, max(wrap_length(factors)[1], last + 1) + 1)
    totals = affinity_of_counts(float(prior.sum()), n, n + sums - last)
    lost = _GAP_ROUNDING * np.abs(totals)
    return max(float((-merged_affinity(prior, counts, sums) - lost).min()), 0.0)


def _beyond(
    prior: NDArray[np.float64], counts: NDArray[np.int64], first: int, powers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return bounds on the part of sums from `first` on, which have probability 2 e^-46 at most."""
    closest = float(merged_affinity(prior, counts, np.array([first]))[0])
    return np.asarray(2.0 * np.exp(powers * closest - UNSEEN))


def _few_terms(
    rows: Rows, sums: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int] | None:
    """Return ln of the convolution at each sum, of 2^50 times its error, and the number of terms.

    None if these are more than `most`, or may not be left out where they are small.
    """
    parts = [part for part in rows.weights() if part is not None]
    whole = len(parts) == int(rows.copies.sum()) > 1
    found = narrow_sums(parts, int(sums[0]), most) if whole else None
    if found is None or found.weights.first != sums[0]:
        return None
    logs, bounds = np.full((2, sums.size), -np.inf)
    size = min(sums.size, found.doubt.size)
    logs[:size] = found.weights.logs[:size]
    bounds[:size] = logs[:size] + np.log(found.doubt[:size])
    return logs, bounds, found.terms


def _log_sums(
    rows: Rows,
    sums: NDArray[np.int64],
    gains: NDArray[np.float64],
    limits: NDArray[np.float64],
    length: int,
    work: int,
    near: Mapping[int, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[int, float], int]:
    """Return ln of the convolution at each sum, of Chernoff's bound on it, tilts, and work left.

    Each tilt is the one of the sum of whose part of the moment, ln of it at most `limits`, rounding
    hides most, until that is a small part of what is told or no `work` is left. `near` holds
    tilts by their sums that served another power: the search begins there.
    """
    logs, best = np.full(sums.size, -np.inf), np.full(sums.size, np.inf)
    waiting = np.ones(sums.size, dtype=bool)
    used: dict[int, float] = {}
    places, target, theta = sorted(near), 0, 0.0
    while True:
        used[target] = theta
        bound, found, nodes = _read(rows, theta, sums, length)
        work -= _LOOKS * rows.steps.size + nodes
        logs, best = np.where(bound < best, found, logs), np.minimum(bound, best)
        hidden = np.minimum(best + gains + _LOG_ROUNDING, limits)
        told = np.logaddexp.reduce(np.minimum(logs + gains, limits))
        enough = np.logaddexp.reduce(hidden) < max(told + _LOG_PART, -_DEPTH)
        if enough or work <= 0 or not waiting.any():
            return logs, best, used, work
        target = int(sums[np.argmax(np.where(waiting, hidden, -np.inf))])
        theta = _tilt(rows, target, float(np.interp(target, places, [near[m] for m in places])))
        _, variance = _moments(rows, theta)
        waiting &= np.abs(sums - target) > 0.5 * np.sqrt(variance)  # it serves these as well


def _read(
    rows: Rows, theta: float, sums: NDArray[np.int64], length: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return ln of Chernoff's bound on the convolution and of the convolution, and nodes taken.

    Steps whose weight the rounding hides are left out, so that the circle can be short; sums that
    the others do not reach are read as nothing.
    """
    masses, scales = rows.tilted(theta)
    kept = masses > masses.max(axis=1, keepdims=True) * _HIDDEN
    first = np.where(kept, rows.steps, np.inf).min(axis=1).astype(np.int64)
    last = np.where(kept, rows.steps, -np.inf).max(axis=1).astype(np.int64)
    lowest, highest = int(rows.copies @ first), int(rows.copies @ last)
    around = min(length, 1 << (highest - lowest).bit_length())
    row, at = np.nonzero(kept)
    places = row * around + rows.steps[row, at].astype(np.int64) % around
    circles = np.bincount(places, masses[row, at], rows.copies.size * around)
    spectra = np.fft.rfft(circles.reshape(-1, around), axis=1) ** rows.copies[:, None]
    found = np.maximum(np.fft.irfft(spectra.prod(axis=0), around)[sums % around], 0.0)
    bound = np.asarray(rows.copies @ scales - theta * sums, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(np.where((lowest <= sums) & (sums <= highest), found, 0.0))
    return bound, np.asarray(logs + bound), circles.size


def rows_of(factors: Sequence[Factor], power: float) -> Rows:
    """Return the factors, each weighted by a power of its affinity, as rows of one length."""
    width = max(factor.probabilities.size for factor in factors)
    steps = np.array([f.steps[0] + np.arange(width) for f in factors], dtype=np.float64)
    logs = np.full(steps.shape, -np.inf)
    for row, factor in zip(logs, factors, strict=True):
        with np.errstate(divide="ignore"):
            known = np.log(factor.probabilities) + power * factor.log_affinity
        row[: known.size] = known
    return Rows(steps, logs, np.array([factor.copies for factor in factors]))


def _tilt(rows: Rows, target: int, start: float) -> float:
    """Return the theta >= 0 whose tilted sum has the target as its mean, or 0 if that is larger.

    Either the mean is met within a hundredth of a standard deviation, which loosens Chernoff's
    bound by a factor of 1.0001 at most, or theta is known within a part in ten thousand.
    """
    # Newton's steps on the mean, whose slope is the variance; kept between what was seen to be too
    # small and too large, and halved or doubled where they leave that.
    low, high, theta = 0.0, np.inf, start
    for _ in range(100):
        mean, variance = _moments(rows, theta)
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


def _moments(rows: Rows, theta: float) -> tuple[float, float]:
    """Return mean and variance of the sum of all steps under the tilt."""
    masses, _ = rows.tilted(theta)
    centres = np.sum(masses * rows.steps, axis=1)
    spreads = np.sum(masses * (rows.steps - centres[:, None]) ** 2, axis=1)
    return float(rows.copies @ centres), float(rows.copies @ spreads)
