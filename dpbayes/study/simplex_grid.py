"""Sums over all data sets of e^(-epsilon d) times a number, and the inverse: Fourier transforms.

Data sets stand on a grid by their first k - 1 counts; the last follows. Where it would be negative
the grid is empty.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfftn, next_fast_len, rfftn
from scipy.sparse.linalg import LinearOperator, cg

from dpbayes import _validate
from dpbayes.study.simplex import Simplex

LARGEST_GRID = 30_000_000
"""Most places of a grid with its margin, of which three or four arrays are held."""

_NEGLECTED = 1e-19  # e^(-epsilon d) below this, far under the rounding of the sums, counts as 0
_TOLERANCE = 1e-13  # of the residual of a solution, relative to its right-hand side
_STEPS = 400
_ROUNDING = 2e-16  # of a convolution, relative to the largest transform and the length


class Grid:
    """The data sets of a `Simplex` with the matrix K = (e^(-epsilon d(x, y))) over all of them.

    Vectors have one entry for each class of data sets (M,), the same for all of its orders.
    """

    def __init__(self, space: Simplex, epsilon: float) -> None:
        self.space, self.epsilon = space, _validate.positive("epsilon", epsilon)
        far = int(np.ceil(-np.log(_NEGLECTED) / self.epsilon))
        self.reach = min(space.n, far)
        # Two places further apart than the margin are never neighbours around its corner.
        self.side = int(next_fast_len(space.n + 1 + self.reach, real=True))
        if self.side ** (space.k - 1) > LARGEST_GRID:
            raise ValueError(
                f"n = {space.n} over k = {space.k} categories at epsilon = {self.epsilon:g} needs "
                f"a grid of {self.side ** (space.k - 1)} places; at most {LARGEST_GRID} are held"
            )

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Every change of the first k - 1 counts by at most `reach`, shape (k - 1, side, ...)."""
        return np.asarray(np.indices((2 * self.reach + 1,) * (self.space.k - 1)) - self.reach)

    @cached_property
    def kernel(self) -> NDArray[np.complex128]:
        """The transform of e^(-epsilon d)."""
        apart = (np.abs(self.steps).sum(axis=0) + np.abs(self.steps.sum(axis=0))) // 2
        return self.spectrum(apart)

    def spectrum(self, apart: NDArray[np.int64]) -> NDArray[np.complex128]:
        """Return the transform of e^(-epsilon apart), `apart` a number for each of `steps`."""
        wrapped = np.zeros((self.side,) * (self.space.k - 1))
        at = np.arange(-self.reach, self.reach + 1) % self.side
        near = np.where(apart <= self.reach, np.exp(-self.epsilon * apart), 0.0)
        wrapped[np.ix_(*[at] * (self.space.k - 1))] = near
        return np.asarray(rfftn(wrapped))

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Where the grid holds a data set."""
        return np.asarray(self.space.place < len(self.space.rows))

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return the transform of a vector (M,) put on the grid, each order of a class alike."""
        return self._transform(np.append(values, 0.0)[self.space.place])

    def total(
        self, parts: list[tuple[NDArray[np.float64], NDArray[np.complex128]]]
    ) -> NDArray[np.float64]:
        """Return the sum of columns of given transforms, each part's weights (M,) beside it.

        A column stands around the order of its class that rises, and around the others renamed.
        """
        whole, space = np.zeros(1, dtype=np.complex128), self.space
        for weights, shape in parts:
            field = np.zeros(self.inside.shape)
            field[tuple(space.rows[:, :-1].T)] = weights * space.copies
            whole = whole + self._transform(field) * shape
        sums = self._back(whole)[self.inside]
        found = np.bincount(space.place[self.inside], sums, len(space.rows))
        return np.asarray(found / space.copies)

    def gather(self, transform: NDArray[np.complex128]) -> NDArray[np.float64]:
        """Return the vector (M,) of a transform, at the order of each class that rises."""
        return np.asarray(self._back(transform)[tuple(self.space.rows[:, :-1].T)])

    def times(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K times a vector (M,): the sum over all y of e^(-epsilon d(x, y)) values(y).

        >>> from dpbayes.study.simplex import simplex
        >>> grid = Grid(simplex(2), 1.0)
        >>> grid.times(np.ones(2)).round(6).tolist()  # at (0, 0, 2) and (0, 1, 1)
        [2.141765, 2.606853]
        """
        return self.gather(self.spread(values) * self.kernel)

    @cached_property
    def around(self) -> NDArray[np.float64]:
        """The transform of e^(-epsilon d) summed over all ways around the grid: all positive.

        Around the grid each category has a factor of its own, with a positive transform; e^(-d)
        that ends at the `reach` has not.
        """
        half, moves = self.epsilon / 2.0, np.arange(self.side)
        one = np.exp(-half * moves) + np.exp(-half * (self.side - moves))
        one /= -np.expm1(-half * self.side)
        steps = np.indices((self.side,) * (self.space.k - 1), sparse=True)
        product = one[-np.asarray(sum(steps)) % self.side]
        for step in steps:
            product *= one[step]
        return np.asarray(np.maximum(rfftn(product).real, self.least_eigenvalue))

    @property
    def least_eigenvalue(self) -> float:
        """What no eigenvalue of K is below: tanh(epsilon / 4)^(k - 1). Book: `thm-folded-error`.

        >>> from dpbayes.study.simplex import simplex
        >>> round(Grid(simplex(8), 1.0).least_eigenvalue, 6)
        0.059985
        """
        return float(np.tanh(self.epsilon / 4.0) ** (self.space.k - 1))

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the vector (M,) that `times` takes to `right`, by conjugate gradients.

        K is positive definite on any set of data, and nearly a convolution that can be undone by
        dividing transforms: that is the preconditioner. Raises ArithmeticError where the residual
        stays above 1e-9 of the largest entry of `right`.
        """
        inside, size = self.inside, int(self.space.copies.sum())

        def through(
            vector: NDArray[np.float64], factor: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            field = np.zeros(inside.shape)
            field[inside] = vector
            return np.asarray(self._back(self._transform(field) * factor)[inside])

        symbol = self.kernel.real  # K is symmetric: the transform has no imaginary part
        shape = (size, size)
        matrix = LinearOperator(shape, lambda vector: through(vector, symbol), dtype=np.float64)
        undone = LinearOperator(
            shape, lambda vector: through(vector, 1 / self.around), dtype=np.float64
        )
        flat, _ = cg(
            matrix,
            np.append(right, 0.0)[self.space.place[inside]],
            rtol=_TOLERANCE,
            maxiter=_STEPS,
            M=undone,
        )
        # The mean over the orders of a class, which rounding treats a little unlike.
        found = np.bincount(self.space.place[inside], flat) / self.space.copies
        off = float(np.abs(self.times(found) - right).max() / np.abs(right).max())
        if off > 1e-9:
            raise ArithmeticError(
                f"conjugate gradients end with a residual of {off:g} for n = {self.space.n}, k = "
                f"{self.space.k}, epsilon = {self.epsilon:g}: the system is not solved, and says "
                "nothing about its solution"
            )
        return found

    def error(self, found: NDArray[np.float64], right: NDArray[np.float64]) -> float:
        """Return by how much an entry of `found` (M,) is off at most, as a solution for `right`.

        The length of the residual over all data, with what rounding can hide in it, over
        `least_eigenvalue`. Book: `thm-folded-error`.

        >>> from dpbayes.study.simplex import simplex
        >>> grid = Grid(simplex(30), 0.1)
        >>> bool(grid.error(grid.solve(np.ones(91)), np.ones(91)) < 1e-8)
        True
        """
        copies = self.space.copies
        residual = float(np.sqrt((right - self.times(found)) ** 2 @ copies))
        hidden = _ROUNDING * float(np.abs(self.kernel).max()) * float(np.sqrt(found**2 @ copies))
        return (residual + hidden) / self.least_eigenvalue

    def _transform(self, field: NDArray[np.float64]) -> NDArray[np.complex128]:
        return np.asarray(rfftn(field, (self.side,) * (self.space.k - 1)))

    def _back(self, transform: NDArray[np.complex128]) -> NDArray[np.float64]:
        whole = irfftn(transform, (self.side,) * (self.space.k - 1))
        return np.asarray(whole[(slice(self.space.n + 1),) * (self.space.k - 1)])
