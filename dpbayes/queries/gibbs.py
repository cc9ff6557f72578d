"""The posterior of a query given a whole history, by Gibbs sampling.

A Laplace variable of scale b is a normal one whose variance tau is exponential with mean 2 b^2.
Given the variances the unknown cells are normal; given the cells, b^2 / tau is inverse Gaussian
with mean b / |residual| and shape 1. Alternating the two draws samples the posterior under a flat
prior on the part of the cells that the history says anything about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import closed_unit, frozen, generator, integer
from dpbayes.queries import _arrays
from dpbayes.queries.blue import blue
from dpbayes.queries.factor import empty_factor

# Below this share of its scale a residual cannot move the mixing weight by a noticeable amount.
_SMALLEST_RESIDUAL = 1e-8


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws of theta = q x given y, (..., draws), and `mean` (...), averaged conditional means.

    >>> drawn = PosteriorDraws(np.array([1.0, 2.0, 3.0, 4.0]), np.array(2.5))
    >>> float(drawn.quantile(0.5))
    2.5
    """

    draws: NDArray[np.float64]
    mean: NDArray[np.float64]

    def quantile(self, probability: float) -> NDArray[np.float64]:
        """Return the empirical quantile of theta, one a data set."""
        level = closed_unit("probability", probability)
        return np.asarray(np.quantile(self.draws, level, axis=-1))


def posterior_draws(
    H: ArrayLike,
    scales: ArrayLike,
    y: ArrayLike,
    q: ArrayLike,
    draws: int,
    rng: np.random.Generator,
    warm_up: int = 50,
) -> PosteriorDraws:
    """Return draws of q x from its posterior given every answer y = Hx + N.

    Parameters: `H` (m, cells); `scales` (m,); `y` (m,) or (batch, m) for several data sets at once;
    `q` (cells,) estimable from H; `draws` at least 1 after `warm_up` steps; `rng` for experiments.

    Source: E, equation 5 applied to the full history; the sampler is ours. In the book:
    `thm-full-posterior`.

    >>> rng = np.random.default_rng(1)
    >>> drawn = posterior_draws([[1.0]], [2.0], [4.0], [1.0], 4000, rng)
    >>> abs(float(drawn.quantile(0.75)) - 4.0 - 2.0 * 0.6931) < 0.2
    True
    """
    generator("rng", rng)
    steps, discarded = integer("draws", draws, 1), integer("warm_up", warm_up, 0)
    matrix = _arrays.history("H", H)
    b = _arrays.positive_entries("scales", scales, matrix.shape[0])
    wanted = _arrays.query("q", q, matrix.shape[1])
    answers = _arrays.real_array("y", y)
    if answers.ndim not in (1, 2) or answers.shape[-1] != b.size:
        raise ValueError(f"y must have shape ({b.size},) or (batch, {b.size}), got {answers.shape}")
    blue(matrix, b, wanted).require()
    basis = _basis(matrix)
    scaled, direction = matrix @ basis.T / b[:, None], basis @ wanted
    data = np.atleast_2d(answers) / b
    theta = np.empty((steps, data.shape[0]))
    mean = np.zeros(data.shape[0])
    mixing = np.ones_like(data)
    for step in range(-discarded, steps):
        centre, cells = _cells_given_mixing(scaled, data, mixing, rng)
        mixing = _mixing_given_residuals(data - cells @ scaled.T, rng)
        if step >= 0:
            theta[step] = cells @ direction
            mean += centre @ direction
    shape = answers.shape[:-1]
    return PosteriorDraws(
        frozen(theta.T.reshape(*shape, steps)), frozen((mean / steps).reshape(shape))
    )


def _basis(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    factor = empty_factor(matrix.shape[1])
    for row in matrix[np.any(matrix, axis=1)]:
        factor = factor.append(row, 1.0)
    return factor.basis


def _cells_given_mixing(
    scaled: NDArray[np.float64],
    data: NDArray[np.float64],
    mixing: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the conditional mean and one draw of the cells' coordinates, (batch, rank) each."""
    weighted = scaled.T[None, :, :] * mixing[:, None, :]
    precision = weighted @ scaled
    noise = np.sqrt(mixing) * rng.standard_normal(mixing.shape)
    sides = np.stack([(mixing * data) @ scaled, noise @ scaled], axis=-1)
    solved = np.asarray(np.linalg.solve(precision, sides), np.float64)
    return solved[..., 0], solved[..., 0] + solved[..., 1]


def _mixing_given_residuals(
    residuals: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return draws of b^2 / tau, inverse Gaussian with mean 1/|residual| and shape 1.

    The smaller root is written as a quotient: the textbook difference loses every digit when the
    mean is large.
    """
    mean = 1.0 / np.maximum(np.abs(residuals), _SMALLEST_RESIDUAL)
    chi = mean * rng.standard_normal(mean.shape) ** 2
    root = mean / (1.0 + 0.5 * chi + np.sqrt(chi + 0.25 * chi * chi))
    take_small = rng.random(mean.shape) * (mean + root) <= mean
    return np.asarray(np.where(take_small, root, mean * mean / root))
