"""The three kinds of Laplace noise in the authors' programs, with their exact laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpbayes import _validate
from dpbayes.accuracy import laplace_step_probability
from dpbayes.divergences import hellinger
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Law
from dpbayes.mechanisms import mechanism
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.study.reproduction.sampling import Distances

LARGEST_LISTED = 200_000
_TAIL = 23.0


@dataclass(frozen=True)
class SequentialLaplace:
    """floor(Lap) on one count after the other, each clamped to what the earlier ones left.

    Scale sensitivity/epsilon; the last category takes the rest, so the released counts sum to
    `records`, by default to the number of records. The state of the programs from 2018-06-27 on,
    and what A says of its Laplace mechanism, that a sum "greater than n we will truncate": with
    sensitivity k - 1 for k = 2, 3 it is `ilapMech`, cut to sum up to n. Row A-post of the claims.
    Beyond `LARGEST_LISTED` outputs the law is that of independent clamps, from which it differs
    by the chance that the noise exceeds a count.
    """

    epsilon: float
    sensitivity: float = 2.0
    records: int | None = None
    name: str = "Laplace"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Law:
        """Return the law over all histograms of that many records."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        n = self.records or int(x.sum())
        if number_of_candidates(n, x.size) > LARGEST_LISTED:
            return mechanism("lapMech", self.epsilon, sensitivity=self.sensitivity).law(x, alpha)
        outputs = compositions(n, x.size)
        probability = np.ones(len(outputs))
        rest = np.full(len(outputs), n)
        for i in range(x.size - 1):
            probability *= self._clamped(outputs[:, i], int(x[i]), rest)
            rest = rest - outputs[:, i]
        with np.errstate(divide="ignore"):
            logs = np.log(probability)
        return FiniteLaw(alpha, x, outputs, logs)

    def _clamped(
        self, out: NDArray[np.int64], count: int, rest: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        # P[clamp(count + floor(Y), 0, rest) = out].
        b = self.sensitivity / self.epsilon
        inner = laplace_step_probability(out - count, self.epsilon, self.sensitivity)
        value = np.where(out == 0, _below((1.0 - count) / b), inner)
        value = np.where(out == rest, _below((count - rest) / b), value)
        return np.asarray(np.where(rest == 0, 1.0, value))


@dataclass(frozen=True)
class OlderLaplace:
    """The noise of an earlier state of the program, until 2018-06-26, on posterior parameters.

    floor(Lap) on every parameter but the last, each cut off below at 1; the last parameter takes
    the rest and may fall to 0 or below. The program's Beta function leaves out the factor of a
    parameter that is not positive, and its distance follows that.
    """

    epsilon: float
    sensitivity: float = 2.0
    name: str = "Laplace"

    def distances(self, counts: ArrayLike, prior: ArrayLike) -> Distances:
        """Return the distances of one run; tails of probability e^-23 a coordinate are left out."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        if x.size > 3:
            raise ValueError(f"counts must have at most 3 categories, got {x.size}")
        start = alpha + x
        moves = [self._moves(int(np.ceil(a)) - 1) for a in start[:-1]]
        grids = np.meshgrid(*(steps for steps, _ in moves), indexing="ij")
        weights = np.meshgrid(*(masses for _, masses in moves), indexing="ij")
        noise = np.column_stack([grid.ravel() for grid in grids])
        released = np.column_stack((start[:-1] + noise, start[-1] - noise.sum(axis=1)))
        mass = np.prod([weight.ravel() for weight in weights], axis=0)
        return _ranked(literal_distance(start, released), mass)

    def _moves(self, room: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        # Whole steps upwards from -room, where what is cut off gathers.
        reach = int(np.ceil(_TAIL * self.sensitivity / self.epsilon))
        steps = np.arange(-min(room, reach), reach + 1)
        masses = laplace_step_probability(steps, self.epsilon, self.sensitivity)
        masses[0] = float(_below((steps[0] + 1.0) * self.epsilon / self.sensitivity))
        return steps, masses


@dataclass(frozen=True)
class RepairedLaplace:
    """The noise of C's program: round(Lap(2/epsilon)), the sum repaired in the first parameter.

    Drawn again until both parameters are positive; two categories.
    """

    epsilon: float
    sensitivity: float = 2.0
    name: str = "Laplace"

    def distances(self, counts: ArrayLike, prior: ArrayLike) -> Distances:
        """Return the distances of one run."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        _validate.prior("prior", alpha, 2)
        b = self.sensitivity / self.epsilon
        reach = int(np.ceil(_TAIL * b))
        steps = np.arange(-reach, reach + 1)
        masses = _below(-(np.abs(steps) - 0.5) / b) - _below(-(np.abs(steps) + 0.5) / b)
        start = alpha + x
        released = np.column_stack((start[0] - steps, start[1] + steps))
        kept = np.all(released > 0, axis=1)
        return _ranked(hellinger(start, released[kept]), masses[kept])


def literal_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the programs' Hellinger distance, a factor left out for parameters not positive."""

    def log_beta(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        safe = np.where(parameters > 0.0, parameters, 1.0)
        return np.asarray(gammaln(safe).sum(axis=-1) - gammaln(parameters.sum(axis=-1)))

    log_bc = log_beta((a + b) / 2) - (log_beta(a) + log_beta(b)) / 2
    return np.asarray(np.sqrt(np.clip(-np.expm1(log_bc), 0.0, 1.0)))


def _ranked(distances: NDArray[np.float64], masses: NDArray[np.float64]) -> Distances:
    order = np.argsort(distances, kind="stable")
    ranked = np.round(distances[order], 12)
    starts = np.flatnonzero(np.diff(ranked, prepend=-1.0))
    return Distances(ranked[starts], np.add.reduceat(masses[order], starts) / masses.sum())


def _below(z: ArrayLike) -> NDArray[np.float64]:
    # P[Y < z] for a standard Laplace variable.
    t = np.asarray(z, dtype=np.float64)
    small = 0.5 * np.exp(-np.abs(t))
    return np.asarray(np.where(t <= 0, small, 1.0 - small))
