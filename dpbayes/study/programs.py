"""Laws of the programs behind the printed pictures, where these are not the papers'
mechanisms.

Nothing here is a mechanism to use; the page on captions and drawings names the
differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpbayes import _validate
from dpbayes.accuracy import laplace_step_probability
from dpbayes.divergences import (
    affinity_exponent,
    distance_from_log_affinity,
    hellinger,
    one_step_affinity,
)
from dpbayes.laws.estimate import (
    log_affinity_of_outputs,
)
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.law import Law
from dpbayes.mechanisms import mechanism
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.study.sampling import Distances, ranked

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

GLOBAL_AS_DRAWN = float(
    np.sqrt(1.0 - np.pi / 4.0)
)  # given to D's programs: that of one record
LARGEST_LISTED = 200_000
_TAIL = 23.0


def neighbour_affinity(parameters: ArrayLike, one_sided: bool = False) -> Array:
    """Return ln BC of the farthest neighbour of each row of Dirichlet parameters, shape
    (N,).

    The programs move one unit between two *parameters*, where the papers move a record
    between two *counts*; `one_sided` takes it from a later category only.
    """
    a = np.atleast_2d(_validate.positive_array("parameters", parameters))
    losing = np.full(a.shape, np.inf)
    losing[a > 1.0] = one_step_affinity(a[a > 1.0] - 1.0)
    gaining = one_step_affinity(a)
    best = np.full(len(a), np.inf)
    for target in range(a.shape[1]):
        for source in range(a.shape[1]):
            if source > target or (source < target and not one_sided):
                best = np.minimum(best, gaining[:, target] + losing[:, source])
    return best


@dataclass(frozen=True)
class WeightedBy:
    """Weights exp(-rate H) over all histograms of `records` records, of as many as x by
    default.
    """

    name: str
    epsilon: float
    rate: Callable[[Whole, Array, Whole], float]
    metric: str = "hellinger"
    records: int | None = None

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law over all histograms; `counts` and `prior` (k,)."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        outputs = compositions(self.records or int(x.sum()), x.size)
        exponent = affinity_exponent(self.metric, float(alpha.sum() + outputs[0].sum()))
        log_bc = log_affinity_of_outputs(alpha, x, outputs)
        scores = distance_from_log_affinity(log_bc, exponent)
        logs = normalised(-self.rate(x, alpha, outputs) * scores)
        return FiniteLaw(
            alpha, x, outputs, logs, 0.0, distance_from_log_affinity(log_bc)
        )


def _gamma(outputs: Whole, epsilon: float, delta: float) -> float:
    # The programs' smoothing rate, with n the number of records of the candidates.
    return float(np.log1p(-epsilon / (2.0 * np.log(delta / (2.0 * outputs[0].sum())))))


def _smooth(
    x: Whole,
    prior: Array,
    outputs: Whole,
    rate: float,
    metric: str = "hellinger",
    one_sided: bool = False,
) -> float:
    # max of LS(r) exp(-rate |x - r|_1) over the outputs r and x itself.
    exponent = affinity_exponent(metric, float(prior.sum() + outputs[0].sum()))
    rows = np.vstack((x, outputs))
    local = distance_from_log_affinity(
        neighbour_affinity(prior + rows, one_sided), exponent
    )
    return float((local * np.exp(-rate * np.abs(rows - x).sum(axis=1))).max())


def drafted_delta(
    epsilon: float, delta: float, records: int | None = None
) -> WeightedBy:
    """Return the program of A's Figure 3 and of B: expMech-delta with d = l1, gamma
    with 2n.

    `records` is the number of records of the candidates: 90 in B's Figure 5, whose data
    have 30.
    """

    def rate(x: Whole, alpha: Array, outputs: Whole) -> float:
        return epsilon / (
            2.0 * _smooth(x, alpha, outputs, _gamma(outputs, epsilon, delta))
        )

    return WeightedBy("expMech-delta", epsilon, rate, records=records)


def given_global(epsilon: float) -> WeightedBy:
    """Return expMech with a sensitivity given as a number, scores in the published
    distance.
    """
    rate = epsilon / (2.0 * GLOBAL_AS_DRAWN)
    return WeightedBy("expMech", epsilon, lambda x, a, r: rate, "published")


def given_beta(epsilon: float, beta: float = 0.01) -> WeightedBy:
    """Return weights exp(-epsilon H / 4S), S = max LS e^(-beta d), d the replaced
    records.

    The circles of D's Figures 3 and 4: scores and S in the published distance, beta a
    number.
    """

    def rate(x: Whole, alpha: Array, outputs: Whole) -> float:
        return epsilon / (4.0 * _smooth(x, alpha, outputs, 0.5 * beta, "published"))

    return WeightedBy("smooth, beta given", epsilon, rate, "published")


def notes_program(kind: str, epsilon: float, delta: float) -> WeightedBy:
    """Return C's program: weights exp(-epsilon H / S) without the 2, and one-sided
    neighbours.

    `kind` "global": S = H(prior, prior + e_1 - e_2); "local": LS(x); "smooth": as B, d
    = l1.
    """

    def rate(x: Whole, alpha: Array, outputs: Whole) -> float:
        if kind == "global":
            return float(epsilon / hellinger(alpha, alpha + np.array([1.0, -1.0])))
        here = outputs if kind == "smooth" else x[None, :]
        gamma = _gamma(outputs, epsilon, delta)
        return epsilon / _smooth(x, alpha, here, gamma, one_sided=True)

    return WeightedBy(kind, epsilon, rate)


@dataclass(frozen=True)
class SequentialLaplace:
    """floor(Lap) on one count after the other, each clamped to what the earlier ones
    left.

    Scale sensitivity/epsilon; the last category takes the rest, so the released counts
    sum to `records`, by default to the number of records. The state of the programs
    from 2018-06-27 on. Beyond `LARGEST_LISTED` outputs the law is that of independent
    clamps, from which it differs by the chance that the noise exceeds a count.
    """

    epsilon: float
    sensitivity: float = 2.0
    records: int | None = None
    name: str = "Laplace"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Law:
        """Return the exact law; `counts` and `prior` (k,)."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        n = self.records or int(x.sum())
        if number_of_candidates(n, x.size) > LARGEST_LISTED:
            return mechanism("lapMech", self.epsilon, sensitivity=self.sensitivity).law(
                x, alpha
            )
        outputs = compositions(n, x.size)
        probability = np.ones(len(outputs))
        rest = np.full(len(outputs), n)
        for i in range(x.size - 1):
            probability *= self._clamped(outputs[:, i], int(x[i]), rest)
            rest = rest - outputs[:, i]
        with np.errstate(divide="ignore"):
            logs = np.log(probability)
        return FiniteLaw(alpha, x, outputs, logs)

    def _clamped(self, out: Whole, count: int, rest: Whole) -> Array:
        # P[clamp(count + floor(Y), 0, rest) = out].
        b = self.sensitivity / self.epsilon
        inner = laplace_step_probability(out - count, self.epsilon, self.sensitivity)
        value = np.where(out == 0, _below((1.0 - count) / b), inner)
        value = np.where(out == rest, _below((count - rest) / b), value)
        return np.asarray(np.where(rest == 0, 1.0, value))


