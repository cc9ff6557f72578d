"""A's Theorem 4.1 and the two lemmas behind it: what is true of them, checked and
proved.

Lemma 2.1 of C (sliding) and Lemma 2.2 (dilation) compare the probabilities of two
values of an exponential mechanism's score u = -H. Their three readings differ in truth:

* "formula": h(s) = e^(epsilon s / 2S) / normaliser at any number s, as the
  proofs use it;
* "attained": probabilities of scores that some output has, several outputs counted
  together;
* "printed": the lemma as written, where a score of no output has the
  probability zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.posteriors import number_of_candidates

_SAME = 1e-12


@dataclass(frozen=True)
class ScoreLaw:
    """The scores u = -H of an expMech-delta release at x: distances H, how many, how
    probable.

    `distances` (m,) increase from 0, `outputs` (m,) counts the outputs at each,
    `probabilities` (m,) are those of the scores. `sensitivity` is S(x), `gamma` the
    smoothing rate.
    """

    epsilon: float
    delta: float
    gamma: float
    sensitivity: float
    distances: NDArray[np.float64]
    outputs: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def formula(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return h = e^(-epsilon H / 2S) / normaliser at any distances, attained or
        not.
        """
        at_truth = self.probabilities[0] / self.outputs[0]
        return np.asarray(
            at_truth * np.exp(-0.5 * self.epsilon / self.sensitivity * distances)
        )

    @property
    def tail(self) -> float:
        """P(H > S/(e^gamma - 1)), which the proof of dilation bounds by delta/2."""
        cut = self.sensitivity / np.expm1(self.gamma)
        return float(self.probabilities[self.distances > cut].sum())


def score_law(
    mechanism: ExponentialMechanism, counts: ArrayLike, prior: ArrayLike
) -> ScoreLaw:
    """Return the scores of an expMech-delta release at these counts (k,), and how
    probable.
    """
    calibration: Any = mechanism.calibration
    x, alpha = _validate.counts_and_prior(counts, prior)
    law = mechanism.enumerated(x, alpha)
    distances, probabilities = law.distance_distribution()
    at = np.searchsorted(distances, np.asarray(law.distances) - _SAME)
    return ScoreLaw(
        mechanism.epsilon,
        calibration.delta,
        calibration.gamma(int(x.sum()), mechanism.epsilon),
        mechanism.sensitivity(x, alpha).value,
        distances,
        np.bincount(np.minimum(at, distances.size - 1), minlength=distances.size),
        probabilities,
    )


@dataclass(frozen=True)
class LemmaCheck:
    """The two sides of a lemma, h(u) <= e^(epsilon/2) h(u') + delta/2, in its worst
    case.
    """

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether the left side is at most the right, up to rounding."""
        return self.left - self.right <= 1e-12 * max(self.left, self.right)


def sliding(scores: ScoreLaw, reading: str) -> LemmaCheck:
    """Return the worst case of C, Lemma 2.1, over all scores and all shifts |Delta| <=
    S(x).
    """
    d, reach = scores.distances, scores.sensitivity
    near = np.abs(d[:, None] - d[None, :]) <= reach + _SAME
    return _worst(scores, reading, d + reach, near, first=0)


def dilation(scores: ScoreLaw, reading: str) -> LemmaCheck:
    """Return the worst case of C, Lemma 2.2, over all scores and |lambda| <= gamma."""
    d, factor = scores.distances, np.exp(scores.gamma)
    low, high = np.minimum(d[:, None], d[None, :]), np.maximum(d[:, None], d[None, :])
    return _worst(scores, reading, d * factor, high <= low * factor + _SAME, first=1)


def _worst(
    scores: ScoreLaw,
    reading: str,
    farthest: NDArray[np.float64],
    near: NDArray[np.bool_],
    first: int,
) -> LemmaCheck:
    # `farthest` is the farthest target of each distance, `near` which attained ones are
    # targets; from `first` on a score can be moved at all, and then to a place between
    # two attained ones.
    growth, spare, p = (
        np.exp(0.5 * scores.epsilon),
        0.5 * scores.delta,
        scores.probabilities,
    )
    if reading == "printed":
        return LemmaCheck(float(p[first:].max()), spare)
    if reading == "formula":
        left, right = (
            scores.formula(scores.distances),
            growth * scores.formula(farthest) + spare,
        )
    else:
        left, right = p, np.where(near, growth * p + spare, np.inf).min(axis=1)
    at = int(np.argmax(left - right))
    return LemmaCheck(float(left[at]), float(right[at]))


@dataclass(frozen=True)
class Guarantee:
    """P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, for neighbours by one replaced
    record.
    """

    epsilon: float
    delta: float


def proved_guarantee(mechanism: ExponentialMechanism, n: int, k: int) -> Guarantee:
    """Return what is proved for expMech-delta on n records over k categories.

    For all count vectors x, x' of n records over k categories that differ by replacing
    one record, and every set S of posteriors, P[M(x) in S] <= e^E P[M(x') in S] + D
    with E = 3 epsilon / 2 and D = |R| exp(-epsilon / (2 (e^g - 1))), where g is the
    most that ln S changes: gamma for d = Hamming, 2 gamma for d = l1. Book:
    `thm-delta-proved`. Raises ValueError where D reaches 1 and nothing is promised.
    """
    calibration: Any = mechanism.calibration
    epsilon = mechanism.epsilon
    change = calibration.gamma(n, epsilon) * (
        2.0 if calibration.distance == "l1" else 1.0
    )
    delta = float(
        number_of_candidates(n, k) * np.exp(-epsilon / (2.0 * np.expm1(change)))
    )
    if delta >= 1.0:
        raise ValueError(
            f"the argument promises nothing for n = {n}, k = {k}: delta is {delta:g}"
        )
    return Guarantee(1.5 * epsilon, delta)


def loss_parts(
    mechanism: ExponentialMechanism,
    counts: ArrayLike,
    neighbour: ArrayLike,
    output: ArrayLike,
    prior: ArrayLike,
) -> tuple[float, float]:
    """Return what the weights and the normalisers add to ln P[r|x] - ln P[r|x'].

    The truth has weight 1, so the normaliser is one over its probability.
    """
    laws = [(mechanism.law(data, prior), data) for data in (counts, neighbour)]
    first, second = (np.log(law.probability(data)) for law, data in laws)
    whole = np.log(laws[0][0].probability(output)) - np.log(
        laws[1][0].probability(output)
    )
    return float(whole - (first - second)), float(first - second)
