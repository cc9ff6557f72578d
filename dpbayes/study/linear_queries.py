"""What only the pages on document E need: the worked example and the posterior given
all answers.

With one unknown the posterior is exact, over a whole history it is sampled.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import exprel

from dpbayes import _validate
from dpbayes.study.mass_vectors import MassVector, exact_masses
from dpbayes.study.query_history import laplace_scales
from dpbayes.tables.inference import blue, empty_factor, shaped
from dpbayes.tables.noise_law import Interval, NoiseLaw

Array = NDArray[np.float64]

_WARM_UP = 50  # draws that are thrown away


@dataclass(frozen=True)
class WorkedExample:
    """Counts x (9,), history H (6, 9), budgets alpha, scales and answers y (6,), query
    q (9,).
    """

    x: NDArray[np.int64]
    H: Array
    alpha: Array
    scales: Array
    y: Array
    q: Array
    rows = ("age 20-34", "age 35-49", "age 50-64")
    columns = ("income 0-9", "income 10-19", "income 20-29")
    names = ("everyone", "age 20-34", "age 35-49", "tax", "age 50-64", "income 0-9")


def worked_example() -> WorkedExample:
    """Return three age groups by three income groups, with six answered queries and a
    new one.

    The axes and the tax query follow E, section 2.4, whose numbers are lost; the rest
    is ours.
    """
    grid = np.zeros((6, 3, 3))
    grid[0], grid[1, 0], grid[2, 1], grid[3, :, 1:], grid[4, 2], grid[5, :, 0] = (
        1,
        1,
        1,
        2,
        1,
        1,
    )
    H, alpha = grid.reshape(6, 9), np.array([0.05, 0.1, 0.1, 0.2, 0.1, 0.05])
    return WorkedExample(
        x=_validate.frozen(np.array([10, 21, 37, 20, 0, 0, 53, 0, 0], dtype=np.int64)),
        H=_validate.frozen(H),
        alpha=_validate.frozen(alpha),
        scales=_validate.frozen(laplace_scales(H, alpha)),
        y=_validate.frozen(np.array([140.0, 70.0, 22.0, 118.0, 50.0, 85.0])),
        q=_validate.frozen(np.array([0.0, 0, 0, 1, 1, 1, 1, 1, 1])),
    )


@dataclass(frozen=True)
class OneUnknown:
    """A density whose logarithm is linear between `points` (k,) and has these `heights`
    (k,).

    At the ends it is e^-60 of its value at the outermost answers.
    """

    points: Array
    heights: Array

    def cdf(self, theta: float) -> float:
        """Return P(unknown <= theta | y)."""
        t = float(
            np.clip(_validate.real("theta", theta), self.points[0], self.points[-1])
        )
        height = float(np.interp(t, self.points, self.heights))
        before = int(np.searchsorted(self.points, t))
        below = _masses(
            np.append(self.points[:before], t), np.append(self.heights[:before], height)
        )
        return float(below.sum() / _masses(self.points, self.heights).sum())

    def mass(self, low: float, high: float) -> float:
        """Return P(low < unknown <= high | y)."""
        return self.cdf(high) - self.cdf(low)

    def quantile(self, probability: float) -> float:
        """Return the theta with cdf(theta) = probability, for probabilities of at least
        1e-12.
        """
        p = _validate.open_unit("probability", probability)
        low, high = self.points[[0, -1]]
        return float(
            brentq(
                lambda theta: self.cdf(theta) - p, low, high, xtol=1e-15 * (high - low)
            )
        )

    def interval(self, delta: float) -> Interval:
        """Return the interval that leaves delta/2 on either side."""
        half = 0.5 * _validate.open_unit("delta", delta)
        return Interval(self.quantile(half), self.quantile(1.0 - half), 1.0 - delta)


def _masses(points: Array, heights: Array) -> Array:
    """Return the integral of exp(height) between neighbouring points."""
    larger = np.maximum(heights[:-1], heights[1:])
    return np.asarray(
        np.diff(points) * np.exp(larger) * exprel(-np.abs(np.diff(heights)))
    )


def posterior_one_unknown(y: ArrayLike, scales: ArrayLike) -> OneUnknown:
    """Return the posterior of theta given answers y_i = theta + Laplace noise of scale
    b_i.

    Under a flat prior it is proportional to exp(-sum |y_i - theta| / b_i). Source: E,
    equation 5 with the model of equations 9 and 10; the exact form is ours. Book:
    `thm-one-unknown`.
    """
    answers = shaped("y", y, "m")
    b = shaped("scales", _validate.positive_array("scales", scales), answers.size)
    points, where = np.unique(answers, return_inverse=True)
    bends = np.bincount(where, weights=1.0 / b)
    steepest = bends.sum()
    reach = 60.0 / steepest
    points = np.concatenate([[points[0] - reach], points, [points[-1] + reach]])
    slopes = steepest - 2.0 * np.concatenate([[0.0], np.cumsum(bends)[:-1], [steepest]])
    heights = np.concatenate([[0.0], np.cumsum(slopes * np.diff(points))])
    return OneUnknown(
        _validate.frozen(points), _validate.frozen(heights - heights.max())
    )


def posterior_draws(
    H: ArrayLike,
    scales: ArrayLike,
    y: ArrayLike,
    q: ArrayLike,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return draws (batch, draws) of q x given all answers, and their conditional means
    (batch,).

    A Laplace variable of scale b is a normal one whose variance tau is exponential with
    mean 2 b^2. Given the variances the cells are normal; given the cells, b^2 / tau is
    inverse Gaussian with mean b / |residual| and shape 1. The two are drawn in turn,
    under a flat prior on what the history says anything about.

    `H` (m, cells); `scales` (m,); `y` (batch, m); `q` (cells,) estimable from H.
    Source: E, equation 5 applied to the full history; the sampler is ours. Book:
    `thm-full-posterior`.
    """
    _validate.generator("rng", rng)
    steps = _validate.integer("draws", draws, 1)
    best = blue(H, scales, q)
    best.estimate(np.zeros(best.scales.size))  # refuses what is not estimable
    factor = empty_factor(np.shape(H)[1])
    for row in shaped("H", H, "m", "cells"):
        factor = factor.append(row, 1.0) if row.any() else factor
    b = best.scales
    scaled, direction = (
        np.asarray(H) @ factor.Z.T / b[:, None],
        factor.Z @ np.asarray(q),
    )
    data = np.atleast_2d(_validate.real_array("y", y)) / b
    theta, mean = np.empty((steps, data.shape[0])), np.zeros(data.shape[0])
    mixing = np.ones_like(data)
    for step in range(-_WARM_UP, steps):
        precision = (scaled.T[None, :, :] * mixing[:, None, :]) @ scaled
        noise = np.sqrt(mixing) * rng.standard_normal(mixing.shape)
        sides = np.stack([(mixing * data) @ scaled, noise @ scaled], axis=-1)
        centre, off = np.moveaxis(np.linalg.solve(precision, sides), -1, 0)
        mixing = _mixing(data - (centre + off) @ scaled.T, rng)
        if step >= 0:
            theta[step] = (centre + off) @ direction
            mean += centre @ direction
    return theta.T, mean / steps


