"""What smaller sentences of the documents A to D are held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpbayes._validate import Floats
from dpbayes.divergences import hellinger
from dpbayes.laws.finite import FiniteLaw
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions, neighbours
from dpbayes.sensitivity import profile
from dpbayes.study.catalogue import catalogue

# Readings off the printed figures: name, figure, curve, statistic, place.
_READINGS = [
    ("a1-640-ours", "A1a", "expMech-delta", "mean", "640"),
    ("a1-640-lap", "A1a", "lapMech", "mean", "640"),
    ("a1-660-ours", "A1a", "expMech-delta", "mean", "660"),
    ("a1-660-lap", "A1a", "lapMech", "mean", "660"),
    ("a2-1000-ours", "A2a", "expMech-delta", "mean", "1000"),
    ("a2-1000-lap", "A2a", "Laplace 2/eps", "mean", "1000"),
    ("a2-2000-ours", "A2a", "expMech-delta", "mean", "2000"),
    ("a2-2000-lap", "A2a", "Laplace 2/eps", "mean", "2000"),
    ("d5-300-ours", "D5", "expMech-delta", "mean", "300"),
    ("d5-300-lap", "D5", "lapMech", "mean", "300"),
    ("d5-300-ilap", "D5", "ilapMech", "mean", "300"),
    ("d5-500-ours", "D5", "expMech-delta", "mean", "500"),
    ("d5-500-lap", "D5", "lapMech", "mean", "500"),
    ("d5-500-ilap", "D5", "ilapMech", "mean", "500"),
    ("d3b-ours", "D3b", "M_H gamma (star)", "mean", "0.00000"),
    ("d3b-lap", "D3b", "lapMech", "mean", "0.00000"),
    ("d3b-ilap", "D3b", "ilapMech", "mean", "0.00000"),
    ("d6a-ours", "D6a", "expMech-delta", "mean", "300"),
    ("d6a-lap", "D6a", "lapMech", "mean", "300"),
    ("d6p-ours", "D6prior", "expMech-delta", "upper-quartile", "50/50|prior 2000"),
    ("d6p-lap", "D6prior", "lapMech", "upper-quartile", "50/50|prior 2000"),
    ("d6p-ilap", "D6prior", "ilapMech", "upper-quartile", "50/50|prior 2000"),
]


def readings() -> dict[str, tuple[float, str]]:
    """Return what was read off printed figures: value and place, by name.

    >>> readings()["d5-300-lap"][1]
    '300'
    """
    points = {
        (one.document + one.figure + one.panel, one.curve, point.statistic, point.x): (
            point.y
        )
        for one in catalogue()
        for point in one.points
    }
    return {
        name: (points[figure, curve, what, x], x)
        for name, figure, curve, what, x in _READINGS
    }


def drawn_medians(curve: str, counts: str, priors: Sequence[int]) -> Floats:
    """Return the medians (priors,) of a curve of B's Figure 5 as its program drew them.

    `counts` is "10/10/10" or "1/1/28".
    """
    drawn = {
        one.curve: one.drawn
        for one in catalogue()
        if (one.document, one.figure) == ("B", "5")
    }[curve]
    found = [drawn.expected(f"{counts}|prior {prior}", "median") for prior in priors]
    return np.array([one.value for one in found])


def adjacent_only(
    n: int, prior: Sequence[float], epsilon: float
) -> tuple[float, float]:
    """Return the largest loss, and change of 1/S, with S as D prints it for k > 2.

    D's smooth sensitivity for three and more categories takes its maximum over
    *adjacent* data sets y only: 1/S(x) = min(1/LS(x), 1/LS(y) + 1), γ = 1. The weight
    of a candidate is exp(-epsilon H / 4S). All data sets of n records, all pairs of
    neighbours and all outputs are gone through; the change of 1/S may be at most γ.

    >>> loss, change = adjacent_only(12, [0.01, 0.01, 0.01], 1.0)
    >>> print(f"{loss:.2f} {change:.2f}")
    0.38 1.26
    """
    rows = [tuple(row) for row in compositions(n, len(prior)).tolist()]
    place = {row: i for i, row in enumerate(rows)}
    near = [[place[tuple(y.tolist())] for y in neighbours(row)] for row in rows]
    a = np.array(rows) + np.array(prior)
    distances = hellinger(a[:, None, :], a[None, :, :])
    local = np.array([1.0 / distances[i, near[i]].max() for i in range(len(rows))])
    inverse = np.array(
        [min(local[i], 1.0 + local[near[i]].min()) for i in range(len(a))]
    )
    logs = _log_weights(epsilon, inverse, distances)
    pairs = [(i, j) for i in range(len(rows)) for j in near[i] if i < j]
    loss = max(float(np.abs(logs[i] - logs[j]).max()) for i, j in pairs)
    return loss, max(float(abs(inverse[i] - inverse[j])) for i, j in pairs)


def drawn_smooth_loss(n: int, epsilon: float, beta: float) -> float:
    """Return the loss of D's second mechanism as drawn in its Figure 3, flat prior.

    The weight is exp(-epsilon H / 4S), S the smooth sensitivity that falls like
    exp(-beta d).
    """
    x = np.arange(n + 1.0)
    posteriors = np.column_stack((1.0 + x, 1.0 + n - x))
    distances = hellinger(posteriors[:, None, :], posteriors[None, :, :])
    smooth = profile(n, [1.0, 1.0], True, beta, "exponential")
    logs = _log_weights(epsilon, 1.0 / smooth, distances)
    return float(np.abs(np.diff(logs, axis=0)).max())


def _log_weights(epsilon: float, inverse: Floats, distances: Floats) -> Floats:
    logs = -0.25 * epsilon * inverse[:, None] * distances
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def off_total(law: FiniteLaw, n: int) -> float:
    """Return the probability that the counts of an output do not add up to n."""
    off = law.outputs.sum(axis=1) != n
    return float(np.exp(law.log_probabilities[off]).sum())


def exactness(one: Mechanism, counts: Sequence[int]) -> tuple[float, float, float]:
    """Return three numbers of a release of two counts, flat prior.

    They are the probability of the true counts, that of the counts at most one step
    away, and the mean Hellinger distance.
    """
    law = one.law(counts, [1.0, 1.0])
    n, x = sum(counts), counts[0]
    near = [[y, n - y] for y in (x - 1, x, x + 1) if 0 <= y <= n]
    exact = float(law.probability(counts))
    close = sum(float(law.probability(y)) for y in near)
    return exact, close, float(law.mean_distance())


def step_probabilities(epsilon: float, sizes: Sequence[int], step: int) -> Floats:
    """Return how likely `expMech-smooth` moves a balanced count so far, (sizes,).

    Both sides together, flat prior, even sizes.
    """
    smooth, found = mechanism("expMech-smooth", epsilon), []
    for n in sizes:
        law, half = smooth.law([n // 2] * 2, [1.0, 1.0]), n // 2
        ends = [half + step, half - step]
        found.append(2.0 * float(law.probability(ends)) if step <= half else 0.0)
    return np.array(found)
