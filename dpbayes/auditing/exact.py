"""The actual privacy loss of a mechanism: every pair of neighbours, every output, no sampling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.enclosure import Enclosure, enclose
from dpbayes.auditing.located import applies, located
from dpbayes.auditing.losses import DeltaWitness, PairAudit, Witness, hockey_stick, loss
from dpbayes.auditing.rows import (
    LARGEST_STREAM,
    LARGEST_TABLE,
    Certificate,
    Rows,
    aligned,
    check_size,
    checked,
    law_of,
    mechanism_rows,
    moves,
)
from dpbayes.auditing.structure import audited_by_classes, fits
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import number_of_candidates

Pair = tuple[int, int, NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class DeltaCurve:
    """delta(epsilon) over all neighbouring pairs of n records, in both directions.

    `forward` (m,) is the largest sum of (P[r | x] - e^epsilon P[r | x'])_+ over pairs in which
    x' has its record in an earlier category than x, `backward` (m,) that over the reversed pairs.
    Each entry of `witnesses` names the pair that attains the larger of the two.
    """

    epsilons: NDArray[np.float64]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]
    witnesses: tuple[DeltaWitness, ...]

    @property
    def deltas(self) -> NDArray[np.float64]:
        """The larger of both directions, shape (m,): what (epsilon, delta)-DP asks for."""
        return np.maximum(self.forward, self.backward)


@dataclass(frozen=True)
class Audit:
    """The exact privacy loss of a mechanism on all data sets of n records; see `audit`.

    `epsilon` is the least epsilon for which the mechanism is epsilon-DP at this n and prior (inf
    when some output is possible for one data set and not for a neighbour), `witness` where.
    `certificate` says how far this was compared with what the mechanism's `.law` returns.

    >>> from dpbayes.mechanisms import mechanism
    >>> found = audit(mechanism("geometric", epsilon=1.0), 10, [1, 1])
    >>> round(found.epsilon, 12), round(found.delta(0.5), 6)
    (1.0, 0.287649)
    """

    name: str
    n: int
    prior: NDArray[np.float64]
    epsilon: float
    witness: Witness
    certificate: Certificate
    _rows: Rows = field(repr=False, compare=False)
    _mechanism: Mechanism | None = field(default=None, repr=False, compare=False)

    @cached_property
    def enclosure(self) -> Enclosure:
        """Rigorous bounds of epsilon and delta(epsilon) in ball arithmetic; see `enclose`."""
        if self._mechanism is None:
            raise TypeError("mechanism must be audited by name to be enclosed, got rows alone")
        return enclose(self._mechanism, self.n, self.prior)

    def delta(self, epsilon: float) -> float:
        """Return the least delta for which the mechanism is (epsilon, delta)-DP, epsilon >= 0."""
        return float(self.curve([_validate.non_negative("epsilon", epsilon)]).deltas[0])

    def curve(self, epsilons: ArrayLike) -> DeltaCurve:
        """Return delta(epsilon) at these values, shape (m,), with directions and witnesses."""
        return _curve(self._rows, _validate.real_vector("epsilons", epsilons))

    def pair(self) -> PairAudit:
        """Return the two laws between which `epsilon` is attained."""
        ends = (self.witness.counts, self.witness.neighbour)
        return _between(self._rows, *(self._row_of(counts) for counts in ends))

    def _row_of(self, counts: NDArray[np.int64]) -> int:
        return int(np.flatnonzero(np.all(self._rows.counts == counts, axis=1))[0])


def audit(mechanism: Mechanism, n: int, prior: ArrayLike) -> Audit:
    """Return the actual epsilon of a mechanism over all neighbouring data sets of n records.

    epsilon = max |ln P[M(x) = r] - ln P[M(x') = r]| over all count vectors x, x' of n records that
    differ by replacing one record and all outputs r. Complete, not sampled: book,
    `thm-audit-complete`; source: D, section 7.3 and Figure 7, where eight pairs are tried.

    What is computed is what the mechanism's `.law` returns: the result carries a certificate of it,
    and ArithmeticError is raised where the two differ. The law must list its outputs; k = 2 takes n
    in the tens of thousands (one pass of (n+1)^2 probabilities, two rows in memory at a time), an
    exponential mechanism up to millions where bounds leave few pairs to compute (`thm-located`,
    `thm-shifted`), k = 3 about a hundred, k = 4 about thirty; an exponential mechanism with one
    prior parameter for all categories goes on to k = 3, n = 300 by permutation classes
    (`thm-classes`). Raises ValueError, naming the size that fits, beyond that, and for a law that
    is not one.

    >>> from dpbayes.mechanisms import mechanism
    >>> round(audit(mechanism("expMech-smooth", 1.0), 10, [1, 1]).epsilon, 3)
    0.318
    """
    size, alpha = checked(mechanism, n, prior)
    found = _located(mechanism, size, alpha)
    if found is not None:
        return found
    if _classes_alone_fit(mechanism, size, alpha):
        witness, shared = audited_by_classes(mechanism, size, alpha)
        certificate, name = shared.certificate, mechanism.name
        result = Audit(name, size, alpha, witness.loss, witness, certificate, shared)
    else:
        check_size(size, alpha.size)
        rows = mechanism_rows(mechanism, size, alpha).kept()
        result = audit_rows(mechanism.name, size, alpha, rows)
    certificate = _convicted(mechanism, alpha, result)
    return replace(result, certificate=certificate, _mechanism=mechanism)


def _located(mechanism: Mechanism, n: int, prior: NDArray[np.float64]) -> Audit | None:
    # Two categories, where all pairs would take long: bounds leave few pairs to compute.
    if not applies(mechanism, n, prior.size) or (n + 1) ** 2 <= LARGEST_TABLE:
        return None
    found = located(mechanism, n, prior)
    if found is None:
        return None
    witness, rows = found
    result = Audit(mechanism.name, n, prior, witness.loss, witness, rows.certificate, rows)
    return replace(result, _mechanism=mechanism)


def _classes_alone_fit(mechanism: Mechanism, n: int, prior: NDArray[np.float64]) -> bool:
    # Exponential mechanisms with one prior parameter for three or more categories, where all pairs
    # are too many and one pair of each permutation class is not.
    if prior.size < 3 or own(mechanism, "rates") is None or np.any(prior != prior[0]):
        return False
    return number_of_candidates(n, prior.size) ** 2 > LARGEST_TABLE and fits(n, prior.size)


def _convicted(mechanism: Mechanism, prior: NDArray[np.float64], result: Audit) -> Certificate:
    # The loss of the witness once more, from the two laws that the mechanism returns for it.
    pair = result.pair()
    laws = [law_of(mechanism, counts, prior) for counts in (pair.counts, pair.neighbour)]
    first, second = (aligned(law, pair.outputs) for law in laws)
    found = float(np.max(np.abs(loss(first, second))))
    gap = 0.0 if found == result.epsilon else abs(found - result.epsilon)
    if not gap <= 1e-8 * (1.0 + abs(result.epsilon)):
        raise ArithmeticError(
            f"the audit of {result.name} found a loss of {result.epsilon!r} where its .law has "
            f"{found!r}: counts {pair.counts.tolist()} against {pair.neighbour.tolist()}"
        )
    return result.certificate.with_pair(gap)


def audit_rows(name: str, n: int, prior: NDArray[np.float64], rows: Rows) -> Audit:
    """Return the audit of laws given as rows."""
    best = (-1.0, 0, 0, 0)
    for i, j, log_p, log_q in pairs(rows):
        losses = loss(log_p, log_q)
        high, low = int(losses.argmax()), int(losses.argmin())
        for value, first, second, at in ((losses[high], i, j, high), (-losses[low], j, i, low)):
            if value > best[0]:
                best = (float(value), first, second, at)
    epsilon, first, second, at = best
    witness = Witness(rows.counts[first], rows.counts[second], rows.outputs[at], epsilon)
    return Audit(name, n, prior, epsilon, witness, rows.certificate, rows)


def audit_corners(mechanism: Mechanism, n: int, prior: ArrayLike, reach: int = 4) -> Witness:
    """Return the largest loss among the neighbouring pairs of two categories next to the corners.

    Only the `reach` pairs (i, i + 1), i < reach, at either end are tried, as D's Figure 7 did with
    four: a lower bound on the actual epsilon, at sizes where trying all pairs takes too long.
    Book: `fig-actual-loss`. `reach` is at least 1.

    >>> from dpbayes.mechanisms import mechanism
    >>> m = mechanism("expMech-smooth", 1.0, metric="published", divisor=2.0)
    >>> round(audit_corners(m, 1000, [1, 1]).loss, 3)
    0.715
    """
    size, alpha = checked(mechanism, n, prior)
    if alpha.size != 2:
        raise ValueError(f"prior must have 2 parameters for a search of corners, got {alpha.size}")
    near = np.arange(min(_validate.integer("reach", reach, minimum=1), size))
    first = np.union1d(near, size - 1 - near)
    rows = mechanism_rows(mechanism, size, alpha, used=np.union1d(first, first + 1))
    audits = [_between(rows, int(i), int(i) + 1) for i in first]
    return max((pair.witness for pair in audits), key=lambda witness: witness.loss)


def _between(rows: Rows, i: int, j: int) -> PairAudit:
    return PairAudit(rows.counts[i], rows.counts[j], rows.outputs, rows.row(i), rows.row(j))


def pairs(rows: Rows) -> Iterator[Pair]:
    """Yield each unordered pair of neighbours once: row numbers and log-probabilities.

    Two categories: neighbours are consecutive rows, so two rows are in memory at a time.
    """
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


def _curve(rows: Rows, epsilons: NDArray[np.float64]) -> DeltaCurve:
    if rows.counts.shape[1] == 2 and rows.entries > LARGEST_STREAM:
        n = int(rows.counts[0].sum())
        raise ValueError(
            f"n must be at most {isqrt(LARGEST_STREAM) - 1} for delta(epsilon) over all pairs, got "
            f"{n}; audit_pair compares two data sets"
        )
    forward, backward = np.zeros(epsilons.size), np.zeros(epsilons.size)
    attained = np.zeros((2, epsilons.size, 2), dtype=np.int64)
    attained[..., 1] = 1
    for i, j, log_p, log_q in pairs(rows):
        for at, epsilon in enumerate(epsilons):
            for side, (best, pair) in enumerate(((forward, (i, j)), (backward, (j, i)))):
                laws = (log_p, log_q) if side == 0 else (log_q, log_p)
                value = hockey_stick(*laws, float(epsilon))
                if value > best[at]:
                    best[at], attained[side, at] = value, pair
    witnesses = []
    for at, epsilon in enumerate(epsilons):
        side = int(backward[at] > forward[at])
        x, other = attained[side, at]
        delta = (forward, backward)[side][at]
        witnesses.append(
            DeltaWitness(rows.counts[x], rows.counts[other], float(epsilon), float(delta))
        )
    return DeltaCurve(epsilons, forward, backward, tuple(witnesses))
