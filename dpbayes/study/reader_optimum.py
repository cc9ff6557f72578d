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
    geometric = _losses(_geometric_columns(size, budget) * weights, reader, alpha)
    return ReaderValues(least_cost(cost, columns), float(geometric.sum()))


def least_cost(cost: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    """Return the least sum of t_c cost_c with t >= 0 and sum of t_c columns[c] = 1 at all data.

    The solver's tolerances are absolute, so a loss of 1e-9 would be within them whatever it is: the
    second program has costs in units of what the first one found.

    >>> least_cost(np.array([3e-15, 1e-15]), np.ones((2, 4))) * 1e15
    1.0
    """
    optimize: Any = import_module("scipy.optimize")
    value = float(cost.max())
    for _ in range(2):
        result = optimize.linprog(
            cost / value, A_eq=columns.T, b_eq=np.ones(columns.shape[1]), method="highs"
        )
        if not result.success:
            raise ArithmeticError(f"the linear program was not solved: {result.message}")
        value *= float(result.fun)
    return value


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
        return spread(joint, means[:, None])
    return hellinger_loss(joint, distance_table(n, alpha))


def spread(joint: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum over x of P(x, output) |means[x] - what is stated|^2 for each output."""
    stated = joint @ means / joint.sum(axis=1)[:, None]
    # A difference of two squares would lose what is small beside them.
    return np.asarray(
        sum(
            np.einsum("rx,rx->r", joint, (m - s[:, None]) ** 2)
            for m, s in zip(means.T, stated.T, strict=True)
        )
    )


def hellinger_loss(
    joint: NDArray[np.float64], distances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P(output) - sqrt(sum over x, y of P(x, output) P(y, output) BC(x, y)) for each."""
    total = joint.sum(axis=1)
    apart = np.einsum("rx,xy,ry->r", joint, distances**2, joint)
    return np.asarray(apart / (total + np.sqrt(total**2 - apart)))
