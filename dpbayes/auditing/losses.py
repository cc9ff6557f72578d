"""Privacy loss of two laws: the largest log ratio, and delta(epsilon) in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.rows import aligned, checked, law_of
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import neighbours


@dataclass(frozen=True)
class Witness:
    """Where a privacy loss is attained: an output far likelier for `counts` than for `neighbour`.

    `loss` = ln P[output | counts] - ln P[output | neighbour], at least 0, inf when the neighbour
    cannot give the output at all.
    """

    counts: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    output: NDArray[np.int64]
    loss: float


@dataclass(frozen=True)
class DeltaWitness:
    """The pair at which P[M(counts) in S] - e^epsilon P[M(neighbour) in S] is largest."""

    counts: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    epsilon: float
    delta: float


def loss(log_p: NDArray[np.float64], log_q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln p - ln q for each output; 0 where neither law gives the output."""
    with np.errstate(invalid="ignore"):
        difference = log_p - log_q
        if not np.isnan(difference.sum()):
            return difference
    return np.where(np.isnan(difference), 0.0, difference)


def hockey_stick(log_p: NDArray[np.float64], log_q: NDArray[np.float64], epsilon: float) -> float:
    """Return the sum over outputs of (p - e^epsilon q) where that is positive.

    It is the least delta for which P <= e^epsilon Q + delta holds on every set; `epsilon` may be
    negative.
    """
    excess = loss(log_p, log_q) - epsilon
    over = excess > 0.0
    return float(np.sum(np.exp(log_p[over]) * -np.expm1(-excess[over])))


@dataclass(frozen=True)
class PairAudit:
    """Exact privacy loss of one neighbouring pair of data sets; make one with `audit_pair`.

    `outputs` (M, k) are the outputs either of the two can give, `log_p` and `log_q` (M,) their
    log-probabilities for `counts` and for `neighbour`.
    """

    counts: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    outputs: NDArray[np.int64]
    log_p: NDArray[np.float64]
    log_q: NDArray[np.float64]

    @property
    def losses(self) -> NDArray[np.float64]:
        """Privacy loss ln p - ln q of each output, shape (M,)."""
        return loss(self.log_p, self.log_q)

    @property
    def epsilon(self) -> float:
        """The largest |ln p - ln q|: the least epsilon that holds for this pair."""
        return float(np.max(np.abs(self.losses)))

    @property
    def witness(self) -> Witness:
        """The output at which `epsilon` is attained."""
        losses = self.losses
        at = int(np.argmax(np.abs(losses)))
        pair = (self.counts, self.neighbour)
        first, second = pair if losses[at] >= 0 else pair[::-1]
        return Witness(first, second, self.outputs[at], float(abs(losses[at])))

    def forward(self, epsilon: float) -> float:
        """Return the largest P[M(counts) in S] - e^epsilon P[M(neighbour) in S]."""
        return hockey_stick(self.log_p, self.log_q, _validate.real("epsilon", epsilon))

    def backward(self, epsilon: float) -> float:
        """Return the same with the two data sets exchanged."""
        return hockey_stick(self.log_q, self.log_p, _validate.real("epsilon", epsilon))

    def delta(self, epsilon: float) -> float:
        """Return the least delta for which the pair is (epsilon, delta)-indistinguishable."""
        return max(self.forward(epsilon), self.backward(epsilon))


def audit_pair(
    mechanism: Mechanism, counts: ArrayLike, neighbour: ArrayLike, prior: ArrayLike
) -> PairAudit:
    """Return the exact privacy loss between two neighbouring data sets, at any size a law takes.

    Book: `def-actual-loss`. `counts` and `neighbour` are histograms of shape (k,) that differ by
    one replaced record. Raises ValueError when they do not, TypeError when the law of the
    mechanism is not a complete list of outputs.

    >>> from dpbayes.mechanisms import mechanism
    >>> round(audit_pair(mechanism("geometric", 1.0), [50, 50], [51, 49], [1, 1]).epsilon, 9)
    1.0
    """
    x, other, alpha = _validate.pair_of_counts(counts, neighbour, prior)
    checked(mechanism, int(x.sum()), alpha)
    if not np.any(np.all(neighbours(x) == other, axis=1)):
        raise ValueError(
            f"neighbour must differ from counts by one replaced record, got {x.tolist()} and "
            f"{other.tolist()}"
        )
    laws = [law_of(mechanism, data, alpha) for data in (x, other)]
    first, second = laws
    if np.array_equal(first.outputs, second.outputs):
        return PairAudit(x, other, first.outputs, first.log_probabilities, second.log_probabilities)
    outputs = np.unique(np.concatenate([law.outputs for law in laws]), axis=0)
    return PairAudit(x, other, outputs, aligned(first, outputs), aligned(second, outputs))
