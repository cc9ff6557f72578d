"""Sums over all steps that add up to zero, of a product over the categories: one tilted
FFT.

The coefficient of w^0 in prod_i sum_d f_i(d) w^d does not change when f_i(d) is
multiplied by e^(theta d). With the theta that makes 0 the mean, and every factor
divided by its mass, it is the probability that independent steps add up to 0, of order
1 / sigma, and an FFT finds it to within rounding. The same factors give exact draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.powers import DEPTH

Fall = Callable[
    [Whole], Floats
]  # minus the logarithm of a noise's weight at whole steps

LARGEST_TABLE = 20_000_000  # most numbers of one table of factors, 160 MB


class TooWide(ValueError):
    """The factors do not fit into a table: `LARGEST_TABLE` says how large one may
    be."""


@dataclass(frozen=True)
class Tilted:
    """Factors e^logs (rows, width) of steps first, first + 1, …, each `copies` (rows,)
    times.

    Row i is f_i of the module's formula, for each of its `copies` categories; its
    column c belongs to the step first + c. -inf is a step that cannot be.

    >>> two = Tilted(np.zeros((1, 3)), -1, np.array([2]))  # two steps, each -1, 0 or 1
    >>> round(float(np.exp(two.log_at_zero())), 9)  # three ways to a sum of 0
    3.0
    """

    logs: Floats
    first: int
    copies: Whole

    @cached_property
    def steps(self) -> Whole:
        """The steps of the columns, shape (width,)."""
        return self.first + np.arange(self.logs.shape[1])

    @cached_property
    def _tilt(self) -> tuple[float, Floats, Floats]:
        """Theta, the tilted factors p (rows, width) with sum 1, and ln of what they
        were divided by (rows,).

        Newton's method for a mean of 0: the mean of the sum rises with theta at the
        rate of its variance. [low, high] holds the root, and a step that leaves it
        halves it.
        """
        theta, low, high = 0.0, -np.inf, np.inf
        steps = self.steps.astype(np.float64)
        while True:
            # Peaks are taken out first, so that the largest entry of a row is 1.
            logs = self.logs + theta * steps
            peaks = logs.max(axis=1)
            p = np.exp(logs - peaks[:, None])
            mass = p.sum(axis=1)
            p /= mass[:, None]
            means = p @ steps
            mean = float(self.copies @ means)
            variance = float(self.copies @ np.maximum(p @ steps**2 - means**2, 0.0))
            # A tenth of a standard deviation: the coefficient is then as good as the
            # largest.
            if mean * mean <= max(0.01 * variance, 1e-20) or high - low < 1e-14 * abs(
                theta
            ):
                return theta, p, peaks + np.log(mass)
            low, high = (theta, high) if mean < 0.0 else (low, theta)
            step = -mean / max(variance, 1e-300)
            bound = 4.0 / np.sqrt(
                max(variance, 0.1)
            )  # the logarithm of a mass bends within it
            theta += float(np.clip(step, -bound, bound))
            if not low < theta < high:  # Newton left the bracket: halve it
                theta = 0.5 * (low + high)

    @property
    def outside(self) -> float:
        """The largest tilted mass at an end of the table, relative to its row's peak.

        About what a table that reached further would add to a row; in [0, 1].
        """
        p = self._tilt[1]
        return float((p[:, [0, -1]] / p.max(axis=1, keepdims=True)).max())

    def log_at_zero(self) -> float:
        """Return ln of the sum over all steps with sum 0 of the product of their
        factors.

        The coefficient of w^0 of prod_i (sum_d p_i(d) w^d)^copies_i, by an FFT of the
        tilted factors p, times what they were divided by. The transform is so long that
        sums which wrap around to 0 weigh e^-42 of it at most (`_length`).
        """
        from scipy.fft import irfft, next_fast_len, rfft

        _, p, log_mass = self._tilt
        length = next_fast_len(max(self._length(p), self.steps.size), real=True)
        around = np.zeros((len(p), length))
        around[:, self.steps % length] = p
        transform = rfft(around, axis=1)
        product = np.prod(transform ** self.copies[:, None], axis=0)
        at_zero = float(irfft(product, length)[0])
        return float(self.copies @ log_mass + np.log(max(at_zero, 1e-300)))

    def _length(self, p: Floats) -> int:
        # Sums beyond it weigh e^-DEPTH of the sum at 0, at most: Chernoff's bound on
        # both sides.
        steps = self.steps.astype(np.float64)
        means = p @ steps
        deviation = np.sqrt(max(float(self.copies @ (p @ steps**2 - means**2)), 1e-2))
        best = [np.inf, np.inf]
        for t in np.exp2(np.arange(-2, 5)) / deviation:
            for side in (0, 1):
                move = (t if side else -t) * steps
                logs = np.log((p * np.exp(np.minimum(move, 600.0))).sum(axis=1))
                bound = (float(self.copies @ logs) + DEPTH + np.log1p(deviation)) / t
                best[side] = min(best[side], bound)
        return int(min(max(best), float(self.copies.sum() * steps.size))) + 1

    def draw(self, rng: np.random.Generator, size: int) -> Whole:
        """Return draws (size, copies.sum()) of steps with sum 0, in proportion to the
        product.

        All but the widest step are drawn independently; the widest takes what is
        missing, and is kept with its own factor over the largest. Columns are in order
        of the rows.
        """
        p = self._tilt[1]
        widest = int(np.argmin(p.max(axis=1)))
        copies = self.copies.copy()
        copies[widest] -= 1
        accept = p[widest] / p[widest].max()
        found, missing, rate = [], size, 0.5 / np.sqrt(self.copies.sum())
        while missing > 0:
            batch = min(
                int(1.2 * missing / rate) + 20, 2_000_000 // int(self.copies.sum()) + 20
            )
            # Independent draws are a multinomial table of repeats in random order.
            columns = [
                rng.permutation(np.repeat(self.steps, rng.multinomial(batch, row)))
                for row, times in zip(p, copies.tolist(), strict=True)
                for _ in range(times)
            ]
            last = (
                -np.sum(columns, axis=0) if columns else np.zeros(batch, dtype=np.int64)
            )
            columns.insert(int(copies[: widest + 1].sum()), last)
            place = last - self.first
            inside = (place >= 0) & (place < accept.size)
            chance = np.where(inside, accept[np.clip(place, 0, accept.size - 1)], 0.0)
            kept = np.flatnonzero(rng.random(batch) < chance)[:missing]
            found.append(np.column_stack([column[kept] for column in columns]))
            missing -= kept.size
            rate = max(0.5 * rate, kept.size / batch, 1e-4)
        return (
            np.concatenate(found)
            if found
            else np.zeros((0, int(self.copies.sum())), np.int64)
        )


class AffinityProduct:
    """prod_i BC_i(d_i)^s e^(-fall(d_i)) over the steps d from `counts` to histograms of
    n records.

    `fall` (even, rising with |d|) is that of a noise, or None. Categories that are
    alike share a row; `order` puts the columns of `Tilted.draw` back to those of the
    counts.
    """

    def __init__(self, prior: Floats, counts: Whole, fall: Fall | None = None) -> None:
        pairs = np.rec.fromarrays([prior, counts])
        _, rows, place, self.copies = np.unique(
            pairs, return_index=True, return_inverse=True, return_counts=True
        )
        self.order = np.argsort(np.argsort(place.ravel(), kind="stable"), kind="stable")
        self.prior, self.counts, self.n = prior[rows], counts[rows], int(counts.sum())
        self.fall: Fall = (lambda d: np.zeros(d.shape)) if fall is None else fall
        self._reach = 0
        self._psi: Floats = np.zeros((rows.size, 1))

    @cached_property
    def gap(self) -> float:
        """The least -ln BC of another histogram: one record more here, one less
        there."""
        more = -affinity_of_counts(self.prior, self.counts, self.counts + 1)
        fewer = -affinity_of_counts(
            self.prior, self.counts, np.maximum(self.counts - 1, 0)
        )
        pairs = np.where(self.counts > 0, fewer, np.inf)[:, None] + more
        alone = np.flatnonzero(self.copies == 1)
        pairs[alone, alone] = np.inf
        return float(pairs.min())

    def _table(self, reach: int) -> Floats:
        # psi of steps -reach … reach, a row a group; grown by doubling.
        if reach > self._reach:
            if (2 * reach + 1) * self.counts.size > LARGEST_TABLE:
                raise TooWide(
                    f"steps up to {reach} of {self.counts.size} kinds of categories do"
                    f" not fit into a table of {LARGEST_TABLE} numbers"
                )
            d = np.arange(-reach, reach + 1)
            low, high = -self.counts[:, None], self.n - self.counts[:, None]
            inside = (d >= low) & (d <= high)
            psi = np.full(inside.shape, -np.inf)
            row, column = np.nonzero(inside)
            psi[row, column] = affinity_of_counts(
                self.prior[row], self.counts[row], self.counts[row] + d[column]
            )
            self._reach, self._psi = reach, psi
        return self._psi[:, self._reach - reach : self._reach + reach + 1]

    def tilted(self, power: float) -> Tilted:
        """Return the factors at this power; at most e^-42 of each peak is left out at
        an end.
        """
        reach = 4
        while True:
            reach = min(2 * reach, self.n)
            table, d = self._table(reach), np.arange(-reach, reach + 1)
            with np.errstate(invalid="ignore"):  # the power 0 of what is impossible
                logs = np.where(table > -np.inf, power * table, -np.inf) - self.fall(d)
            tilted = Tilted(logs, -reach, self.copies)
            if reach >= self.n or tilted.outside <= np.exp(-DEPTH):
                return tilted
