"""A history's factorisation that grows by one answer at a time.

Answers are split in two: the first ones in every new direction, whose scaled rows are B = L V with
L lower triangular and orthonormal rows in V, and the rest, whose scaled rows are D B. A query with
coordinates c in B is then estimable with noise weights w, the shortest solution of
w_1 + D^T w_2 = c. With M = 1 + D^T D it is w_2 = D M^-1 c and w_1 = c - D^T w_2. An answer in a new
direction adds a row to L and V; any other adds a row to D and one update to the factor of M.

M = U U^T with U upper triangular, so that a new direction, which borders M by a 1 on the diagonal,
borders U likewise. L by rows and U by columns are kept packed: both grow at their end, and what a
solution reads lies in one piece. All of it but U grows without being copied (`Growing`).

Where rough answers came first and precise ones later, their scales over more than seven powers of
ten, D is large and M loses digits. What is found then is unbiased and not the best. That is seen in
the residual, and all answers are factored at once (`Orthogonal`), as long as they are not too many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import drot, dtpsv

from dpbayes._validate import frozen, integer, positive
from dpbayes.queries import _arrays
from dpbayes.queries.growing import Growing
from dpbayes.queries.orthogonal import Orthogonal

# Share of a query's length that may lie outside the row space before it counts as a new direction.
_NEW_DIRECTION = 1e-10
_ESTIMABLE = 1e-9
_BLOCK = 256  # at most so many rows of D lie in one array,
_AHEAD = 64  # which has this many columns more than there were directions when it was begun
_CACHED = 64  # so many rows of D are still near the processor when they are read again
_SETTLED = 1e-12
_REFINEMENTS = 4
_STILL_FALLING = 0.1
_SPOILT = 1e-6
_MOST_WORK = 1 << 31  # some seconds


@dataclass(frozen=True)
class Factor:
    """Factors of a scaled history of m answers, r = `rank` of them first in a new direction.

    `directions` holds the rows of V, `lines` L by rows, `columns` U by columns. `combined` holds
    rows of D in order, in blocks with their number of rows; a block has columns enough for what it
    holds. `first` (r,) and `rest` (m - r,) are the places of the answers.

    >>> one = empty_factor(2).append([1.0, 1.0], 2.0)
    >>> one.answers, one.rank, one.noise_weights([2.0, 2.0]), one.noise_weights([1.0, 0.0])
    (1, 1, array([4.]), None)
    """

    rank: int
    directions: Growing
    lines: Growing
    columns: Growing
    combined: tuple[tuple[Growing, int], ...]
    first: NDArray[np.int64]
    rest: NDArray[np.int64]

    @property
    def answers(self) -> int:
        """The number m of answers."""
        return int(self.first.size + self.rest.size)

    @property
    def basis(self) -> NDArray[np.float64]:
        """V, shape (r, cells): an orthonormal basis of the row space."""
        return self.directions.head(self.rank)

    @property
    def lower(self) -> NDArray[np.float64]:
        """L, shape (r, r)."""
        full = np.zeros((self.rank, self.rank))
        full[np.tril_indices(self.rank)] = self.lines.head(_packed(self.rank))
        return full

    @property
    def upper(self) -> NDArray[np.float64]:
        """U, shape (r, r), with U U^T = M."""
        full = np.zeros((self.rank, self.rank))
        full.T[np.tril_indices(self.rank)] = self.columns.head(_packed(self.rank))
        return full

    @property
    def blocks(self) -> tuple[NDArray[np.float64], ...]:
        """The rows of D, in order; later columns that a block lacks are 0."""
        return tuple(block.head(rows)[:, : self.rank] for block, rows in self.combined)

    def noise_weights(self, query: ArrayLike) -> NDArray[np.float64] | None:
        """Return the signed weights A_i b_i of the best estimate, or None when there is none."""
        q = _arrays.query("query", query, self.basis.shape[1])
        inside = self.basis @ q
        # Where the rows span everything there is nothing outside, and half as much to read.
        if self.rank < q.size:
            outside = q - inside @ self.basis
            if np.linalg.norm(outside) > _ESTIMABLE * np.linalg.norm(q):
                return None
        c = self._coordinates(inside)
        z = self._solved(c)
        later, fitted = self._through(z)
        # Where z solves M z = c exactly, it is c - D^T D z.
        early = c - fitted
        error = early - z
        size = float(np.linalg.norm(error))
        for _ in range(_REFINEMENTS):
            if size <= _SETTLED * np.linalg.norm(z):
                break
            z = z + self._solved(error)
            then, refitted = self._through(z)
            last, size = size, float(np.linalg.norm(c - refitted - z))
            if size >= last:
                break
            later, early = then, c - refitted
            error = early - z
            if size > _STILL_FALLING * last:
                break  # what is left is the rounding of D^T D z, and no refinement lessens it
        weights = np.empty(self.answers)
        weights[self.first], weights[self.rest] = early, later
        # The best weights are those with early = z, and these are at most so much longer.
        spoilt = float(np.linalg.norm(error)) > _SPOILT * np.linalg.norm(weights)
        if spoilt and self.answers * self.rank**2 <= _MOST_WORK:
            return self._orthogonal.shortest(inside)
        return weights

    @cached_property
    def _orthogonal(self) -> Orthogonal:
        """All rows B and D B factored at once, in the coordinates of V."""
        rows = np.empty((self.answers, self.rank))
        rows[self.first], start = self.lower, 0
        for block in self.blocks:
            places = self.rest[start : start + block.shape[0]]
            rows[places] = block @ self.lower[: block.shape[1]]
            start += block.shape[0]
        return Orthogonal(rows)

    def append(self, query: ArrayLike, scale: float) -> Factor:
        """Return the factorisation after one more answer, to `query` with noise of this scale."""
        row = _arrays.query("query", query, self.basis.shape[1]) / positive("scale", scale)
        inside = self.basis @ row
        if self.rank == row.size:
            return self._with_combination(self._coordinates(inside))
        outside = row - inside @ self.basis
        # Once more, because one projection leaves rounding of the size of what it removed.
        again = self.basis @ outside
        inside, outside = inside + again, outside - again @ self.basis
        length = float(np.linalg.norm(outside))
        if length > _NEW_DIRECTION * float(np.linalg.norm(row)):
            return self._with_direction(inside, outside / length, length)
        return self._with_combination(self._coordinates(inside))

    def _with_direction(
        self, inside: NDArray[np.float64], direction: NDArray[np.float64], length: float
    ) -> Factor:
        size, border = _packed(self.rank), np.zeros(self.rank + 1)
        border[-1] = 1.0
        return Factor(
            self.rank + 1,
            self.directions.with_more(self.rank, direction[None, :]),
            self.lines.with_more(size, np.append(inside, length)),
            self.columns.with_more(size, border),
            self.combined,
            frozen(np.append(self.first, self.answers)),
            self.rest,
        )

    def _with_combination(self, row: NDArray[np.float64]) -> Factor:
        *others, (last, rows) = self.combined or ((Growing(np.zeros((0, 0))), 0),)
        if 0 < rows < _BLOCK and last.head(rows).shape[1] >= self.rank:
            wide = np.zeros((1, last.head(rows).shape[1]))
            wide[0, : self.rank] = row
            combined = (*others, (last.with_more(rows, wide), rows + 1))
        else:
            wide = np.zeros((1, min(self.rank + _AHEAD, self.basis.shape[1])))
            wide[0, : self.rank] = row
            combined = (*self.combined, (Growing(wide, _BLOCK), 1))
        return Factor(
            self.rank,
            self.directions,
            self.lines,
            _updated(self.columns, row),
            combined,
            self.first,
            frozen(np.append(self.rest, self.answers)),
        )

    def _coordinates(self, inside: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return c with c B = inside V, that is L^T c = inside."""
        if not self.rank:
            return np.zeros(0)
        packed = self.lines.head(_packed(self.rank))
        return np.asarray(dtpsv(self.rank, packed, inside))

    def _solved(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M^-1 c."""
        if not self.rank:
            return np.zeros(0)
        packed = self.columns.head(_packed(self.rank))
        half = dtpsv(self.rank, packed, c)
        return np.asarray(dtpsv(self.rank, packed, half, trans=1, overwrite_x=True))

    def _through(self, z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return D z and D^T D z, reading each row of D from memory once."""
        later, fitted = np.empty(self.rest.size), np.zeros(self.rank)
        start = 0
        for block in self.blocks:
            columns = block.shape[1]
            for at in range(0, block.shape[0], _CACHED):
                rows = block[at : at + _CACHED]
                stop = start + rows.shape[0]
                np.matmul(rows, z[:columns], out=later[start:stop])
                fitted[:columns] += later[start:stop] @ rows
                start = stop
        return later, fitted


def _packed(rank: int) -> int:
    """Return how many entries a triangle of this size has."""
    return rank * (rank + 1) // 2


def _updated(columns: Growing, row: NDArray[np.float64]) -> Growing:
    """Return the columns of the triangular U' with U' U'^T = U U^T + row row^T, by plane rotations.

    The last entry of the row is turned into the last column first, then the one before.
    """
    start = _packed(row.size)
    result, factor = columns.apart(start)
    x = row.copy()
    for k in range(row.size - 1, -1, -1):
        start -= k + 1
        entry = x.item(k)
        if entry == 0.0:
            continue
        corner = factor.item(start + k)
        length = math.hypot(corner, entry)
        factor[start + k] = length
        if k:
            # In place: of the first k entries from `start` in the one and from 0 in the other.
            drot(factor, x, corner / length, entry / length, k, start, 1, 0, 1, True, True)
    return result


def factor_of(
    basis: NDArray[np.float64],
    lower: NDArray[np.float64],
    combinations: NDArray[np.float64],
    first: NDArray[np.int64],
    rest: NDArray[np.int64],
) -> Factor:
    """Return the factorisation whose V (r, cells), L (r, r) and D (m - r, r) are known.

    >>> one = factor_of(np.eye(2), np.eye(2), np.ones((1, 2)), np.arange(2), np.array([2]))
    >>> one.noise_weights([3.0, 3.0]).round(12)
    array([1., 1., 2.])
    """
    rank, cells = basis.shape
    triangle = np.tril_indices(rank)
    # U is a Cholesky factor read backwards.
    normal = np.eye(rank) + combinations.T @ combinations
    backwards = np.asarray(np.linalg.cholesky(normal[::-1, ::-1]), dtype=np.float64)
    pieces = [combinations[at : at + _BLOCK] for at in range(0, rest.size, _BLOCK)]
    return Factor(
        rank,
        Growing(basis, cells),
        Growing(lower[triangle], _packed(cells)),
        Growing(backwards[::-1, ::-1].T[triangle], _packed(cells)),
        tuple((Growing(piece, _BLOCK), piece.shape[0]) for piece in pieces),
        frozen(first),
        frozen(rest),
    )


def empty_factor(cells: int) -> Factor:
    """Return the factorisation of a history without answers.

    >>> grown = empty_factor(2).append([1.0, 1.0], 1.0).append([1.0, 0.0], 2.0)
    >>> grown.noise_weights([0.0, 1.0])
    array([ 1., -2.])
    """
    size = integer("cells", cells, 1)
    none = frozen(np.zeros(0, dtype=np.int64))
    lines, columns = (Growing(np.zeros(0), _packed(size)) for _ in range(2))
    return Factor(0, Growing(np.zeros((0, size)), size), lines, columns, (), none, none)
