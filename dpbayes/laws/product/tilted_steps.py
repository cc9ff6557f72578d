"""One factor's steps, weighted by a power of its affinity and tilted by e^(theta step)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.product.convolution import Factor

HIDDEN = 46.0
"""So far below the largest weight of a factor, in logarithms, rounding hides steps."""

_MANY = 1 << 21  # weights of all steps that are not kept for each power
_TOGETHER = 1 << 16


@dataclass(frozen=True)
class Steps:
    """One factor: ln of a weight, -inf for none, for each step from `first` on, and copies.

    They are `plain`, or that and a multiple of other numbers, which may be too many to keep.

    >>> Steps(-1, np.array([0.0, 1.0, 1.5, 1.2, 4.0])).inner  # it bends downwards but for its end
    (0, 4)
    >>> Steps(-1, np.array([0.0, -1.0]), more=np.array([-1.0, -3.0]), times=2.0).logs.tolist()
    [-2.0, -7.0]
    """

    first: int
    plain: NDArray[np.float64]
    copies: int = 1
    more: NDArray[np.float64] | None = None
    times: float = 0.0

    @property
    def size(self) -> int:
        """How many steps there are."""
        return self.plain.size

    @property
    def logs(self) -> NDArray[np.float64]:
        """The logarithms of all weights."""
        return self.between(0, self.size)

    def between(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return the logarithms of some weights."""
        if self.more is None:
            return self.plain[start:stop]
        return np.asarray(self.plain[start:stop] + self.times * self.more[start:stop])

    def log(self, place: int) -> float:
        """Return the logarithm of one weight."""
        more = 0.0 if self.more is None else self.times * float(self.more[place])
        return float(self.plain[place]) + more

    @cached_property
    def inner(self) -> tuple[int, int]:
        """Where logarithms bend downwards, from and to: all places, or all but the ends.

        Nowhere, (0, 0), if others do not. Rounding of large logarithms may bend them upwards.
        """
        if not np.isfinite(self.plain).all():
            return 0, 0
        bends = max(self.size - 2, 0)
        blocks = range(0, bends, _TOGETHER)
        found = [place + _upwards(self.between(place, place + _TOGETHER + 2)) for place in blocks]
        upwards = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        start, stop = 0, self.size
        if upwards.size and upwards[0] == 0:
            start, upwards = 1, upwards[1:]
        if upwards.size and upwards[-1] == bends - 1:
            stop, upwards = stop - 1, upwards[:-1]
        return (0, 0) if upwards.size or stop - start < 3 else (start, stop)

    def near(self, theta: float) -> tuple[int, int]:
        """Return places, from and to, outside of which the tilt hides every step."""
        start, stop = self.inner
        if stop == 0:
            tilted = self.logs + theta * np.arange(self.size)
            kept = np.flatnonzero(tilted >= tilted.max() - HIDDEN)
            return int(kept[0]), int(kept[-1]) + 1

        def lost(place: int) -> float:
            return self.log(place) - self.log(place + 1)

        top = bisect_left(range(start, stop - 1), theta, key=lost) + start
        ends = [place for place in (0, self.size - 1) if not start <= place < stop]
        peak = max(self.log(place) + theta * place for place in (top, *ends))
        least = peak - HIDDEN

        def rising(place: int) -> bool:
            return self.log(place) + theta * place >= least

        def falling(place: int) -> bool:
            return self.log(place) + theta * place < least

        low = bisect_left(range(start, top), True, key=rising) + start
        high = bisect_left(range(top, stop), True, key=falling) + top
        low, high = max(low - 1, start), min(high + 1, stop)
        for end in ends:
            if rising(end):
                low, high = min(low, end), max(high, end + 1)
        return low, high


def _upwards(logs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where these logarithms bend upwards by more than their rounding."""
    noise = 2.0**-50 * (1.0 + np.abs(logs[1:-1]))
    return np.flatnonzero(np.diff(logs, 2) > 4.0 * noise)


def steps_of(factors: Sequence[Factor], power: float) -> list[Steps]:
    """Return the factors, each weighted by a power of its affinity."""
    found, large = [], sum(factor.log_probabilities.size for factor in factors) > _MANY
    for factor in factors:
        known = np.flatnonzero(np.isfinite(factor.log_probabilities))
        first, last = int(known[0]), int(known[-1])
        plain, more = (
            logs[first : last + 1] for logs in (factor.log_probabilities, factor.log_affinity)
        )
        start, copies = factor.first + first, factor.copies
        if power == 0.0:
            found.append(Steps(start, plain, copies))
        elif large:
            found.append(Steps(start, plain, copies, more, power))
        else:
            found.append(Steps(start, plain + power * more, copies))
    return found


class Tilted:
    """The steps of one part that a tilt does not hide."""

    def __init__(self, part: Steps, theta: float) -> None:
        self.part, self.theta = part, theta
        self.start, self.stop = part.near(theta)
        self.peak = self.sum = self.centre = 0.0
        self.kept: NDArray[np.float64] | None = None

    @property
    def steps(self) -> NDArray[np.float64]:
        return np.arange(self.part.first + self.start, self.part.first + self.stop, dtype=float)

    def masses(self) -> NDArray[np.float64]:
        """Return the weights over their sum, once that is measured."""
        if self.kept is not None:
            return self.kept
        logs = self._logs(self.steps)
        np.exp(np.subtract(logs, self.peak, out=logs), out=logs)
        return np.divide(logs, self.sum, out=logs)

    def measured(self, keep: bool) -> tuple[int, float, float, float]:
        """Return copies, mean, variance and the logarithm of the sum of weights."""
        steps = self.steps
        logs = self._logs(steps)
        self.peak = float(logs.max())
        masses = np.exp(np.subtract(logs, self.peak, out=logs), out=logs)
        self.sum = float(masses.sum())
        masses /= self.sum
        self.centre = float(masses @ steps)
        steps -= self.centre
        variance = float(masses @ np.square(steps, out=steps))
        self.kept = masses if keep else None
        return self.part.copies, self.centre, variance, self.peak + float(np.log(self.sum))

    def growth(self, delta: float) -> float:
        """Return the logarithm of the mean of e^(delta (step - centre)), all copies together."""
        steps = self.steps
        logs = self._logs(steps)
        logs -= self.peak + float(np.log(self.sum))
        logs += np.multiply(np.subtract(steps, self.centre, out=steps), delta, out=steps)
        most = float(logs.max())  # a far end may weigh more than floats hold
        np.exp(np.subtract(logs, most, out=logs), out=logs)
        return self.part.copies * (most + float(np.log(logs.sum())))

    def _logs(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.part.between(self.start, self.stop) + self.theta * steps)
