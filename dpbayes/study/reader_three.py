"""The best mechanism for a reader who knows the noise: all extreme columns, any k, few records.

A column of a private mechanism is extreme exactly when the steps at which it changes by a full
factor e^epsilon or e^-epsilon connect all data sets. So its logarithm is epsilon times a whole
height, and heights of neighbours differ by at most 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpbayes import _validate
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.optimum import distance_table, record_distances
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.study.reader_optimum import READERS, hellinger_loss, least_cost, spread

LARGEST = 15
"""Most data sets whose heights are listed: four records of three categories."""


@lru_cache(maxsize=8)
def heights(n: int, k: int) -> NDArray[np.int64]:
    """Return the heights of all extreme columns, shape (columns, data sets), largest 0.

    Book: `thm-reader-heights`. At most `LARGEST` data sets.

    >>> len(heights(2, 2)), len(heights(1, 3)), len(heights(3, 3))
    (4, 6, 1440)
    """
    sets = number_of_candidates(_validate.integer("n", n, minimum=1), k)
    if sets > LARGEST:
        raise ValueError(
            f"n = {n} records over k = {k} categories have {sets} data sets; extreme columns are "
            f"listed for at most {LARGEST}"
        )
    near = record_distances(n, k) == 1
    order = np.argsort(record_distances(n, k)[0], kind="stable")
    found = np.zeros((1, sets), dtype=np.int64)
    for place, x in enumerate(order[1:], start=1):
        known = order[:place][near[x, order[:place]]]
        low, high = found[:, known].max(axis=1) - 1, found[:, known].min(axis=1) + 1
        tried = []
        for step in range(3):
            fits = low + step <= high
            tried.append(found[fits])
            tried[-1][:, x] = low[fits] + step
        found = np.concatenate(tried)
    tight = near & (np.abs(found[:, :, None] - found[:, None, :]) == 1)
    reached = np.zeros(found.shape, dtype=bool)
    reached[:, 0] = True
    for _ in range(sets):
        reached |= (tight & reached[:, :, None]).any(axis=1)
    kept = found[reached.all(axis=1)]
    return np.asarray(_validate.frozen(kept - kept.max(axis=1, keepdims=True)))


def least_reader_loss(n: int, epsilon: float, reader: str, prior: ArrayLike) -> float:
    """Return the least loss of a reader who knows the mechanism, over all mechanisms.

    Data have the Dirichlet-multinomial law of the prior, shape (k,). `reader` is one of `READERS`
    of `reader_optimum`; the squared error adds up over the categories.

    >>> round(least_reader_loss(3, 1.0, "log score", [1, 1, 1]), 4)
    1.9074
    """
    alpha = _validate.prior("prior", prior)
    budget = _validate.positive("epsilon", epsilon)
    columns = np.exp(budget * heights(n, alpha.size))
    cost = losses(columns * data_weights(n, alpha), reader, n, alpha)
    return least_cost(cost, columns)


def lattice_reader_loss(n: int, epsilon: float, reader: str, prior: ArrayLike) -> float:
    """Return the loss of that reader under lattice noise, the projected histogram being known."""
    alpha = _validate.prior("prior", prior)
    noise: Any = mechanism("lattice", _validate.positive("epsilon", epsilon))
    outputs = compositions(n, alpha.size)
    laws = [noise.law(x, alpha) for x in outputs]
    table = np.array([[law.probability(r[None, :])[0] for r in outputs] for law in laws])
    return float(losses(table.T * data_weights(n, alpha), reader, n, alpha).sum())


def data_weights(n: int, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Dirichlet-multinomial probability of every histogram of n records."""
    rows = compositions(n, alpha.size)
    logs = (gammaln(alpha + rows) - gammaln(rows + 1.0) - gammaln(alpha)).sum(axis=1)
    constant = gammaln(n + 1.0) + gammaln(alpha.sum()) - gammaln(alpha.sum() + n)
    return np.asarray(np.exp(logs + constant))


def losses(
    joint: NDArray[np.float64], reader: str, n: int, alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the loss of each row of `joint` P(x, output), shape (outputs, data sets)."""
    _validate.choice("reader", reader, READERS)
    total = joint.sum(axis=1)
    if reader == "log score":
        return np.asarray(-(joint * (np.log(joint) - np.log(total)[:, None])).sum(axis=1))
    if reader == "squared error":
        means = (alpha + compositions(n, alpha.size)) / (alpha.sum() + n)
        return spread(joint, means)
    return hellinger_loss(joint, distance_table(n, alpha))
