"""The probability of one output of clamped lattice noise, for noise as wide as one likes.

Who ends at zero, who pays and how much is owed couple the categories at a level of the projection;
given the output and the last payer all but the shortfall is known. So each level is one coefficient
of a Laurent polynomial with positive coefficients, read on a circle near its least value, where no
digits are lost. Sizes are held as logarithms, so that no output is too improbable. Book:
`thm-clamped`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1, log1p

from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.smooth_sums import smooth_sum

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_DOUBT = 1e-13  # of what the levels add up to, for each stretch of them
_SPREAD = 0.02  # of a bound on a level: about what it is at least
_ENDED = 45.0  # in units of e below the largest level: where levels end
_NOTHING = 80.0  # and where they are not looked at
_ALIAS = 1e-15  # of each level
_LEAST, _BEYOND = 0.02, 50.0  # the radii: from here to so many times 1 / (1 - rho)
_COARSE, _FINE, _ZOOMS = 33, 9, 4
_AWAY = np.geomspace(1e-3, 8.0, 28)
_AT_ONCE = 1 << 15  # numbers of one array


@dataclass(frozen=True)
class _Payers:
    """Which of the categories that are not released as zero pay for sure, and which may pay."""

    pays: Whole
    may: Whole


@dataclass(frozen=True)
class _Clamped:
    """Categories in a row that are released as zero, all with the same true count."""

    count: int
    copies: int
    paying: _Payers
    """Who pays if paying stops at one of these."""


@dataclass(frozen=True)
class OneOutput:
    """Clamped noise on `counts` (k,) that the l2 projection turns into the counts `output` (k,).

    >>> part = OneOutput(np.array([0, 2]), 1.0, np.array([0, 2]))
    >>> direct = np.tanh(0.5)  # of no noise, which clamps nothing
    >>> round(part.probability() + float(direct), 9)
    0.731058579
    """

    counts: Whole
    epsilon: float
    output: Whole

    def probability(self) -> float:
        """Return the probability of this output, without that of noise that clamps nothing."""
        if self.output.min() > 0 or self.output.max() == 0:
            return 0.0
        grid = self._stretches()
        logs = self._least(np.array(grid[:-1]))[1]
        peak = float(logs.max())
        size = _SPREAD * float(np.exp(logs - peak) @ np.diff(grid))
        total = 0.0
        for panel in pairwise(grid):
            found, _ = smooth_sum(lambda t: self._levels(t, peak), [panel], _DOUBT * size)
            total += float(found[0])
        return max(total, 0.0) * float(
            np.exp(peak - noise.log_normaliser(self.counts.size, self.epsilon))
        )

    def _stretches(self) -> list[int]:
        """Return levels that are twice as high each until they no longer matter, and all kinks."""
        turns = np.concatenate((self.counts, self.counts - self.output))
        kinks = [t for t in np.unique((turns, turns - 1)).tolist() if t > 0]
        ends, last, peak = [0], 1, float(self._least(np.zeros(1, dtype=np.int64))[1][0])
        while True:
            ends.append(last)
            here = float(self._least(np.array([last]))[1][0])
            peak = max(peak, here)
            if here < peak - _ENDED and last > max(kinks, default=0):
                return sorted({*ends, *kinks})
            last = 2 * last + 1

    def _levels(self, levels: Whole, peak: float) -> Floats:
        """Return e^(-peak) times the mass at each level, not normalised, as one row."""
        found = np.zeros(levels.size)
        places, logs = self._least(levels)
        some = np.flatnonzero(logs > peak - _NOTHING)
        nodes = self._nodes(levels[some], places[some], logs[some])
        for m in np.unique(nodes).tolist():
            here, turns = some[nodes == m], np.arange(m // 2 + 1)
            folds = np.where((turns == 0) | (2 * turns == m), 1.0, 2.0) / m
            size = max(1, _AT_ONCE // turns.size)
            for first in range(0, here.size, size):
                part = here[first : first + size]
                circle = places[part, None] + 2j * np.pi / m * turns
                found[part] = np.exp(self._logs(levels[part], circle) - peak).real @ folds
        return found[None]

    def _least(self, levels: Whole) -> tuple[Floats, Floats]:
        """Return where on the half-line each level's generating function is least, and its ln.

        Its logarithm is convex in the place, which is ln zeta.
        """
        first, last = np.log(_LEAST), np.log(_BEYOND / -np.expm1(-0.5 * self.epsilon))
        centre = np.full(levels.size, 0.5 * (first + last))
        half, points = 0.5 * (last - first), _COARSE
        for _ in range(_ZOOMS + 1):
            places = centre[:, None] + half * np.linspace(-1.0, 1.0, points)
            logs = self._logs(levels, places)
            best = np.arange(levels.size), np.argmin(logs, axis=1)
            centre, half, points = places[best], 2.0 * half / (points - 1), _FINE
        return centre, np.asarray(logs[best])

    def _nodes(self, levels: Whole, places: Floats, logs: Floats) -> Whole:
        """Return how many nodes of the circle leave wrongly read powers too small to matter.

        By Chernoff bounds as in `circles.nodes_at`; rounded up, so that there are few numbers.
        """
        wrong, needed = np.log(_ALIAS * _SPREAD), np.zeros(levels.size)
        for side in (_AWAY, -_AWAY):
            rise = self._logs(levels, places[:, None] + side) - logs[:, None]
            needed = np.maximum(needed, ((rise - wrong) / _AWAY).min(axis=1))
        rounded = np.ceil(2.0 ** (np.ceil(4.0 * np.log2(needed + 1.0)) / 4.0))
        exact = self.counts.size * (levels + 2.0) + 1.0
        return np.asarray(np.minimum(rounded, exact), dtype=np.int64)

    def _logs(self, levels: Whole, places: NDArray[Any]) -> NDArray[Any]:
        """Return ln of what is read at ln zeta = `places` (levels, places), for each level.

        With s = 1 / sigma that is s^(k t) d(ln sigma) / d(ln zeta) times the factors of all
        categories if nobody pays, and the sum over the last payers of what paying changes.
        """
        t, rho = levels[:, None], -0.5 * self.epsilon
        log_s = log1p(np.exp(-places) + np.expm1(rho))
        away = t + (self.output - self.counts)[self._kept]
        clamped = {one.count: self._log_clamped(one.count, t, places, log_s) for one in self._rows}
        total = self._kept.size * t * log_s - _log_one_and(rho + places)
        total = total + rho * np.abs(away).sum(axis=1, keepdims=True)
        for one in self._rows:
            total = total + one.copies * clamped[one.count]
        turns = np.where(away >= 0, 1, -1)
        one_more = {sign: _log_one_and(log_s + sign * rho) for sign in (-1, 1)}

        def paid(payers: _Payers) -> NDArray[Any]:
            pays, may = turns[:, payers.pays], turns[:, payers.may]
            found = payers.pays.size * log_s + rho * pays.sum(axis=1, keepdims=True)
            for sign, logs in one_more.items():
                found = found + (may == sign).sum(axis=1, keepdims=True) * logs
            return np.asarray(found)

        parts = [paid(payers) for payers in self._pivots]
        before: Any = 0.0
        for one in self._rows:
            one_pays = (t + 1) * log_s + rho * np.abs(t + 1 - one.count) - clamped[one.count]
            each = one.copies * _log_one_and(one_pays)
            parts.append(paid(one.paying) + before + _log_less_one(each))
            before = before + each
        top = np.max([part.real for part in parts], axis=0)
        with np.errstate(divide="ignore"):
            return np.asarray(total + top + np.log(sum(np.exp(part - top) for part in parts)))

    def _log_clamped(
        self, count: int, t: Whole, places: NDArray[Any], log_s: NDArray[Any]
    ) -> NDArray[Any]:
        """Return ln of s^t times the sum over d >= 0 of rho^|t - d - count| sigma^d.

        As in `shortfalls.short`, with q = rho s: s^min(x, t) (q + ... + q^(t - x) + 1 + rho zeta),
        from x = t on times rho^(x - t).
        """
        rho = -0.5 * self.epsilon
        log_q, terms = log_s + rho, np.maximum(t - count, 0)
        top = np.maximum((terms * log_q).real, 0.0)
        rest, step = np.exp(-top), expm1(log_q)
        ends = np.exp(terms * log_q - top) - rest
        near = top < 1.0
        ends[near] = expm1((terms * log_q)[near]) * rest[near]
        flat = step == 0.0
        powers = np.exp(log_q) * np.where(flat, terms * rest, ends / np.where(flat, 1.0, step))
        with np.errstate(divide="ignore"):
            logs = top + np.log(powers + (1.0 + np.exp(rho + places)) * rest)
        return np.asarray(logs + np.minimum(count, t) * log_s + rho * np.maximum(count - t, 0))

    @cached_property
    def _kept(self) -> Whole:
        """The categories that are not released as zero."""
        return np.flatnonzero(self.output)

    @cached_property
    def _pivots(self) -> list[_Payers]:
        """Who pays if paying stops at each of the kept categories."""
        return [self._payers(place) for place in self._kept.tolist()]

    def _payers(self, last: int) -> _Payers:
        """Return the kept categories that pay, and those that may, if paying stops at `last`.

        A payer is one higher than what it releases. Whoever is above the last payer pays, and so
        does who is as high and earlier.
        """
        kept, height = self._kept, int(self.output[last]) + 1
        released, first = self.output[kept], kept < last
        may_keep = np.where(first, released < height, released <= height)
        may_pay = np.where(first, released + 1 >= height, released + 1 > height)
        pays = may_pay & ~may_keep | (kept == last)
        return _Payers(np.flatnonzero(pays), np.flatnonzero(may_pay & may_keep & ~pays))

    @cached_property
    def _rows(self) -> list[_Clamped]:
        """The categories released as zero; those alike to the rest are one row."""
        rows: list[_Clamped] = []
        for place in np.flatnonzero(self.output == 0).tolist():
            count, payers = int(self.counts[place]), self._payers(place)
            alike = rows and rows[-1].count == count
            if alike and np.array_equal(rows[-1].paying.may, payers.may):
                rows[-1] = _Clamped(count, rows[-1].copies + 1, payers)
            else:
                rows.append(_Clamped(count, 1, payers))
        return rows


def _log_one_and(logs: NDArray[Any]) -> NDArray[Any]:
    """Return ln(1 + e^logs).

    >>> [float(x) for x in _log_one_and(np.array([-1e3, -40.0, 1e3]))]
    [0.0, 4.248354255291589e-18, 1000.0]
    """
    high = logs.real > 0.0
    with np.errstate(divide="ignore"):
        found = log1p(np.exp(np.where(high, -logs, logs)))
    return np.where(high, logs + found, found)


def _log_less_one(logs: NDArray[Any]) -> NDArray[Any]:
    """Return ln(e^logs - 1) for logs whose real part is positive or small.

    >>> [round(float(x), 12) for x in _log_less_one(np.array([1e-300, np.log(3.0), 1e3]))]
    [-690.775527898214, 0.69314718056, 1000.0]
    """
    high = logs.real > 1.0
    with np.errstate(divide="ignore"):
        near = np.log(expm1(np.where(high, 1.0, logs)))
        return np.where(high, logs + log1p(-np.exp(np.where(high, -logs, -1.0))), near)
