"""What an audit by sampling alone can see: certified lower bounds on epsilon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from dpbayes import _validate
from dpbayes._values import ByValue
from dpbayes.auditing.exact import checked_pair
from dpbayes.mechanisms.protocol import Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class SampledAudit(ByValue):
    """A lower bound on epsilon that holds with probability `confidence` over the
    samples.

    `event` (m, k) are the outputs chosen on the first half of the samples; `hits`
    counts them in the second half, out of `runs` for each of the two data sets.
    `epsilon` is 0 where the samples tell nothing; the actual one of the mechanism may
    be far above it.
    """

    epsilon: float
    event: NDArray[np.int64]
    hits: tuple[int, int]
    runs: int
    confidence: float


def clopper_pearson(hits: int, runs: int, confidence: float) -> tuple[float, float]:
    """Return bounds that each hold for a success probability with the given confidence.

    The lower one solves P[Binomial(runs, p) >= hits] = 1 - confidence. Book:
    `thm-clopper-pearson`.

    >>> [round(bound, 4) for bound in clopper_pearson(0, 100, 0.95)]
    [0.0, 0.0295]
    """
    total = _validate.integer("runs", runs, minimum=1)
    count = _validate.integer("hits", hits, minimum=0)
    risk = 1.0 - _validate.open_unit("confidence", confidence)
    if count > total:
        raise ValueError(f"hits must be at most runs = {total}, got {count}")
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, risk))
    high = (
        1.0
        if count == total
        else float(betaincinv(count + 1, total - count, 1.0 - risk))
    )
    return low, high


def audit_by_sampling(
    mechanism: Mechanism,
    counts: ArrayLike,
    neighbour: ArrayLike,
    prior: ArrayLike,
    rng: np.random.Generator,
    runs: int = 100_000,
    confidence: float = 0.99,
) -> SampledAudit:
    """Return a certified lower bound on epsilon from `runs` releases of each of two
    data sets.

    The event is chosen on one half: outputs ranked by their ratio of frequencies, the
    cut where the certified bound is best, for either order. The other half certifies
    ln(p_low / q_high) with one Clopper-Pearson bound for each, at level 1 - (1 -
    confidence)/2. Book: `sampled-audit`.
    """
    x, other, alpha = checked_pair(mechanism, counts, neighbour, prior)
    half = _validate.integer("runs", runs, minimum=4) // 2
    level = 1.0 - 0.5 * (1.0 - _validate.open_unit("confidence", confidence))
    generator = _validate.generator("rng", rng)
    draws = [mechanism.law(data, alpha).rvs(2 * half, generator) for data in (x, other)]
    outputs, place = np.unique(np.concatenate(draws), axis=0, return_inverse=True)
    kind = place.reshape(2, 2, half)
    table = np.array(
        [[np.bincount(part, minlength=len(outputs)) for part in d] for d in kind]
    )
    orders = [(0, 1), (1, 0)]
    chosen = [_best_event(table[a, 0], table[b, 0], half, level) for a, b in orders]
    better = int(chosen[1][0] > chosen[0][0])
    event, (a, b) = chosen[better][1], orders[better]
    hits = (int(table[a, 1, event].sum()), int(table[b, 1, event].sum()))
    epsilon = max(0.0, _certified(*hits, half, level))
    return SampledAudit(epsilon, outputs[event], hits, half, float(confidence))


def _certified(p_hits: int, q_hits: int, runs: int, level: float) -> float:
    """Return ln(p_low / q_high), a bound on a loss from two counts of hits; -inf
    without one.
    """
    low, _ = clopper_pearson(p_hits, runs, level)
    _, high = clopper_pearson(q_hits, runs, level)
    return float(np.log(low / high)) if low > 0.0 else -np.inf


def _best_event(
    p: NDArray[np.int64], q: NDArray[np.int64], runs: int, level: float
) -> tuple[float, NDArray[np.int64]]:
    """Return the best certified bound of all events "the first m outputs", and its
    outputs.

    Outputs are ranked by their ratio of frequencies, one hit more for each so that no
    ratio is 0/0: by Neyman and Pearson the best events are of this form.
    """
    order = np.argsort(-(p + 1.0) / (q + 1.0), kind="stable")
    p_hits, q_hits = np.cumsum(p[order]), np.cumsum(q[order])
    values = [
        _certified(int(a), int(b), runs, level)
        for a, b in zip(p_hits, q_hits, strict=True)
    ]
    best = int(np.argmax(values))
    return values[best], order[: best + 1]