def _mixing(residuals: Array, rng: np.random.Generator) -> Array:
    """Return draws of b^2 / tau, inverse Gaussian with mean 1/|residual| and shape 1.

    The smaller root is a quotient: the textbook difference loses every digit at a large
    mean.
    """
    mean = 1.0 / np.maximum(
        np.abs(residuals), 1e-8
    )  # nearer to 0 nothing moves noticeably
    chi = mean * rng.standard_normal(mean.shape) ** 2
    root = mean / (1.0 + 0.5 * chi + np.sqrt(chi + 0.25 * chi * chi))
    take_small = rng.random(mean.shape) * (mean + root) <= mean
    return np.asarray(np.where(take_small, root, mean * mean / root))


def squared_error(approximation: MassVector, law: NoiseLaw) -> float:
    """Return sum_k (u_k - p_k)^2 against the exact masses, cells outside both vectors
    left out.
    """
    half = max(approximation.half_length, math.ceil(law.half_width(1e-12)))
    difference = approximation.resized(half) - exact_masses(law, half).masses
    return float(difference @ difference)


def recorded_times() -> dict[str, Array]:
    """Return the sizes and times that `make bench` last recorded, one array a
    column."""
    path = files("dpbayes") / "data" / "noise-law-times.csv"
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    return dict(zip(header, np.array(rows, dtype=np.float64).T, strict=True))
