"""The two lemmas behind A's Theorem 4.1, checked score by score.

Lemma 2.1 of C (sliding) and Lemma 2.2 (dilation) compare the probability that an exponential
mechanism's score u = -H takes one value with the probability that it takes another. They can be
read in three ways, and the readings differ in truth:

"formula"   the printed proofs' own: h(s) = e^(epsilon s / 2S) / normaliser, at any number s
"attained"  probabilities of scores that some output has, several outputs counted together
"printed"   the lemma as written: the probability of a score that no output has is zero
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity, one_step_affinity
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.posteriors import number_of_candidates

READINGS = ("formula", "attained", "printed")

_SAME = 1e-12


@dataclass(frozen=True)
class ScoreLaw:
    """The scores u = -H of an expMech-delta release at x: distances H, how many, how probable.

    `distances` (m,) increase from 0, `outputs` (m,) counts the outputs at each, `probabilities`
    (m,) are those of the scores. `sensitivity` is S(x), `gamma` the smoothing rate.
    """

    epsilon: float
    delta: float
    gamma: float
    sensitivity: float
    distances: NDArray[np.float64]
    outputs: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    @property
    def rate(self) -> float:
        """Fall of ln h per unit of distance: epsilon / 2S."""
        return self.epsilon / (2.0 * self.sensitivity)

    def formula(self, distances: ArrayLike) -> NDArray[np.float64]:
        """Return h = e^(-rate H) / normaliser at any distances, attained or not."""
        at_truth = self.probabilities[0] / self.outputs[0]
        return np.asarray(at_truth * np.exp(-self.rate * np.asarray(distances, dtype=np.float64)))

    @property
    def cut(self) -> float:
        """S/(e^gamma - 1): beyond this distance the dilation lemma pays with delta/2."""
        return float(self.sensitivity / np.expm1(self.gamma))

    @property
    def tail(self) -> float:
        """P(H > cut), which the proof of dilation bounds by delta/2."""
        return float(self.probabilities[self.distances > self.cut].sum())


def score_law(mechanism: ExponentialMechanism, counts: ArrayLike, prior: ArrayLike) -> ScoreLaw:
    """Return the scores of an expMech-delta release at these counts, with their probabilities.

    Raises TypeError for another mechanism, ValueError for another divisor than the 2 of its
    definition. `counts` and `prior` have shape (k,).

    >>> from dpbayes.mechanisms import mechanism
    >>> score_law(mechanism("expMech-delta", 1.0), [1, 1], [1, 1]).outputs
    array([1, 2])
    """
    calibration: Any = getattr(mechanism, "calibration", None)
    if mechanism.name != "expMech-delta" or calibration is None:
        raise TypeError(f"mechanism must be expMech-delta, got {mechanism.name!r}")
    if mechanism.factor != calibration.factor:
        raise ValueError(f"divisor must be {calibration.factor:g}, got {mechanism.factor!r}")
    x, alpha = _validate.counts_and_prior(counts, prior)
    law = mechanism.enumerated(x, alpha)
    distances, probabilities = law.distance_distribution()
    at = np.searchsorted(distances, np.asarray(law.distances) - _SAME)
    outputs = np.bincount(np.minimum(at, distances.size - 1), minlength=distances.size)
    return ScoreLaw(
        mechanism.epsilon,
        calibration.delta,
        calibration.gamma(int(x.sum()), mechanism.epsilon),
        mechanism.sensitivity(x, alpha).value,
        distances,
        outputs,
        probabilities,
    )


@dataclass(frozen=True)
class LemmaCheck:
    """The worst case of one lemma: P[u = -distance] <= e^(epsilon/2) P[u = -target] + delta/2.

    `left` and `right` are the two sides; the lemma holds when `excess` = left - right is at most 0
    (within rounding).
    """

    distance: float
    target: float
    left: float
    right: float

    @property
    def excess(self) -> float:
        """How far the left side exceeds the right."""
        return self.left - self.right

    @property
    def holds(self) -> bool:
        """Whether the inequality holds in the worst case, rounding allowed for."""
        return self.excess <= 1e-12 * max(self.left, self.right)


def sliding(scores: ScoreLaw, reading: str) -> LemmaCheck:
    """Return the worst case of C, Lemma 2.1, over all scores and all shifts |Delta| <= S(x).

    Book: `lem-sliding`. `reading` is "formula", "attained" or "printed".
    """
    _validate.choice("reading", reading, READINGS)
    d = scores.distances
    if reading == "formula":
        return _worst_formula(scores, d + scores.sensitivity)
    if reading == "printed":
        gap = min(float(np.diff(d).min()), scores.sensitivity)
        return _unattained(scores, d + 0.5 * gap, first=0)
    return _worst_pair(scores, np.abs(d[:, None] - d[None, :]) <= scores.sensitivity + _SAME)


def dilation(scores: ScoreLaw, reading: str) -> LemmaCheck:
    """Return the worst case of C, Lemma 2.2, over all scores and |lambda| <= gamma.

    Book: `lem-dilation`. `reading` is "formula", "attained" or "printed".
    """
    _validate.choice("reading", reading, READINGS)
    d = scores.distances
    if reading == "formula":
        return _worst_formula(scores, d * np.exp(scores.gamma))
    if reading == "printed":
        stretch = min(float(np.diff(d).min() / d[-1]), scores.gamma)
        return _unattained(scores, d * (1.0 + 0.5 * stretch), first=1)
    low, high = np.minimum(d[:, None], d[None, :]), np.maximum(d[:, None], d[None, :])
    return _worst_pair(scores, high <= low * np.exp(scores.gamma) + _SAME)


def _worst_formula(scores: ScoreLaw, targets: NDArray[np.float64]) -> LemmaCheck:
    left = scores.formula(scores.distances)
    right = np.exp(0.5 * scores.epsilon) * scores.formula(targets) + 0.5 * scores.delta
    return _check(scores, targets, left, right, int(np.argmax(left - right)))


def _unattained(scores: ScoreLaw, targets: NDArray[np.float64], first: int) -> LemmaCheck:
    # The target lies strictly between two attained scores: its probability is zero.
    left = scores.probabilities
    right = np.full(left.shape, 0.5 * scores.delta)
    return _check(scores, targets, left, right, first + int(np.argmax(left[first:])))


def _check(
    scores: ScoreLaw,
    targets: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    at: int,
) -> LemmaCheck:
    return LemmaCheck(
        float(scores.distances[at]), float(targets[at]), float(left[at]), float(right[at])
    )


def _worst_pair(scores: ScoreLaw, near: NDArray[np.bool_]) -> LemmaCheck:
    p, d = scores.probabilities, scores.distances
    bound = np.exp(0.5 * scores.epsilon) * p + 0.5 * scores.delta
    excess = np.where(near, p[:, None] - bound[None, :], -np.inf)
    i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
    return LemmaCheck(float(d[i]), float(d[j]), float(p[i]), float(bound[j]))


@dataclass(frozen=True)
class Guarantee:
    """P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, for neighbours by one replaced record."""

    epsilon: float
    delta: float


def proved_guarantee(mechanism: ExponentialMechanism, n: int, k: int) -> Guarantee:
    """Return what is proved for expMech-delta on n records over k categories.

    For all count vectors x, x' of n records over k categories that differ by replacing one record,
    and every set S of posteriors, P[M(x) in S] <= e^E P[M(x') in S] + D with E = 3 epsilon / 2 and
    D = |R| exp(-epsilon / (2 (e^g - 1))), where g is the most that ln S changes: gamma for
    d = Hamming, 2 gamma for d = l1. With another divisor than the 2 of the definition the epsilon
    of the theorem is the nominal one times 2 over the divisor. Book: `thm-delta-proved`. Raises
    ValueError where D reaches 1 and nothing is promised.

    >>> from dpbayes.mechanisms import mechanism
    >>> proved = proved_guarantee(mechanism("expMech-delta", 1.0, delta=1e-6), 50, 2)
    >>> round(proved.epsilon, 12), round(proved.delta, 15)
    (1.5, 5e-07)
    """
    change = _change_of_sensitivity(mechanism, n)
    outputs = number_of_candidates(n, k)
    spent = _in_the_weights(mechanism)
    delta = float(outputs * np.exp(-spent / (2.0 * np.expm1(change))))
    if delta >= 1.0:
        raise ValueError(f"the argument promises nothing for n = {n}, k = {k}: delta is {delta:g}")
    return Guarantee(1.5 * spent, delta)


def needs_no_delta(
    mechanism: ExponentialMechanism, n: int, k: int, prior: ArrayLike | None = None
) -> bool:
    """Return whether a theorem proves expMech-delta epsilon-DP on n records over k categories.

    With e^g the most that S changes, by a factor, and l = epsilon / (2 (e^g - 1)), both of
    epsilon (|R| - 1) e^(-epsilon / e^g) <= 2 e l (1 - e^-epsilon) and
    epsilon^2 n |R| e^(g (n - 1)) <= 4 l (1 - e^-epsilon) are enough, for every prior. For k = 2 and
    replaced records let b be the smaller parameter of a `prior` (k,), with b <= 1 and
    epsilon <= l / 20, or b >= 20 and a local sensitivity that falls by e^g at most from one record
    of its category to two, as it does from b epsilon = l on. Then it is enough that the other one
    is equal and delta <= 1/2; or that it is larger by n or more, delta <= 1/4, and epsilon >= 3 / l
    or the first condition holds. A divisor below 2 is never covered; a larger one lowers the
    epsilon of these conditions. False decides nothing. Book: `thm-delta-two`,
    `thm-delta-two-small`, `thm-delta-two-uniform`, `thm-delta-two-unlike`, `thm-delta-two-strong`.

    >>> from dpbayes.mechanisms import mechanism
    >>> [needs_no_delta(mechanism("expMech-delta", e, delta=1e-8), 30, 2) for e in (0.01, 20.0)]
    [True, False]
    >>> alike, unlike = [1, 1], [1, 2000]
    >>> plan = mechanism("expMech-delta", 0.8, delta=1e-8)
    >>> [needs_no_delta(plan, 1000, 2, prior) for prior in (None, alike, unlike, [50, 50])]
    [False, True, True, True]
    """
    change, epsilon = _change_of_sensitivity(mechanism, n), _in_the_weights(mechanism)
    if epsilon > mechanism.epsilon:
        return False
    outputs, spared = number_of_candidates(n, k), -np.expm1(-epsilon)
    room = epsilon / (2.0 * np.expm1(change))
    rising = epsilon * (outputs - 1) * np.exp(-epsilon * np.exp(-change) - 1.0)
    rises = bool(rising <= 2.0 * room * spared)
    alpha = None if prior is None else _validate.prior("prior", prior, k)
    if (
        alpha is not None
        and k == 2
        and _as_printed(mechanism)
        and _covers(mechanism, n, alpha, rises)
    ):
        return True
    falling = 2.0 * np.log(epsilon) + np.log(float(n * outputs)) + change * (n - 1)
    return bool(rises and falling <= np.log(4.0 * room * spared))


def _covers(
    mechanism: ExponentialMechanism, n: int, alpha: NDArray[np.float64], rises: bool
) -> bool:
    # Whether a theorem for two categories covers this prior; `rises`: `thm-delta-two` does.
    calibration: Any = mechanism.calibration
    epsilon, delta = mechanism.epsilon, calibration.delta
    room = epsilon / (2.0 * np.expm1(_change_of_sensitivity(mechanism, n)))
    low, high = alpha.min(), alpha.max()
    weak, strong = low <= 1.0 and epsilon <= room / 20.0, low >= 20.0 and n > 1
    if not weak and not (strong and _first_fall(low, high, n) <= 1.0 + 0.5 * epsilon / room):
        return False
    alike = low == high and delta <= 0.5
    apart = high >= low + n and delta <= 0.25 and (rises or epsilon >= 3.0 / room)
    return bool(alike or apart)


def _first_fall(low: float, high: float, n: int) -> float:
    # s_0 / s_1: by how much a second record of the category with the smaller parameter adds less.
    at = np.array([0.0, 1.0])
    steps = distance_from_log_affinity(
        one_step_affinity(low + at) + one_step_affinity(high + n - 1 - at)
    )
    return float(steps[0] / steps[1] * (1.0 + 1e-9))


def _as_printed(mechanism: ExponentialMechanism) -> bool:
    # Whether B and C print this expMech-delta: replaced records, their gamma, distance and factor.
    calibration: Any = mechanism.calibration
    printed = calibration.distance == "hamming" and calibration.failure_term == "2(n+1)"
    return bool(
        printed and mechanism.metric == "hellinger" and mechanism.factor == calibration.factor
    )


def _in_the_weights(mechanism: ExponentialMechanism) -> float:
    # The epsilon of weights exp(-epsilon H / (2S)); the nominal one unless the divisor is not 2.
    calibration: Any = mechanism.calibration
    return float(mechanism.epsilon * (calibration.factor / mechanism.factor))


def _change_of_sensitivity(mechanism: ExponentialMechanism, n: int) -> float:
    # The most that ln S of expMech-delta changes between neighbours of n records.
    calibration: Any = getattr(mechanism, "calibration", None)
    if mechanism.name != "expMech-delta" or calibration is None:
        raise TypeError(f"mechanism must be expMech-delta, got {mechanism.name!r}")
    gamma = float(calibration.gamma(n, mechanism.epsilon))
    return gamma * (2.0 if calibration.distance == "l1" else 1.0)


def loss_parts(
    mechanism: ExponentialMechanism,
    counts: ArrayLike,
    neighbour: ArrayLike,
    output: ArrayLike,
    prior: ArrayLike,
) -> tuple[float, float]:
    """Return what the weights and the normalisers add to ln P[r|x] - ln P[r|x'], their sum.

    The printed proof bounds one of them.

    `counts`, `neighbour`, `output` and `prior` have shape (k,). The truth has weight 1, so the
    normaliser is one over its probability.
    """
    laws = [mechanism.law(data, prior) for data in (counts, neighbour)]
    x, other = (_validate.counts("counts", data) for data in (counts, neighbour))
    at_truth = [np.log(law.probability(data)) for law, data in zip(laws, (x, other), strict=True)]
    at_output = [np.log(law.probability(output)) for law in laws]
    normalisers = float(at_truth[0] - at_truth[1])
    return float(at_output[0] - at_output[1]) - normalisers, normalisers
