"""Moments of the affinity where released counts sum to more than n, by tilted transforms.

There the last count is 0 and the released total is n + d, so that
E[BC^j; sum of steps = m] = (q_1 * … * q_{k-1})(m) exp(j psi_last(0) - j psi_total(n + d)),
d = m - x_k. The last factor grows with d, so that a plain transform would lose the small values it
multiplies: each m is read from a transform tilted by e^(theta step) whose mean lies next to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.product.convolution import UNSEEN, Factor, wrap_length
from dpbayes.laws.product.narrow import Weights, narrow_sums
from dpbayes.laws.product.tilted_steps import Steps, steps_of
from dpbayes.laws.product.tilts import chernoff, swept

LARGEST_WORK = 1_000_000_000
"""Numbers looked at and transformed for all powers: more takes a quarter of a minute and up."""

_LOG_ROUNDING = -50.0 * float(np.log(2.0))
_ROUNDING, _OF_PSI = 2.0**-52, 8.0  # of a number, and how many times that of psi
_GAP_ROUNDING = 2.0**-48
_FEW = 160  # terms of each sum: more take longer than tilts
_TILTS = np.geomspace(0.5, 600.0, 30)  # of all steps of a factor, without an affinity
_NEXT_TRY = 5.0  # times a power that has many
_SLACK = 1e-9  # for the rounding of limits
_SMALL = 1e-15  # no part of all limits that is as small is looked at


class ExcessMoments:
    """E[BC^j; released total above n] for one power j >= 0 after the other, best in rising order.

    Sums that add up to `neglect` at most are not looked at; they count for the error. `reach` is
    what `wrap_length` says of the factors.

    >>> steps = np.arange(-3, 9)
    >>> masses = np.exp(-np.abs(steps)) / np.exp(-np.abs(steps)).sum()
    >>> part = Factor(-3, np.log(masses), affinity_of_counts(1.0, 3, 3 + steps))
    >>> found = ExcessMoments([part], np.ones(2), np.array([3, 0]))
    >>> round(found.moment(0.0)[0], 12) == round(float(masses[4:].sum()), 12)
    True
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        prior: NDArray[np.float64],
        counts: NDArray[np.int64],
        neglect: float = 0.0,
        reach: tuple[int, int] | None = None,
    ) -> None:
        self.factors, self.prior, self.counts, self.neglect = factors, prior, counts, neglect
        last, n = int(counts[-1]), int(counts.sum())
        _, self.up = wrap_length(factors) if reach is None else reach
        farthest = sum(int(f.steps[-1]) * f.copies for f in factors)
        self.sums = np.arange(last + 1, min(self.up, farthest) + 1)
        self.cut = self.up < farthest
        self.work = LARGEST_WORK
        if self.sums.size:
            emptied = float(affinity_of_counts(prior[-1], last, 0))
            self.gains = emptied - affinity_of_counts(float(prior.sum()), n, n + self.sums - last)
            self.closest = merged_affinity(prior, counts, self.sums)
            widest = max(factor.log_probabilities.size for factor in factors)
            tilts = np.append(0.0, _TILTS / widest)
            self.likely = chernoff(steps_of(factors, 0.0), self.sums, tilts)
            self.known, self.power = self.likely, 0.0
            self.many = 0.0

    def renewed(self) -> ExcessMoments:
        """Return these sums with all of the work before them, whatever was asked so far."""
        self.work = LARGEST_WORK
        return self

    @property
    def costly(self) -> bool:
        """Whether a tenth of the work is done."""
        return self.work < 0.9 * LARGEST_WORK

    def moment(self, power: float) -> tuple[float, float]:
        """Return E[BC^power; released total above n] and a bound on its error.

        After `LARGEST_WORK` the bound is all that is left: it says that nothing is known.
        """
        beyond = self._beyond(power)
        if not self.sums.size:
            return 0.0, beyond
        # BC^j is at most BC^i times a bound on BC^(j - i).
        known, less = (self.known, self.power) if power > self.power else (self.likely, 0.0)
        limits = known + (power - less) * self.closest + _SLACK
        some, missed = _worth(limits, self.neglect)
        self.known, self.power = limits, power
        if some.stop == some.start:
            return 0.0, missed + beyond
        sums, limits, gains = self.sums[some], limits[some], power * self.gains[some]
        parts = steps_of(self.factors, power)
        direct = self._few_terms(parts, sums, power)
        logs, bounds, work = swept(parts, sums, self.work) if direct is None else direct
        self.work -= work
        # In place: these arrays are as long as the noise reaches, and several live at once.
        found = np.minimum(np.add(logs, gains, out=logs), limits, out=logs)
        hidden = np.minimum(np.add(bounds, gains, out=bounds), 700.0, out=bounds)
        hidden += _LOG_ROUNDING
        lost = np.abs(gains, out=gains)
        lost *= _OF_PSI
        lost += 4.0
        lost *= _ROUNDING
        np.log(lost, out=lost)
        lost += found
        np.logaddexp(hidden, lost, out=hidden)
        error = float(np.exp(np.minimum(hidden, limits, out=lost), out=lost).sum())
        # These limits are part of what is known, and read for the last time.
        np.minimum(np.logaddexp(found, hidden, out=hidden), limits, out=limits)
        return float(np.exp(found, out=found).sum()), error + missed + beyond

    def _few_terms(
        self, parts: Sequence[Steps], sums: NDArray[np.int64], power: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int] | None:
        """Return `few_terms`, but of successive powers only some are tried until one has few."""
        if self.many <= power < _NEXT_TRY * self.many:
            return None
        found = few_terms(parts, sums, min(self.work, _FEW * sums.size * _pairs(parts)))
        self.many = power if found is None else 0.0
        return found

    def _beyond(self, power: float) -> float:
        """Return a bound on the part of sums beyond the last, which has probability 2 e^-46."""
        if not self.cut:
            return 0.0
        first = max(int(self.sums[-1]) if self.sums.size else self.up, int(self.counts[-1])) + 1
        closest = float(merged_affinity(self.prior, self.counts, np.array([first]))[0])
        return float(2.0 * np.exp(power * closest - UNSEEN))


