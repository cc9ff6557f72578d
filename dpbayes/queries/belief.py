"""The posterior of one unknown count given every answer to it, exactly.

E's inference conditions on the best linear estimate. For Laplace noise that estimate is not a
sufficient statistic: two answers that disagree widely say more than their average. With one unknown
theta and answers y_i = c_i theta + noise of scale b_i, the posterior under a flat prior is
proportional to exp(-sum |y_i - c_i theta| / b_i), exponential between the points y_i / c_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, open_unit, real
from dpbayes.queries import _arrays
from dpbayes.queries.intervals import Interval

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_STEEP = 8.0  # e-folds of a piece that the nodes take
_FAR = 700.0  # e-folds from one end of a piece to the other that a float holds


@dataclass(frozen=True)
class OneUnknown:
    """A density that is exponential between its `points` (k,), increasing.

    `slopes` (k + 1,) of the log density, from the left tail to the right tail; `heights` (k,) log
    density at the points, up to a constant.

    >>> one = posterior_one_unknown([4.0], [2.0])
    >>> round(one.mass(2.0, 6.0), 10)
    0.6321205588
    """

    points: NDArray[np.float64]
    slopes: NDArray[np.float64]
    heights: NDArray[np.float64]

    @cached_property
    def _masses(self) -> NDArray[np.float64]:
        """Masses of the k + 1 pieces where the density is 1 at its largest."""
        tops = np.exp(self.heights - self.heights.max())
        inner = _exponential_integral(tops[:-1], tops[1:], self.slopes[1:-1], np.diff(self.points))
        return np.concatenate([[tops[0] / self.slopes[0]], inner, [tops[-1] / -self.slopes[-1]]])

    @cached_property
    def _pieces(self) -> NDArray[np.float64]:
        """Probabilities of the k + 1 pieces."""
        return np.asarray(self._masses / self._masses.sum())

    def density(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Return the posterior density at theta."""
        return np.asarray(np.exp(self._log_density(_arrays.real_array("theta", theta))))

    def _log_density(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        # From the higher end of its piece: from the lower one all digits can be lost.
        piece = np.searchsorted(self.points, t)
        slope = self.slopes[piece]
        anchor = np.clip(np.where(slope > 0.0, piece, piece - 1), 0, self.points.size - 1)
        fall = -np.abs(slope * (t - self.points[anchor]))
        highest = self.heights.max() + np.log(self._masses.sum())
        return np.asarray(self.heights[anchor] + fall - highest)

    def cdf(self, theta: float) -> float:
        """Return P(unknown <= theta | y)."""
        t = real("theta", theta)
        piece = int(np.searchsorted(self.points, t))
        if piece == 0:
            return float(self._pieces[0] * np.exp(self.slopes[0] * (t - self.points[0])))
        if piece == self.points.size:
            tail = self._pieces[-1] * np.exp(self.slopes[-1] * (t - self.points[-1]))
            return float(1.0 - tail)
        left = float(self.density(np.array(self.points[piece - 1])))
        here = float(self.density(np.array(t)))
        gap = np.array([t - self.points[piece - 1]])
        part = _exponential_integral(
            np.array([left]), np.array([here]), self.slopes[piece : piece + 1], gap
        )
        return float(self._pieces[:piece].sum() + part[0])

    @cached_property
    def _mirrored(self) -> OneUnknown:
        """The law of minus the unknown: its left tail has the digits that 1 - p loses."""
        parts = (-self.points[::-1], -self.slopes[::-1], self.heights[::-1])
        return OneUnknown(*(frozen(part.copy()) for part in parts))

    def mass(self, low: float, high: float) -> float:
        """Return P(low < unknown <= high | y), with all digits in either tail."""
        if low > self.points[-1] and high > low:
            return self._mirrored.mass(-high, -low)
        return self.cdf(high) - self.cdf(low)

    def quantile(self, probability: float) -> float:
        """Return the theta with cdf(theta) = probability, by inverting its piece."""
        p = open_unit("probability", probability)
        if p > 0.5:
            return -self._mirrored.quantile(1.0 - p)
        edges = np.cumsum(self._pieces)
        piece = int(np.searchsorted(edges, p))
        if piece == 0:
            return float(self.points[0] + np.log(p / self._pieces[0]) / self.slopes[0])
        rest, left = p - edges[piece - 1], self.points[piece - 1]
        start, slope = float(self._log_density(np.array(left))), float(self.slopes[piece])
        if slope > 0.0:  # the density at the left end may be too small for a float
            right = self.points[piece]
            if slope * (right - left) > _FAR:  # and its logarithm too large to be taken off
                end = float(self._log_density(np.array(right)))
                return float(right + (np.logaddexp(start, np.log(slope * rest)) - end) / slope)
            return float(left + np.logaddexp(0.0, np.log(slope * rest) - start) / slope)
        part = rest / np.exp(start)
        return float(left + (part if slope == 0.0 else np.log1p(slope * part) / slope))

    def interval(self, delta: float) -> Interval:
        """Return the interval that leaves delta/2 on either side."""
        half = 0.5 * open_unit("delta", delta)
        return Interval(self.quantile(half), -self._mirrored.quantile(half), 1.0 - delta)

    @cached_property
    def mean(self) -> float:
        """The posterior mean, the estimate with the smallest mean squared error."""
        top = float(self.points[self.heights.argmax()])
        return top + self._expectation(1, top)

    @cached_property
    def variance(self) -> float:
        """The posterior variance."""
        # Less the square of what rounding leaves of the mean.
        return self._expectation(2, self.mean) - self._expectation(1, self.mean) ** 2

    def _expectation(self, power: int, centre: float) -> float:
        """Return E (theta - centre)^power; steep pieces in closed form, others by quadrature."""
        ends = self.points[[0, -1]] - centre
        reach = 1.0 / np.array([self.slopes[0], -self.slopes[-1]])
        total = sum(
            float(mass * _moment(power, end, sign * far, np.ones(3)))
            for mass, end, sign, far in zip(
                self._pieces[[0, -1]], ends, (-1, 1), reach, strict=True
            )
        )
        for left, right, slope in zip(
            self.points[:-1], self.points[1:], self.slopes[1:-1], strict=True
        ):
            steep = abs(slope) * (right - left)
            if steep > _STEEP:
                # What an exponential on [0, 1) would have beyond the other end is taken off.
                top, sign = (right, -1.0) if slope > 0.0 else (left, 1.0)
                beyond = np.exp(-steep) * np.array([1.0, 1.0 + steep, 1.0 + steep + steep**2 / 2])
                mass = float(self.density(top)) / abs(slope)
                total += mass * _moment(power, top - centre, sign / abs(slope), 1.0 - beyond)
                continue
            middle, half = 0.5 * (right + left), 0.5 * (right - left)
            t = middle + half * _NODES
            total += float(half * _NODE_WEIGHTS @ (self.density(t) * (t - centre) ** power))
        return total


def _moment(power: int, end: float, reach: float, kept: NDArray[np.float64]) -> float:
    """Return E (end + reach s)^power, power 1 or 2, s exponential, each moment times a part."""
    if power == 1:
        return float(end * kept[0] + reach * kept[1])
    return float(end**2 * kept[0] + 2.0 * end * reach * kept[1] + 2.0 * reach**2 * kept[2])


def posterior_one_unknown(
    y: ArrayLike, scales: ArrayLike, coefficients: ArrayLike | None = None
) -> OneUnknown:
    """Return the posterior of theta given answers y_i = c_i theta + Laplace noise of scale b_i.

    Parameters: `y` (m,); `scales` (m,) positive; `coefficients` (m,) none of them 0, default ones.
    Flat prior on the real line.

    Source: E, equation 5 with the model of equations 9 and 10; the exact form is ours. In the book:
    `thm-one-unknown`.

    >>> two = posterior_one_unknown([-3.0, 3.0], [1.0, 1.0])
    >>> round(two.mass(-2.0565016404, 2.0565016404), 3)
    0.588
    """
    answers = _arrays.vector("y", y)
    b = _arrays.positive_entries("scales", scales, answers.size)
    c = np.ones(answers.size)
    if coefficients is not None:
        c = _arrays.vector("coefficients", coefficients, answers.size)
    if np.any(c == 0.0):
        raise ValueError("coefficients must not be 0: such an answer says nothing of the unknown")
    points, where = np.unique(answers / c, return_inverse=True)
    bends = np.bincount(where, weights=np.abs(c) / b)
    slopes = bends.sum() - 2.0 * np.concatenate([[0.0], np.cumsum(bends)])
    slopes[-1] = -slopes[0]
    # From the top outwards, so that points near it keep their digits beside others far away.
    top = int(np.argmax(slopes[1:] <= 0.0))
    rises = slopes[1:-1] * np.diff(points)
    before, after = -np.cumsum(rises[:top][::-1])[::-1], np.cumsum(rises[top:])
    heights = np.concatenate([before, [0.0], after])
    return OneUnknown(frozen(points), frozen(slopes), frozen(heights))


def _exponential_integral(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    slope: NDArray[np.float64],
    gap: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return int_0^gap of an exponential that runs from `left` to `right`, from its larger end."""
    larger = np.maximum(left, right)
    steep = np.abs(slope) * gap
    safe = np.where(steep > 0.0, steep, 1.0)
    share = np.where(steep > 0.0, -np.expm1(-steep) / safe, 1.0)
    return np.asarray(larger * gap * share)
