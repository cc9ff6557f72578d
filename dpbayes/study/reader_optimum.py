"""The best mechanism for a reader who knows the noise: a program over extreme columns, k = 2.

What such a reader gets from a mechanism is a sum over its outputs of a function of the column
u(x) = P(output | x): how well that column tells data sets apart. If the function does not lose by
splitting a column, only columns that change by exactly e^epsilon or e^-epsilon at each step matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

from dpbayes import _validate
from dpbayes.mechanisms.optimum import distance_table

LARGEST = 14
"""Most records; the program has 2^n columns."""

READERS = ("log score", "squared error", "squared Hellinger")


@dataclass(frozen=True)
class ReaderValues:
    """The least loss of any epsilon-DP mechanism, and that of the geometric one."""

    optimum: float
    geometric: float

    @property
    def gap(self) -> float:
        """`geometric` over `optimum`, less 1."""
        return self.geometric / self.optimum - 1.0


def reader_optimum(
    n: int, epsilon: float, reader: str, prior: ArrayLike = (1.0, 1.0)
) -> ReaderValues:
    """Return the least loss of a reader who knows the mechanism, over all mechanisms; k = 2.

    Data x have the weights of the Beta-binomial law that belongs to the prior. `reader` is
    "log score" (the entropy of x left by the output, in nats), "squared error" (of the posterior
    mean that the reader states for the analyst's a/(a+b)) or "squared Hellinger" (between the
    analyst's posterior and the best single density the reader can state). `n` at most `LARGEST`.
    Book: `thm-reader-columns`.

    >>> reader_optimum(8, 1.0, "log score").gap < 1e-9
    True
    """
    size = _validate.integer("n", n, minimum=1)
    if size > LARGEST:
        raise ValueError(f"n must be at most {LARGEST} for extreme columns, got {n!r}")
    budget = _validate.positive("epsilon", epsilon)
    alpha = _validate.prior("prior", prior, 2)
    _validate.choice("reader", reader, READERS)
    weights = _data_weights(size, alpha)
    columns = _extreme_columns(size, budget)
    cost = _losses(columns * weights, reader, alpha)
    optimize: Any = import_module("scipy.optimize")
    result = optimize.linprog(
        cost, A_eq=columns.T, b_eq=np.ones(size + 1), bounds=(0, None), method="highs"
    )
    if not result.success:
        raise ArithmeticError(f"the linear program was not solved: {result.message}")
    geometric = _geometric_columns(size, budget)
    return ReaderValues(float(result.fun), float(_losses(geometric * weights, reader, alpha).sum()))


def _data_weights(n: int, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.arange(n + 1)
    choose = -betaln(x + 1, n - x + 1) - np.log(n + 1)
    logs = choose + betaln(alpha[0] + x, alpha[1] + n - x) - betaln(*alpha)
    return np.asarray(np.exp(logs))


def _extreme_columns(n: int, epsilon: float) -> NDArray[np.float64]:
    steps = np.array(list(product((-epsilon, epsilon), repeat=n)))
    logs = np.hstack((np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)))
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _geometric_columns(n: int, epsilon: float) -> NDArray[np.float64]:
    r = np.arange(n + 1)
    q = np.exp(-epsilon)
    share = np.full(n + 1, (1.0 - q) / (1.0 + q))
    share[[0, -1]] = 1.0 / (1.0 + q)
    return np.asarray(share[:, None] * q ** np.abs(r[:, None] - r))


def _losses(
    joint: NDArray[np.float64], reader: str, alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    # One row an output: P(x, output). Each loss is homogeneous and adds or gains by splitting.
    total = joint.sum(axis=1)
    n = joint.shape[1] - 1
    if reader == "log score":
        return np.asarray(-(joint * (np.log(joint) - np.log(total)[:, None])).sum(axis=1))
    if reader == "squared error":
        means = (alpha[0] + np.arange(n + 1)) / (alpha.sum() + n)
        return np.asarray(joint @ means**2 - (joint @ means) ** 2 / total)
    affinity = 1.0 - distance_table(n, alpha) ** 2
    length = np.sqrt(np.einsum("rx,xy,ry->r", joint, affinity, joint))
    return np.asarray(total - length)