def excess_moments(
    factors: Sequence[Factor],
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    powers: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the moments of `ExcessMoments` for all powers, and bounds on their errors."""
    sums = ExcessMoments(factors, prior, counts)
    found = [sums.moment(power) for power in np.atleast_1d(np.asarray(powers)).tolist()]
    moments, errors = zip(*found, strict=True)
    return np.array(moments), np.array(errors)


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


def excess_gap(prior: NDArray[np.float64], counts: NDArray[np.int64], up: int) -> float:
    """Return a number of at least 0 that -ln BC reaches where steps sum to `up` at most.

    Where the last category has records it is found empty, which alone moves the posterior. Where
    it has none and a tiny prior, all that is known may be less than the rounding, and 0 is said.
    """
    last, n = int(counts[-1]), int(counts.sum())
    sums = np.arange(last + 1, max(up, last + 1) + 1)
    totals = affinity_of_counts(float(prior.sum()), n, n + sums - last)
    lost = _GAP_ROUNDING * np.abs(totals)
    return max(float((-merged_affinity(prior, counts, sums) - lost).min()), 0.0)


def _worth(limits: NDArray[np.float64], neglect: float) -> tuple[slice, float]:
    """Return where the limits are, but for a small part, and this part."""
    sizes = np.exp(limits)
    small = max(_SMALL * float(sizes.sum()), 0.5 * neglect)
    running = np.cumsum(sizes)
    first = int(np.searchsorted(running, small, side="right"))
    np.cumsum(sizes[::-1], out=running)
    last = sizes.size - int(np.searchsorted(running, small, side="right"))
    if last <= first:
        return slice(0, 0), float(sizes.sum())
    missed = float(sizes[:first].sum() + sizes[last:].sum())
    return slice(first, last), missed


def _pairs(parts: Sequence[Steps]) -> int:
    return sum(part.copies for part in parts) - 1


def few_terms(
    parts: Sequence[Steps], sums: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int] | None:
    """Return ln of the convolution at each sum, of 2^50 times its error, and the number of terms.

    None if these are more than `most`, or may not be left out where they are small.
    """
    if any(part.more is not None for part in parts):  # too long to be kept, and to have few terms
        return None
    every = [Weights(part.first, part.logs) for part in parts for _ in range(part.copies)]
    whole = len(every) > 1 and all(np.isfinite(part.logs).all() for part in every)
    found = narrow_sums(every, int(sums[0]), most, int(sums[-1])) if whole else None
    if found is None or found.weights.first != sums[0]:
        return None
    logs, bounds = np.full((2, sums.size), -np.inf)
    size = min(sums.size, found.doubt.size)
    logs[:size] = found.weights.logs[:size]
    bounds[:size] = logs[:size] + np.log(found.doubt[:size])
    return logs, bounds, found.terms
