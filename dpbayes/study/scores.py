"""Scores: how they change when one record is replaced, and other divergences in their
place.

The papers name f-divergences as future work (A, section 6; D, section 8, item 3).
Functions take Dirichlet parameters (..., k), the true ones first; total variation and
Jensen-Shannon need k = 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, digamma, gammaln

from dpbayes import _validate
from dpbayes.auditing.rows import score_rows
from dpbayes.divergences import Metric, hellinger, log_affinity
from dpbayes.laws.estimate import (
    Yardstick,
    metric_function,
)
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.posteriors import check_candidates, compositions, neighbours, row_of
from dpbayes.sensitivity import profile

Array = NDArray[np.float64]

LARGEST_TABLE = 2_000  # candidates
_TAIL = 36.0  # what lies beyond the nodes weighs e^-36
# over a range of 40 at most for parameters from 1e-12 on: steps below 0.04
_NODES = 1201


def _pair(a: ArrayLike, b: ArrayLike, k: int | None = None) -> tuple[Array, Array]:
    first, second = _validate.positive_array("a", a), _validate.positive_array("b", b)
    if first.shape[-1] != second.shape[-1] or first.shape[-1] != (k or first.shape[-1]):
        raise ValueError(
            f"a and b must have the same number of parameters{f', {k}' if k else ''},"
            f" got shapes {first.shape} and {second.shape}"
        )
    wide, other = np.broadcast_arrays(first, second)
    return wide, other


def _log_beta(a: Array) -> Array:
    return np.asarray(gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1)))


def squared_hellinger(a: ArrayLike, b: ArrayLike) -> Array:
    """Return H^2 = 1 - BC, without cancellation; no metric. Book: `def-divergences`."""
    return np.asarray(-np.expm1(log_affinity(a, b)))


def kl(a: ArrayLike, b: ArrayLike) -> Array:
    """Return KL(Dir(a) || Dir(b)) = E_a[ln p_a - ln p_b]; no metric. Book:
    `def-divergences`.

    ln B(b) - ln B(a) + sum_i (a_i - b_i) (digamma(a_i) - digamma(sum a)).
    """
    first, second = _pair(a, b)
    means = digamma(first) - digamma(first.sum(axis=-1, keepdims=True))
    value = (
        _log_beta(second) - _log_beta(first) + ((first - second) * means).sum(axis=-1)
    )
    return np.asarray(np.maximum(value, 0.0))


def renyi(a: ArrayLike, b: ArrayLike, order: float = 0.5) -> Array:
    """Return the Renyi divergence D_q(Dir(a) || Dir(b)) of order q > 0; no metric.

    ln(integral of p_a^q p_b^(1-q)) / (q - 1), inf where q a + (1 - q) b is not
    positive; q is not 1. Order 1/2 is -2 ln BC. Book: `def-divergences`.
    """
    q, (first, second) = order, _pair(a, b)
    if q == 0.5:
        return np.asarray(-2.0 * log_affinity(first, second))
    mixed = q * first + (1.0 - q) * second
    finite = np.all(mixed > 0.0, axis=-1)
    safe = np.where(finite[..., None], mixed, 1.0)
    total = _log_beta(safe) - q * _log_beta(first) - (1.0 - q) * _log_beta(second)
    return np.where(finite, np.maximum(total / (q - 1.0), 0.0), np.inf)


def chi_squared(a: ArrayLike, b: ArrayLike) -> Array:
    """Return chi^2(Dir(a) || Dir(b)) = exp(D_2) - 1; no metric. Book:
    `def-divergences`.
    """
    return np.asarray(np.expm1(renyi(a, b, 2.0)))


def total_variation(a: ArrayLike, b: ArrayLike) -> Array:
    """Return TV = sup over events of |P_a - P_b| for Beta posteriors of equal totals; a
    metric.

    With equal totals the ratio of the densities is monotone in ln(t/(1-t)), so they
    cross once, at logit t = (ln B(a) - ln B(b)) / (a_1 - b_1), and TV is the difference
    of the two distribution functions there. Always H^2 <= TV <= H sqrt(2 - H^2). Book:
    `def-divergences`.
    """
    first, second = _pair(a, b, 2)
    totals = first.sum(axis=-1), second.sum(axis=-1)
    if np.any(np.abs(totals[0] - totals[1]) > 1e-9 * totals[0]):
        raise ValueError("a and b must have equal totals for total variation")
    step = first[..., 0] - second[..., 0]
    same = step == 0.0
    logit = (_log_beta(first) - _log_beta(second)) / np.where(same, 1.0, step)
    crossing = 0.5 * (1.0 + np.tanh(0.5 * logit))
    below = [betainc(p[..., 0], p[..., 1], crossing) for p in (first, second)]
    return np.where(same, 0.0, np.abs(below[0] - below[1]))


def jensen_shannon(a: ArrayLike, b: ArrayLike) -> Array:
    """Return JS = KL(P_a || M)/2 + KL(P_b || M)/2, M the even mixture, for Beta
    posteriors.

    In [0, ln 2], to 1e-9; its root is a metric. The trapezoid rule in u, logit t = c +
    w sinh u, around each density, where it falls off doubly exponentially. Book:
    `def-divergences`.
    """
    first, second = _pair(a, b, 2)
    halves = _half(first, second) + _half(second, first)
    return np.asarray(np.clip(0.5 * halves, 0.0, np.log(2.0)))


def _half(a: Array, b: Array) -> Array:
    """Return KL(P_a || M) by nodes around P_a, as far as its tails go."""
    inner = a + 0.5
    centre = np.log(inner[..., :1] / inner[..., 1:])
    width = np.sqrt((1.0 / inner).sum(axis=-1, keepdims=True))
    ends = np.arcsinh(np.maximum((_TAIL + 9.0) / a / width, 10.0) + 6.0 / width)
    low, span = -ends[..., :1], ends.sum(axis=-1, keepdims=True)
    u = low + span * np.linspace(0.0, 1.0, _NODES)
    logs = [_log_density(p, centre + width * np.sinh(u)) for p in (a, b)]
    ahead = np.log(2.0) - np.logaddexp(0.0, logs[1] - logs[0])
    total = (np.exp(logs[0]) * ahead * width * np.cosh(u)).sum(axis=-1)
    return np.asarray(total * span[..., 0] / (_NODES - 1))


def _log_density(parameters: Array, y: Array) -> Array:
    # Density of logit t: t^a (1 - t)^b / B(a, b).
    first, second = parameters[..., 0:1], parameters[..., 1:2]
    tails = first * np.logaddexp(0.0, -y) + second * np.logaddexp(0.0, y)
    return np.asarray(-tails - _log_beta(parameters)[..., None])


DIVERGENCES: Mapping[str, Metric] = {
    "hellinger": hellinger,
    "squared-hellinger": squared_hellinger,
    "total-variation": total_variation,
    "root-jensen-shannon": lambda a, b: np.sqrt(jensen_shannon(a, b)),
    "jensen-shannon": jensen_shannon,
    "kl": kl,
    "reverse-kl": lambda a, b: kl(b, a),
    "renyi-half": partial(renyi, order=0.5),
    "renyi-2": partial(renyi, order=2.0),
    "chi-squared": chi_squared,
}

METRICS = (
    "hellinger",
    "total-variation",
    "root-jensen-shannon",
)  # with the triangle inequality


def divergence_table(name: str, n: int, prior: ArrayLike) -> Array:
    """Return D(BI(x), r) for all histograms x, r of n records, shape (N, N),
    read-only."""
    alpha = _validate.prior("prior", prior)
    check_candidates(n, alpha.size, LARGEST_TABLE, "a table of divergences")
    return _table(name, n, tuple(alpha.tolist()))


@lru_cache(maxsize=32)
def _table(name: str, n: int, prior: tuple[float, ...]) -> Array:
    posteriors = np.array(prior) + compositions(n, len(prior))
    table = np.array([DIVERGENCES[name](a, posteriors) for a in posteriors])
    np.fill_diagonal(table, 0.0)
    return np.asarray(_validate.frozen(table))


@lru_cache(maxsize=32)
def local_changes(name: str, n: int, prior: tuple[float, ...]) -> Array:
    """Return max over neighbours x' and all r of |D(BI(x), r) - D(BI(x'), r)| for each
    x, (N,).
    """
    table, result = divergence_table(name, n, prior), []
    for row, x in zip(table, compositions(n, len(prior)), strict=True):
        with np.errstate(invalid="ignore"):
            changes = np.abs(row - table[[row_of(other) for other in neighbours(x)]])
        # inf - inf: no weight for either, no change between them.
        result.append(np.nan_to_num(changes, nan=0.0, posinf=np.inf).max())
    return np.asarray(_validate.frozen(np.array(result)))


@dataclass(frozen=True)
class ScoredExponential:
    """Release r with probability proportional to exp(-epsilon D(BI(x), r) / (F S(x))).

    D is a key of `DIVERGENCES`. The change of the score, LS(x) = max over neighbours x'
    and *every* r of |D(BI(x), r) - D(BI(x'), r)|, is enumerated: the shortcut to r =
    BI(x) needs the triangle inequality, which KL, Renyi, chi^2, Jensen-Shannon and
    squared Hellinger lack. 1/S = min over x'' of 1/LS(x'') + gamma d(x, x''), and F = 2
    (1 + gamma V), where V is the largest score, or 1 if that is larger. Book:
    `def-scored`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one
    record, and every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    divergence: str = "hellinger"
    gamma: float = 1.0

    @property
    def name(self) -> str:
        """The name of its divergence."""
        return self.divergence

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law; raises ValueError where the score's sensitivity is
        infinite.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, key = int(x.sum()), tuple(alpha.tolist())
        table = divergence_table(self.divergence, n, alpha)
        local, outputs = local_changes(self.divergence, n, key), compositions(n, x.size)
        if not np.all(np.isfinite(local)):
            raise ValueError(
                f"divergence {self.divergence!r} has an infinite sensitivity at n = {n}"
            )
        away = np.abs(outputs - x).sum(axis=1) / 2.0
        smooth = 1.0 / float(np.min(1.0 / local + self.gamma * away))
        factor = 2.0 * (1.0 + self.gamma * max(1.0, float(table.max())))
        logs = normalised(-self.epsilon * table[row_of(x)] / (factor * smooth))
        return FiniteLaw(alpha, x, outputs, logs)


def score_changes(
    counts: ArrayLike,
    prior: ArrayLike,
    metric: Yardstick = "hellinger",
    one_sided: bool = False,
) -> tuple[NDArray[np.int64], Array]:
    """Return all candidates (N, k) and the largest change of the score of each, shape
    (N,).

    The change of r is the maximum over neighbours x' of |H(BI(x), r) - H(BI(x'), r)|.
    Source: D, section 7.1 and Figure 2, C, Figure 1; book: `thm-local-at-truth`.
    `one_sided` takes only the neighbours x + e_i - e_j with i < j, as the program
    behind those figures did.
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    distance = metric_function(metric)
    outputs = compositions(int(x.sum()), x.size)
    own = distance(alpha + x, alpha + outputs)
    best = np.zeros(len(outputs))
    for y in neighbours(x):
        if not one_sided or tuple(y) > tuple(x):
            best = np.maximum(best, np.abs(own - distance(alpha + y, alpha + outputs)))
    return outputs, best


def span_of_change(n: int, prior: ArrayLike) -> float:
    """Return the largest span over r of H(x, r)/LS(x) - H(x', r)/LS(x'), over all
    neighbours.

    Where it is at most 2, expMech-local is epsilon-DP for these n and this prior at
    every epsilon: its loss is at most epsilon/2 times the span. k = 2, with O(n^2)
    distances. Book: `thm-span`.
    """
    alpha = _validate.prior("prior", prior, 2)
    sensitivities, rows = profile(n, alpha, False), score_rows("hellinger", n, alpha)
    before, widest = None, 0.0
    for distances, sensitivity in zip(rows, sensitivities, strict=True):
        score = distances / sensitivity
        if before is not None:
            widest = max(widest, float(np.ptp(score - before)))
        before = score
    return widest
