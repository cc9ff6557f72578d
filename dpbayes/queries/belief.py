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
    def _pieces(self) -> NDArray[np.float64]:
        """Probabilities of the k + 1 pieces."""
        tops = np.exp(self.heights - self.heights.max())
        inner = _exponential_integral(tops[:-1], tops[1:], self.slopes[1:-1], np.diff(self.points))
        masses = np.concatenate([[tops[0] / self.slopes[0]], inner, [tops[-1] / -self.slopes[-1]]])
        return np.asarray(masses / masses.sum())

    @cached_property
    def _scale(self) -> float:
        """The factor that turns exp(heights) into the density."""
        tops = np.exp(self.heights - self.heights.max())
        return float(self._pieces[0] * self.slopes[0] / tops[0])

    def density(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Return the posterior density at theta."""
        t = _arrays.real_array("theta", theta)
        anchor = np.clip(np.searchsorted(self.points, t) - 1, 0, None)
        slope = self.slopes[np.searchsorted(self.points, t)]
        log_value = self.heights[anchor] - self.heights.max() + slope * (t - self.points[anchor])
        return np.asarray(self._scale * np.exp(log_value))

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
        edges = np.cumsum(self._pieces)
        piece = int(np.searchsorted(edges, p))
        if piece == 0:
            return float(self.points[0] + np.log(p / self._pieces[0]) / self.slopes[0])
        if piece >= self.points.size:
            return float(self.points[-1] + np.log((1.0 - p) / self._pieces[-1]) / self.slopes[-1])
        rest = p - edges[piece - 1]
        start = float(self.density(np.array(self.points[piece - 1])))
        slope = float(self.slopes[piece])
        step = rest / start if slope == 0.0 else np.log1p(slope * rest / start) / slope
        return float(self.points[piece - 1] + step)

    def interval(self, delta: float) -> Interval:
        """Return the interval that leaves delta/2 on either side."""
        half = 0.5 * open_unit("delta", delta)
        return Interval(self.quantile(half), -self._mirrored.quantile(half), 1.0 - delta)

    @cached_property
    def mean(self) -> float:
        """The posterior mean, the estimate with the smallest mean squared error."""
        return self._expectation(1, 0.0)

    @cached_property
    def variance(self) -> float:
        """The posterior variance."""
        return self._expectation(2, self.mean)

    def _expectation(self, power: int, centre: float) -> float:
        """Return E (theta - centre)^power: tails in closed form, inner pieces by quadrature."""
        ends = self.points[[0, -1]] - centre
        reach = 1.0 / np.array([self.slopes[0], -self.slopes[-1]])
        signed = np.array([-1.0, 1.0]) * reach
        squares = ends**2 + 2.0 * ends * signed + 2.0 * reach**2
        tails = ends + signed if power == 1 else squares
        total = float(self._pieces[[0, -1]] @ tails)
        for left, right, slope in zip(
            self.points[:-1], self.points[1:], self.slopes[1:-1], strict=True
        ):
            parts = 1 + int(abs(slope) * (right - left) / 8.0)
            edges = np.linspace(left, right, min(parts, 64) + 1)
            middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
            t = middle[:, None] + half[:, None] * _NODES
            values = self.density(t) * (t - centre) ** power
            total += float(np.sum(half[:, None] * _NODE_WEIGHTS * values))
        return total


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
    heights = -np.abs(points[:, None] - points[None, :]) @ bends
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
