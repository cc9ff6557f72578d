"""How scores change when one record is replaced, over every candidate and every neighbour."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.rows import score_rows
from dpbayes.laws.estimate import Yardstick, metric_function
from dpbayes.posteriors import compositions, neighbours
from dpbayes.sensitivity import profile


def score_changes(
    counts: ArrayLike, prior: ArrayLike, metric: Yardstick = "hellinger", one_sided: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all candidates (N, k) and the largest change of the score of each, shape (N,).

    The change of r is the maximum over neighbours x' of |H(BI(x), r) - H(BI(x'), r)|; by the
    triangle inequality it is largest at r = BI(x). Source: D, section 7.1 and Figure 2, C, Figure
    1; book: `thm-local-at-truth`. `counts` hold at least one record. `one_sided` takes only the
    neighbours x + e_i - e_j with i < j, half of them, as the program behind those figures did.

    >>> outputs, changes = score_changes([2, 1], [1, 1])
    >>> float(changes.max()) == float(changes[(outputs == [2, 1]).all(axis=1)][0])
    True
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
    """Return the largest span over r of H(x, r)/LS(x) - H(x', r)/LS(x'), over all neighbours.

    Where it is at most 2, expMech-local is epsilon-DP for these n and this prior at every epsilon:
    its loss is at most epsilon/2 times the span. k = 2, with O(n^2) distances. Book: `thm-span`.

    >>> round(span_of_change(100, [1, 1]), 9), round(span_of_change(100, [0.1, 0.1]), 4)
    (2.0, 2.1274)
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    sensitivities = profile(size, alpha, False)
    before, widest = None, 0.0
    for distances, sensitivity in zip(
        score_rows("hellinger", size, alpha), sensitivities, strict=True
    ):
        score = distances / sensitivity
        if before is not None:
            widest = max(widest, float(np.ptp(score - before)))
        before = score
    return widest
