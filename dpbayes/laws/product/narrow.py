"""Convolutions of weights that fall fast on both sides, summed term by term in logarithms.

High powers of the affinity leave each released total only a few ways to come about. Then sums of
their weights, all positive, keep their digits where transforms do not, and take fewer terms than
the many tilts that transforms would need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

_DROPPED = 46.0  # so far below the largest term, in logarithms, a sum ends
_FEWEST = 4  # terms on each side of it
_WIDER = 1.5
_TOGETHER = 1 << 13  # so many sums are formed at a time, near the processor


class Weights(NamedTuple):
    """ln of a weight for each step from `first` on, shape (w,)."""

    first: int
    logs: NDArray[np.float64]

    @property
    def concave(self) -> bool:
        """Whether the logarithms bend downwards everywhere.

        >>> Weights(0, np.array([0.0, 2.0, 3.0])).concave, Weights(0, np.arange(3.0)).concave
        (True, False)
        """
        return bool(np.diff(self.logs, 2).max(initial=-np.inf) < 0.0)


class Sums(NamedTuple):
    """Weights of sums, how far rounding may be off in them, and the number of terms they took.

    The error of a weight is at most `doubt`, shape (w,), times 2^-50 of it.
    """

    weights: Weights
    doubt: NDArray[np.float64]
    terms: int


def narrow_sums(
    parts: Sequence[Weights], lowest: int, most: int, highest: int | None = None
) -> Sums | None:
    """Return the weights, at most 1 each, of all sums of one step of each part from `lowest` on.

    Up to `highest`, if it is given. None where a part is not concave, or more than `most` terms
    would be summed. Convolutions of concave logarithms are concave, so that terms fall at least as
    fast beyond a place as on the way to it from the largest: what is left out is at most a part
    e^-46 (1 + v/46) on either side, for v terms within, and less than rounding. Book: `thm-excess`.

    >>> coin = Weights(0, np.log([0.25, 0.5, 0.25]))
    >>> np.exp(narrow_sums([coin, coin], 2, 100).weights.logs).round(4)
    array([0.375 , 0.25  , 0.0625])
    """
    if most <= 0 or not all(part.concave for part in parts):
        return None
    done = Sums(parts[0], np.zeros(parts[0].logs.size), 0)
    for place, part in enumerate(parts[1:], 2):
        start = done.weights.first + part.first
        stop = start + done.weights.logs.size + part.logs.size - 2
        if place == len(parts):
            start, stop = max(lowest, start), stop if highest is None else min(highest, stop)
        if stop < start:
            return None
        found = _Pair(done, part, start, stop).summed(most - done.terms)
        if found is None:
            return None
        done = found._replace(terms=done.terms + found.terms)
    return done


class _Pair:
    """The ways in which each sum from `first` to `last` comes about: a step of each of two."""

    def __init__(self, done: Sums, part: Weights, first: int, last: int) -> None:
        self.logs, self.others, self.doubt = done.weights.logs, part.logs, done.doubt
        self.first = first
        self.sums = np.arange(first, last + 1) - (done.weights.first + part.first)
        self.low = np.maximum(0, self.sums - (self.others.size - 1))
        self.high = np.minimum(self.logs.size - 1, self.sums)

    def summed(self, most: int) -> Sums | None:
        """Return the weights of the sums, or None if they take more than `most` terms."""
        top = self._largest()
        peak, width = self._term(top), _FEWEST
        while self._goes_on(top, peak, width):
            width = int(_WIDER * width)
            if self.sums.size * (2 * width + 1) > most:
                return None
        total = np.empty(self.sums.size)
        # Nothing is added beyond either end of a list.
        beyond = np.full(width, -np.inf)
        logs = np.concatenate((beyond, self.logs, beyond))
        others = np.concatenate((beyond, self.others, beyond))
        for start in range(0, top.size, _TOGETHER):
            some = slice(start, start + _TOGETHER)
            here, there = top[some], self.sums[some] - top[some] + 2 * width
            added = np.zeros(here.size)
            for shift in range(2 * width + 1):
                terms = logs[shift:].take(here)
                terms += others.take(there - shift)
                terms -= peak[some]
                np.minimum(terms, 0.0, out=terms)  # rounding may choose another largest term
                added += np.exp(terms, out=terms)
            total[some] = added
        found = Weights(self.first, peak + np.log(total))
        own = 2.0 * width + 2.0 + np.abs(peak)
        return Sums(found, self._doubt(top, width) + own, self.sums.size * (2 * width + 1))

    def _doubt(self, top: NDArray[np.int64], width: int) -> NDArray[np.float64]:
        """Return the largest doubt among the terms of each sum."""
        if not self.doubt.any():
            return np.zeros(top.size)
        return np.asarray(maximum_filter1d(self.doubt, 2 * width + 1, mode="nearest")[top])

    def _inside(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(np.maximum(place, self.low), self.high)

    def _term(self, place: NDArray[np.int64]) -> NDArray[np.float64]:
        inside = self._inside(place)
        return np.asarray(self.logs[inside] + self.others[self.sums - inside])

    def _largest(self) -> NDArray[np.int64]:
        """Return where the largest term of each sum is.

        Of concave sequences the largest terms of all sums come about by taking the steps of both
        in the order of what they lose.
        """
        falls = np.concatenate((-np.diff(self.logs), -np.diff(self.others)))
        own = np.argsort(falls, kind="stable") < self.logs.size - 1
        taken = np.append(0, np.cumsum(own))[self.sums]
        return self._inside(taken)

    def _goes_on(self, top: NDArray[np.int64], peak: NDArray[np.float64], width: int) -> bool:
        """Whether some term at this distance is neither the last one nor small."""
        left = (top - width > self.low) & (self._term(top - width) > peak - _DROPPED)
        right = (top + width < self.high) & (self._term(top + width) > peak - _DROPPED)
        return bool(np.any(left | right))