@dataclass(frozen=True)
class OlderLaplace:
    """The noise of an earlier state of the program, until 2018-06-26, on posterior
    parameters.

    floor(Lap(2/epsilon)) on every parameter but the last, each cut off below at 1; the
    last takes the rest. The program's Beta function leaves out the factor of a
    parameter that is not positive.
    """

    epsilon: float

    def distances(self, counts: ArrayLike, prior: ArrayLike) -> Distances:
        """Return the distances of one run; tails of probability e^-23 a coordinate are
        left out.
        """
        start = np.add(counts, prior)
        noise, mass = np.zeros((1, 0)), np.ones(1)
        for a in start[:-1]:
            steps, masses = self._moves(int(np.ceil(a)) - 1)
            repeated = np.repeat(noise, steps.size, axis=0)
            noise = np.column_stack((repeated, np.tile(steps, len(noise))))
            mass = np.outer(mass, masses).ravel()
        released = np.column_stack((start[:-1] + noise, start[-1] - noise.sum(axis=1)))
        log_bc = (
            _log_beta((start + released) / 2)
            - (_log_beta(start) + _log_beta(released)) / 2
        )
        return ranked(np.sqrt(np.clip(-np.expm1(log_bc), 0.0, 1.0)), mass)

    def _moves(self, room: int) -> tuple[Whole, Array]:
        # Whole steps upwards from -room, where what is cut off gathers.
        reach = int(np.ceil(2.0 * _TAIL / self.epsilon))
        steps = np.arange(-min(room, reach), reach + 1)
        masses = laplace_step_probability(steps, self.epsilon, 2.0)
        masses[0] = _below((steps[0] + 1.0) * self.epsilon / 2.0)
        return steps, masses


@dataclass(frozen=True)
class RepairedLaplace:
    """The noise of C's program: round(Lap(2/epsilon)), the sum repaired in the first
    parameter.

    Drawn again until both parameters are positive; two categories.
    """

    epsilon: float

    def distances(self, counts: ArrayLike, prior: ArrayLike) -> Distances:
        """Return the distances of what is released and their probabilities; `counts`
        and `prior` (2,).
        """
        b = 2.0 / self.epsilon
        reach = int(np.ceil(_TAIL * b))
        steps = np.arange(-reach, reach + 1)
        masses = _below((0.5 - np.abs(steps)) / b) - _below((-0.5 - np.abs(steps)) / b)
        start = np.add(counts, prior)
        released = np.column_stack((start[0] - steps, start[1] + steps))
        kept = np.all(released > 0, axis=1)
        return ranked(hellinger(start, released[kept]), masses[kept])


def _log_beta(parameters: Array) -> Array:
    # As the program has it: without the factor of a parameter that is not positive.
    safe = np.where(parameters > 0.0, parameters, 1.0)
    return np.asarray(gammaln(safe).sum(axis=-1) - gammaln(parameters.sum(axis=-1)))


def _below(z: ArrayLike) -> Array:
    # P[Y < z] for a standard Laplace variable.
    t = np.asarray(z, dtype=np.float64)
    small = 0.5 * np.exp(-np.abs(t))
    return np.asarray(np.where(t <= 0, small, 1.0 - small))
