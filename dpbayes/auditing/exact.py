"""The actual privacy loss of a mechanism: every pair of neighbours, every output, no
sampling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.auditing.rows import (
    Rows,
    aligned,
    checked,
    law_of,
    mechanism_rows,
    moves,
)
from dpbayes.auditing.sizes import LARGEST_TABLE, check_size
from dpbayes.laws.finite import ROUNDING
from dpbayes.laws.numbers import Estimate
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import neighbours, row_of

Pair = tuple[int, int, Floats, Floats]


@dataclass(frozen=True, eq=False, repr=False)
class Witness(ByValue):
    """Where a loss of ln P[output | counts] - ln P[output | neighbour] >= 0 is
    attained.

    All three histograms have shape (k,); `loss` is in nats, inf where `neighbour`
    cannot give the output.
    """

    counts: Whole
    neighbour: Whole
    output: Whole
    loss: float


@dataclass(frozen=True, eq=False, repr=False)
class DeltaWitness(ByValue):
    """The pair at which P[M(counts) in S] - e^epsilon P[M(neighbour) in S] is
    largest."""

    counts: Whole
    neighbour: Whole
    epsilon: float
    delta: float


def loss(log_p: Floats, log_q: Floats) -> Floats:
    """Return ln p - ln q for each output (M,), in nats; 0 where neither law gives the
    output.
    """
    with np.errstate(invalid="ignore"):
        difference = log_p - log_q
        if not np.isnan(difference.sum()):
            return difference
    return np.where(np.isnan(difference), 0.0, difference)


def hockey_stick(log_p: Floats, log_q: Floats, epsilon: float) -> float:
    """Return sum (p - e^epsilon q)_+, the least delta: P <= e^epsilon Q + delta on
    every set.
    """
    excess = loss(log_p, log_q) - epsilon
    over = excess > 0.0
    return float(np.sum(np.exp(log_p[over]) * -np.expm1(-excess[over])))


@dataclass(frozen=True, eq=False, repr=False)
class PairAudit(ByValue):
    """Exact privacy loss of one neighbouring pair of data sets; make one with
    `audit_pair`.

    `outputs` (M, k) are the outputs either of the two can give, `log_p` and `log_q`
    (M,) their log-probabilities for `counts` and for `neighbour`.
    """

    counts: Whole
    neighbour: Whole
    outputs: Whole
    log_p: Floats
    log_q: Floats

    @property
    def losses(self) -> Floats:
        """Privacy loss ln p - ln q of each output, shape (M,), in nats; +-inf where one
        is 0.
        """
        return loss(self.log_p, self.log_q)

    @property
    def epsilon(self) -> Estimate:
        """The largest |ln p - ln q|: the least epsilon that holds for this pair, or
        inf.
        """
        error = rounding_of(deepest(self.log_p), deepest(self.log_q))
        return _rounded(float(np.max(np.abs(self.losses))), error)

    @property
    def witness(self) -> Witness:
        """The output at which `epsilon` is attained, with the likelier of the two data
        sets first.
        """
        losses = self.losses
        at = int(np.argmax(np.abs(losses)))
        pair = (self.counts, self.neighbour)
        first, second = pair if losses[at] >= 0 else pair[::-1]
        return Witness(first, second, self.outputs[at], float(abs(losses[at])))

    def delta(self, epsilon: float) -> Estimate:
        """Return the least delta for which the pair is (epsilon,
        delta)-indistinguishable.

        The larger of sum (p - e^epsilon q)_+ and the same with p and q exchanged, in
        [0, 1]; `epsilon` is finite, of either sign. The error is `rounding_of_delta`.
        """
        budget = _validate.real("epsilon", epsilon)
        both = (self.log_p, self.log_q), (self.log_q, self.log_p)
        value = max(hockey_stick(*laws, budget) for laws in both)
        logs = rounding_of(deepest(self.log_p), deepest(self.log_q))
        return Estimate(value, rounding_of_delta(value, logs), "listed")


def checked_pair(
    mechanism: Mechanism, counts: ArrayLike, neighbour: ArrayLike, prior: ArrayLike
) -> tuple[Whole, Whole, Floats]:
    """Return two neighbouring data sets (k,) and the prior (k,), checked."""
    _validate.same_labels(counts=counts, neighbour=neighbour, prior=prior)
    x, alpha = _validate.counts_and_prior(counts, prior)
    other = _validate.counts("neighbour", neighbour, x.size)
    checked(mechanism, int(x.sum()), alpha)
    if not np.any(np.all(neighbours(x) == other, axis=1)):
        raise ValueError(
            "neighbour must differ from counts by one replaced record, got"
            f" {x.tolist()} and {other.tolist()}"
        )
    return x, other, alpha


def audit_pair(
    mechanism: Mechanism, counts: ArrayLike, neighbour: ArrayLike, prior: ArrayLike
) -> PairAudit:
    """Return the exact privacy loss between two neighbouring data sets, at any size a
    law takes.

    Book: `def-actual-loss`. Raises ValueError when `counts` and `neighbour` (k,) do not
    differ by one replaced record, TypeError when the law of the mechanism does not list
    its outputs.

    >>> from dpbayes.mechanisms import mechanism
    >>> pair = audit_pair(mechanism("geometric", 1.0), [50, 50], [51, 49], [1, 1])
    >>> pair.epsilon, pair.epsilon.exceeds(1.0)
    (1 ± 2e-13 (listed), False)
    """
    x, other, alpha = checked_pair(mechanism, counts, neighbour, prior)
    first, second = (law_of(mechanism, data, alpha) for data in (x, other))
    if np.array_equal(first.outputs, second.outputs):
        return PairAudit(
            x, other, first.outputs, first.log_probabilities, second.log_probabilities
        )
    outputs = np.unique(np.concatenate((first.outputs, second.outputs)), axis=0)
    return PairAudit(
        x, other, outputs, aligned(first, outputs), aligned(second, outputs)
    )


@dataclass(frozen=True, eq=False, repr=False)
class DeltaCurve(ByValue):
    """delta(epsilon) over all neighbouring pairs of n records, in both directions.

    `deltas` (m,) is what (epsilon, delta)-DP asks for at each of `epsilons`, the
    largest sum of (P[r | x] - e^epsilon P[r | x'])_+; each entry of `witnesses` names
    the pair that attains it.
    """

    epsilons: Floats
    deltas: Floats
    witnesses: tuple[DeltaWitness, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Audit(ByValue):
    """The exact privacy loss of a mechanism on all data sets of n records; see `audit`.

    `epsilon` is the least epsilon for which the mechanism is epsilon-DP at this n and
    prior (inf when some output is possible for one data set and not for a neighbour),
    `witness` where. It is that of the laws that the mechanism's `.law` returns, with
    the error that their rounding leaves: `epsilon.exceeds(bound)` is a violation,
    `epsilon > bound` may be rounding.

    >>> from dpbayes.mechanisms import mechanism
    >>> found = audit(mechanism("geometric", epsilon=1.0), 10, [1, 1])
    >>> found.epsilon, found.epsilon.exceeds(1.0), round(found.delta(0.5), 6)
    (1 ± 5e-14 (listed), False, 0.287649)
    """

    name: str
    n: int
    prior: Floats
    epsilon: Estimate
    witness: Witness
    _rows: Rows = field(repr=False, compare=False)
    _rounding: float = field(repr=False, compare=False)  # of any loss

    def delta(self, epsilon: float) -> Estimate:
        """Return the least delta for which the mechanism is (epsilon, delta)-DP.

        The largest sum over outputs of (P[r | x] - e^epsilon P[r | x'])_+ of all
        neighbours, in [0, 1]; `epsilon` is at least 0. Of all pairs each is right
        within the error, and so is the largest of them.
        """
        budget = _validate.non_negative("epsilon", epsilon)
        value = float(self.curve([budget]).deltas[0])
        return Estimate(value, rounding_of_delta(value, self._rounding), "listed")

    def curve(self, epsilons: ArrayLike) -> DeltaCurve:
        """Return delta(epsilon) at these values of any sign, shape (m,), with
        witnesses.
        """
        return _curve(self._rows, _validate.real_vector("epsilons", epsilons))

    def pair(self) -> PairAudit:
        """Return the two laws between which `epsilon` is attained."""
        return _between(
            self._rows, row_of(self.witness.counts), row_of(self.witness.neighbour)
        )


def audit(mechanism: Mechanism, n: int, prior: ArrayLike) -> Audit:
    """Return the actual epsilon of a mechanism over all neighbouring data sets of n
    records.

    epsilon = max |ln P[M(x) = r] - ln P[M(x') = r]| over all count vectors x, x' of n
    records that differ by replacing one record and all outputs r. Complete, not
    sampled: book, `thm-audit-complete`; source: D, section 7.3 and Figure 7, where
    eight pairs are tried.

    What is computed from tables is compared with what the mechanism's `.law` returns,
    for all data sets up to a hundred, for some of more, and for the witness:
    ArithmeticError where the two differ. The law must list its outputs. k = 2
    takes n up to 100,000 (seconds at 10,000, minutes at 100,000), k = 3 about a
    hundred, k = 4 about thirty, k = 10 three, in ten processor seconds or less; wide
    lattice and Gaussian noise (epsilon below .3) takes fewer. ValueError names the size
    that fits, before any work.

    >>> from dpbayes.mechanisms import mechanism
    >>> audit(mechanism("expMech-smooth", 1.0), 10, [1, 1]).epsilon
    0.3181 ± 2e-14 (listed)
    """
    size, alpha = checked(mechanism, n, prior)
    check_size(size, alpha.size)
    rows = mechanism_rows(mechanism, size, alpha).kept()
    witness, depth = _audited(rows)
    # The loss of the witness once more, from the two laws that the mechanism returns
    # for it.
    x, other = witness.counts, witness.neighbour
    first, second = (
        aligned(law_of(mechanism, data, alpha), rows.outputs) for data in (x, other)
    )
    found = float(np.max(np.abs(loss(first, second))))
    gap = 0.0 if found == witness.loss else abs(found - witness.loss)
    if not gap <= 1e-8 * (1.0 + witness.loss):
        raise ArithmeticError(
            f"the audit of {mechanism.name} found a loss of {witness.loss!r} where its"
            f" .law has {found!r}: counts {x.tolist()} against {other.tolist()}"
        )
    rounding = max(gap, rounding_of(depth, depth))
    epsilon = _rounded(witness.loss, rounding)
    return Audit(mechanism.name, size, alpha, epsilon, witness, rows, rounding)


def deepest(logs: Floats) -> float:
    """Return the largest |ln p| of the outputs that are possible, in nats."""
    least = float(logs.min())
    if least == -np.inf:
        least = float(np.min(logs, where=np.isfinite(logs), initial=0.0))
    return -least


def rounding_of(depth: float, other: float) -> float:
    """Return the error of a loss ln p - ln q with |ln p|, |ln q| up to these depths.

    Every ln p of a law is right to a relative error of `ROUNDING`, and a probability
    next to 1 to that part of itself.
    """
    return ROUNDING * (2.0 + depth + other)


def rounding_of_delta(value: float, logs: float) -> float:
    """Return the error of a sum of (p - e^epsilon q)_+ where ln p and ln q are right
    within errors that add up to `logs`.

    Where a term is positive it changes by at most p with ln p and by e^epsilon q <= p
    with ln q, and the p add up to 1. The last term is the rounding of the sum itself.
    """
    return logs + ROUNDING * value


def _rounded(loss: float, error: float) -> Estimate:
    return Estimate(loss, error if math.isfinite(loss) else 0.0, "listed")


def audit_rows(rows: Rows) -> Witness:
    """Return the largest loss of all pairs of neighbours, from the laws of all data
    sets.
    """
    return _audited(rows)[0]


def _audited(rows: Rows) -> tuple[Witness, float]:
    # The largest loss, and the largest |ln p|. Every data set but the first is the
    # second of some pair.
    best, depth = (-1.0, 0, 0, 0), deepest(rows.row(0))
    for i, j, log_p, log_q in pairs(rows):
        depth = max(depth, deepest(log_q))
        losses = loss(log_p, log_q)
        high, low = int(losses.argmax()), int(losses.argmin())
        both = (float(losses[high]), i, j, high), (-float(losses[low]), j, i, low)
        best = max((best, *both), key=lambda one: one[0])
    value, first, second, at = best
    pair = rows.counts[first], rows.counts[second]
    return Witness(*pair, rows.outputs[at], value), depth


def audit_corners(
    mechanism: Mechanism, n: int, prior: ArrayLike, reach: int = 4
) -> Witness:
    """Return the largest loss among the neighbouring pairs of two categories next to
    the corners.

    Only the `reach` pairs (i, i + 1), i < reach, at either end are tried, as D's Figure
    7 did with four: a lower bound on the actual epsilon. Book: `fig-actual-loss`.

    >>> from dpbayes.mechanisms import mechanism
    >>> m = mechanism("expMech-smooth", 1.0, metric="published", divisor=2.0)
    >>> round(audit_corners(m, 1000, [1, 1]).loss, 3)
    0.715
    """
    size, alpha = checked(mechanism, n, prior)
    if alpha.size != 2:
        raise ValueError(
            f"prior must have 2 parameters for a search of corners, got {alpha.size}"
        )
    near = np.arange(min(_validate.integer("reach", reach, minimum=1), size))
    first = np.union1d(near, size - 1 - near)
    rows = mechanism_rows(mechanism, size, alpha, used=np.union1d(first, first + 1))
    audits = [_between(rows, int(i), int(i) + 1) for i in first]
    return max((pair.witness for pair in audits), key=lambda witness: witness.loss)


def _between(rows: Rows, i: int, j: int) -> PairAudit:
    """Return the rows of two data sets, by their row numbers, as a pair."""
    return PairAudit(
        rows.counts[i], rows.counts[j], rows.outputs, rows.row(i), rows.row(j)
    )


def pairs(rows: Rows) -> Iterator[Pair]:
    """Yield each unordered pair of neighbours once: row numbers and
    log-probabilities."""
    # neighbours are consecutive: two rows in memory at a time
    if rows.counts.shape[1] == 2:
        before = rows.row(0)
        for i in range(1, len(rows.counts)):
            here = rows.row(i)
            yield i - 1, i, before, here
            before = here
        return
    table = rows.kept(LARGEST_TABLE)
    for i, j in zip(*moves(rows.counts), strict=True):
        yield int(i), int(j), table.row(i), table.row(j)


def _curve(rows: Rows, epsilons: Floats) -> DeltaCurve:
    """Return delta at each epsilon, the largest of all pairs in both directions."""
    best = [(0.0, 0, 1) for _ in epsilons]
    for i, j, log_p, log_q in pairs(rows):
        for at, epsilon in enumerate(epsilons.tolist()):
            there = hockey_stick(log_p, log_q, epsilon), i, j
            back = hockey_stick(log_q, log_p, epsilon), j, i
            best[at] = max(best[at], there, back, key=lambda one: one[0])
    witnesses = tuple(
        DeltaWitness(rows.counts[i], rows.counts[j], epsilon, delta)
        for epsilon, (delta, i, j) in zip(epsilons.tolist(), best, strict=True)
    )
    return DeltaCurve(epsilons, np.array([delta for delta, _, _ in best]), witnesses)
